"""Our agent's episodes as they look from one of verl's workers: its servers draw, our judge decides."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from warpsmith.core import InfraError
from warpsmith.core.codec import from_json
from warpsmith.learn.engines.verl.rows import Drawn
from warpsmith.learn.sources import Source
from warpsmith.policy.base import Sampling
from warpsmith.policy.local.template import Template
from warpsmith.policy.local.tokens import TokenOutput

PATIENCE_S = 3_600.0  # for one reply; a server that takes longer is taken for dead


class Server(Protocol):
    """What we need of verl's client."""

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]
    ) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Student:
    """The model as a worker knows it: its words, not its weights."""

    template: Template
    vocabulary: str  # a digest
    stop_ids: frozenset[int]
    context_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Distant:
    """A TokenPolicy whose tokens verl's servers draw; to be called from any thread but that of `loop`.

    Turns of one episode go to one server, which has cached what it read before.
    """

    server: Server
    loop: asyncio.AbstractEventLoop
    params: Mapping[str, Any]  # as verl says how to draw; temperature and top_p are its own, as trained with
    student: Student
    name: str

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling) -> tuple[TokenOutput, ...]:
        """See TokenPolicy. Raises InfraError if a server fails, is stopped, or tells no probabilities."""
        asked = [
            asyncio.run_coroutine_threadsafe(self._draw(ids, sampling.max_tokens), self.loop)
            for ids in prompts
        ]
        return tuple(answer.result(PATIENCE_S) for answer in asked)

    async def _draw(self, ids: Sequence[int], max_tokens: int) -> TokenOutput:
        room = min(max_tokens, self.student.context_tokens - len(ids))
        if room < 1:
            raise InfraError(f"{len(ids)} tokens of prompt leave no room in {self.student.context_tokens}")
        params = {**self.params, "max_tokens": room}
        try:
            drawn = await self.server.generate(self.name, prompt_ids=list(ids), sampling_params=params)
        except Exception as error:
            raise InfraError(f"a server failed: {error!s:.300}") from error
        said, logprobs = drawn.token_ids, drawn.log_probs
        if not said:
            raise InfraError(f"a server drew nothing ({drawn.stop_reason})")
        if logprobs is None or len(logprobs) != len(said):
            raise InfraError("a server drew tokens without a log-probability for each")
        return TokenOutput(
            ids=tuple(map(int, said)),
            logprobs=tuple(min(float(value), 0.0) for value in logprobs),
            is_cut=said[-1] not in self.student.stop_ids,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A workplace as it travels in a file, to whichever node has to open it."""

    work: str  # `recipes.base.Work` as JSON: what is worked on, what that earns, and what it may cost
    runs: str  # a folder that all nodes see; each episode's run lies in it
    device: str
    gpu: int | None = None  # of each node, that judges and that Ray was not given: Ray hides the others
    sandbox: str = "auto"

    def source(self, drawn: Drawn, student: Student) -> Source:
        """One episode at the task of a row, with a judge of its own. Raises as `Workplace.source` does."""
        if self.gpu is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = str(self.gpu)
        from warpsmith.agent.optimize import OptimizeConfig
        from warpsmith.device import select_device
        from warpsmith.learn.acting import Workplace
        from warpsmith.learn.recipes.base import Work

        place = Workplace(
            tasks=[drawn.task],
            work=replace(from_json(Work, self.work), tasks_per_step=1, samples_per_task=1),
            config=OptimizeConfig(device=select_device(self.device), sandbox=self.sandbox),
            runs=Path(self.runs) / drawn.name,
            draws_here=False,
        )
        return place.source(student)
