"""Episodes of real agents as a source of samples: the same loop, tools, judge and record as for a person."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from warpsmith.agent.optimize import OptimizeConfig
from warpsmith.agent.runs.record import TOKENS
from warpsmith.agent.tools import SPECS
from warpsmith.core import Task, UsageError
from warpsmith.learn.acting.chorus import Chorus
from warpsmith.learn.acting.episodes import Opened, Part, played, pools_of
from warpsmith.learn.acting.speaker import Speaker
from warpsmith.learn.order import drawn_for
from warpsmith.learn.recorded import Shelf
from warpsmith.learn.trajectory.nouns import Sample
from warpsmith.learn.trajectory.templated import Reading
from warpsmith.policy.base import Sampling
from warpsmith.policy.local.tokens import TokenPolicy

STEP = 1_000_000_007  # between the seeds of steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """Each step some of the tasks, each worked on by several episodes at once.

    Each episode leaves its run's folder under `runs`; a step that is taken again begins with an empty one. An
    episode that failed by our fault has no reward, and no sample if nothing was drawn.
    """

    tasks: Sequence[Task]
    opened: Opened
    config: OptimizeConfig
    shelf: Shelf  # how runs become samples: the student's template, the reward
    context_tokens: int  # that the student can read
    runs: Path
    tasks_per_step: int = 4
    samples_per_task: int = 8
    seed: int = 0  # of the order of tasks
    turn: Callable[[], AbstractContextManager[None]] = nullcontext  # held while replies are drawn

    def __post_init__(self) -> None:
        if not self.tasks or min(self.tasks_per_step, self.samples_per_task) < 1:
            raise UsageError("acting needs a task, and 1 or more tasks a step and samples a task")

    def rollouts(self, policy: TokenPolicy, sampling: Sampling, step: int) -> tuple[Sample, ...]:
        """See Source. Raises InfraError if no judge can be had, TaskError for a task that can't be judged."""
        folder = self.runs / f"{step:06d}"
        shutil.rmtree(folder, ignore_errors=True)
        tasks = drawn_for(step, self.tasks, self.tasks_per_step, self.seed)
        seeded = replace(sampling, seed=(sampling.seed or 0) + step * STEP)
        total = len(tasks) * self.samples_per_task
        with pools_of(tasks, self.opened) as pools:
            chorus = Chorus(policy, seeded, total, self.turn)
            parts = [
                Part(
                    pools[voice // self.samples_per_task],
                    self.config,
                    folder / f"{voice:04d}",
                    self._speaker(chorus, voice),
                    partial(chorus.leave, voice),
                )
                for voice in range(total)
            ]
            played(parts)
        return tuple(sample for part in parts for sample in self._samples(part.folder, step))

    def _speaker(self, chorus: Chorus, voice: int) -> Callable[[], Speaker]:
        reading = Reading.of(self.shelf.template, SPECS)
        return lambda: Speaker(lambda ids: chorus.speak(voice, ids), reading, self.context_tokens)

    def _samples(self, folder: Path, step: int) -> Iterator[Sample]:
        if (folder / TOKENS).is_file():
            shelf = replace(self.shelf, weights=f"{step - 1} updates")
            for sample in shelf.drawn_in(folder):
                yield replace(sample, group=f"{step}/{sample.task_id}")
