"""What verl calls: loops that act for it, rows of tokens to imitate, and the end of its patience."""

import asyncio
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Protocol

import torch
from torch.utils.data import Dataset
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from warpsmith.core import InfraError
from warpsmith.core.codec import from_json
from warpsmith.learn.engines.verl.acting import Distant, Student
from warpsmith.learn.engines.verl.rows import Drawn
from warpsmith.learn.rewards.base import Reward
from warpsmith.learn.sources import Source
from warpsmith.learn.trajectory.nouns import Sample
from warpsmith.policy.base import Sampling
from warpsmith.policy.local.template import Template, vocabulary_of

EPISODES = ThreadPoolExecutor(max_workers=256, thread_name_prefix="episode")


class Place(Protocol):
    """What makes a source of a row: `acting.Post`, or a toy's."""

    def source(self, drawn: Drawn, student: Student) -> Source: ...


def output_of(sample: Sample, context_tokens: int, step: int) -> AgentLoopOutput:
    """A sample as verl takes it: all before the first drawn token is the prompt.

    Raises InfraError if it has no reward (verl then draws the task anew) or is too long.
    """
    if not isinstance(sample.outcome, Reward):
        reason = "it was not judged" if sample.outcome is None else sample.outcome.message
        raise InfraError(f"sample {sample.sample_id!r} has no reward: {reason}")
    if not math.isfinite(sample.outcome.value):
        raise InfraError(f"sample {sample.sample_id!r} has the reward {sample.outcome.value}")
    if len(sample.ids) > context_tokens:
        raise InfraError(
            f"sample {sample.sample_id!r} has {len(sample.ids)} tokens, more than {context_tokens}"
        )
    start = sample.spans[0].start
    return AgentLoopOutput(
        prompt_ids=list(sample.ids[:start]),
        response_ids=list(sample.ids[start:]),
        response_mask=list(sample.mask[start:]),
        response_logprobs=list(sample.logprobs[start:])
        if sample.logprobs
        else [0.0] * (len(sample.ids) - start),
        reward_score=sample.outcome.value,
        num_turns=2 * len(sample.spans),
        metrics=AgentLoopMetrics(),
        extra_fields={
            "reward_extra_info": {"is_truncated": float(sample.is_truncated)},
            "min_global_steps": step - 1,  # updates that the weights have had; verl counts with them
            "max_global_steps": step - 1,
        },
    )


class ReplayLoop(AgentLoopBase):  # type: ignore[misc]
    """Recorded samples in place of fresh ones: what a critic is fitted to."""

    async def run(self, _sampling_params: dict[str, Any], **fields: Any) -> AgentLoopOutput:
        rollout, drawn = self.rollout_config, Drawn.of(fields)
        return output_of(drawn.sample, rollout.prompt_length + rollout.response_length, drawn.step)


class EpisodeLoop(AgentLoopBase):  # type: ignore[misc]
    """Lets the student act on the task of a row, and has it judged.

    A conversation that was compacted gives several samples, all with the episode's reward.
    """

    def __init__(self, *args: Any, workplace: Place, max_reply_tokens: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._workplace = workplace
        self._max_reply_tokens = max_reply_tokens

    async def run(self, sampling_params: dict[str, Any], **fields: Any) -> list[AgentLoopOutput]:
        """Raises what the source does: verl counts the episode as failed, and rewards nothing."""
        drawn, loop = Drawn.of(fields), asyncio.get_running_loop()
        student = _student(self)
        policy = Distant(
            server=self.server_manager, loop=loop, params=sampling_params, student=student, name=drawn.name
        )
        sampling = Sampling(
            temperature=float(sampling_params["temperature"]), max_tokens=self._max_reply_tokens
        )

        def acted() -> tuple[Sample, ...]:
            return self._workplace.source(drawn, student).rollouts(policy, sampling, drawn.step)

        samples = await loop.run_in_executor(EPISODES, acted)
        if not samples:
            raise InfraError(f"episode {drawn.name} drew nothing")
        return [output_of(sample, student.context_tokens, drawn.step) for sample in samples]


class PatientBuffer(ReplayBuffer):  # type: ignore[misc]
    """Failed groups are drawn anew, as often as a step has prompts; then something is broken for good."""

    def __init__(self, *, refill_fn: Any, **kwargs: Any) -> None:
        super().__init__(refill_fn=self._refill, gen_batch_size=1, sync_refill_failed_groups=True, **kwargs)
        self._submit = refill_fn
        self._left = 0

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> Any:
        self._left = batch_size
        return super().sample(global_steps, partition_id, batch_size)

    def _refill(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise InfraError(
                "more episodes of one step failed by our own fault than it has prompts; the logs say why"
            )
        self._submit(count)


class TokenDataset(Dataset):  # type: ignore[type-arg]
    """Samples to imitate, in the very tokens that they were drawn in."""

    def __init__(self, parquet_files: str | Sequence[str], config: Any, **_others: Any) -> None:
        from pyarrow import parquet

        files = [parquet_files] if isinstance(parquet_files, str) else list(parquet_files)
        infos = [
            row for file in files for row in parquet.read_table(file, columns=["extra_info"])[0].to_pylist()
        ]
        self._samples = [from_json(Sample, info["sample"]) for info in infos]
        longest = max(len(sample.ids) for sample in self._samples)
        if longest > config["max_length"]:
            raise InfraError(f"a sample has {longest} tokens, more than {config['max_length']}")

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, place: int) -> dict[str, torch.Tensor]:
        sample = self._samples[place]
        return {
            "input_ids": torch.tensor(sample.ids),
            "position_ids": torch.arange(len(sample.ids)),
            "loss_mask": torch.tensor(sample.mask),
        }


def _student(loop: AgentLoopBase) -> Student:
    rollout, model = loop.rollout_config, loop.config.actor_rollout_ref.model
    template, vocabulary, stop_ids = _words(loop.tokenizer, str(model.path))
    return Student(
        template=template,
        vocabulary=vocabulary,
        stop_ids=stop_ids,
        context_tokens=rollout.prompt_length + rollout.response_length,
    )


@lru_cache(maxsize=1)
def _words(tokenizer: Any, path: str) -> tuple[Template, str, frozenset[int]]:
    """The template, a digest of the vocabulary, and each end of a reply that model or template knows."""
    from transformers import GenerationConfig

    template = Template(tokenizer, path)
    ends = {tokenizer.eos_token_id}
    if template.end_of_turn is not None:
        ends.add(template.end_of_turn[0])
    try:
        own = GenerationConfig.from_pretrained(path, local_files_only=True).eos_token_id
    except OSError:  # a model need not have one
        own = None
    ends |= set(own) if isinstance(own, list) else {own}
    return template, vocabulary_of(tokenizer), frozenset(int(end) for end in ends if end is not None)
