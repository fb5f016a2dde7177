"""Episodes of real agents as a source of samples: the same loop, tools, judge and record as for a person."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread

from warpsmith.agent import Record, Silent
from warpsmith.agent.attempts.pool import JudgePool
from warpsmith.agent.optimize import Bench, OptimizeConfig, episode
from warpsmith.agent.runs.record import TOKENS
from warpsmith.agent.tools import SPECS
from warpsmith.core import InfraError, Task, UsageError
from warpsmith.learn.acting.chorus import Chorus
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
    opened: Callable[[Task], AbstractContextManager[Bench]]  # agent.optimize.open_bench, with a config
    config: OptimizeConfig
    shelf: Shelf  # how runs become samples: the student's template, the reward
    context_tokens: int  # that the student can read
    runs: Path
    tasks_per_step: int = 4
    samples_per_task: int = 8
    seed: int = 0  # of the order of tasks

    def __post_init__(self) -> None:
        if not self.tasks or min(self.tasks_per_step, self.samples_per_task) < 1:
            raise UsageError("acting needs a task, and 1 or more tasks a step and samples a task")

    def rollouts(self, policy: TokenPolicy, sampling: Sampling, step: int) -> tuple[Sample, ...]:
        """See Source. Raises InfraError if no judge can be had, TaskError for a task that can't be judged."""
        folder = self.runs / f"{step:06d}"
        shutil.rmtree(folder, ignore_errors=True)
        tasks = drawn_for(step, self.tasks, self.tasks_per_step, self.seed)
        seeded = replace(sampling, seed=(sampling.seed or 0) + step * STEP)
        with ExitStack() as stack:
            pools = [stack.enter_context(JudgePool(_opener(self.opened, task))) for task in tasks]
            total = len(tasks) * self.samples_per_task
            chorus = Chorus(policy, seeded, total, pools[0].bench.turn)
            parts = [
                _Part(chorus, voice, self, pools[voice // self.samples_per_task], folder / f"{voice:04d}")
                for voice in range(total)
            ]
            for part in parts:
                part.start()
            for part in parts:
                part.join()
        for part in parts:
            part.check()
        return tuple(sample for part in parts for sample in self._samples(part, step))

    def _samples(self, part: "_Part", step: int) -> Iterator[Sample]:
        if (part.folder / TOKENS).is_file():
            shelf = replace(self.shelf, weights=f"{step - 1} updates")
            for sample in shelf.drawn_in(part.folder):
                yield replace(sample, group=f"{step}/{sample.task_id}")


def _opener(
    opened: Callable[[Task], AbstractContextManager[Bench]], task: Task
) -> Callable[[], AbstractContextManager[Bench]]:
    return lambda: opened(task)


class _Part(Thread):
    """One episode."""

    def __init__(self, chorus: Chorus, voice: int, acting: Acting, pool: JudgePool, folder: Path) -> None:
        super().__init__(name=f"episode {voice}", daemon=True)
        self.folder = folder
        self._chorus = chorus
        self._voice = voice
        self._acting = acting
        self._pool = pool
        self._error: BaseException | None = None

    def run(self) -> None:
        acting, bench = self._acting, replace(self._pool.bench, judge=self._pool.seat())
        reading = Reading.of(acting.shelf.template, SPECS)
        speaker = Speaker(lambda ids: self._chorus.speak(self._voice, ids), reading, acting.context_tokens)
        try:
            with Record.create(self.folder, bench.task) as record:
                episode(speaker, bench, acting.config, record, Silent())
        except InfraError:
            pass  # its record has no end, and its sample no reward
        except BaseException as error:  # noqa: BLE001 - raised by `check`, in the thread that asked for it
            self._error = error
        finally:
            self._chorus.leave(self._voice)

    def check(self) -> None:
        """Raise what was no failure of one episode alone."""
        if self._error is not None:
            raise self._error
