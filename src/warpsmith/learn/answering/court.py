"""Many programs of many tasks, judged: builds share the cores, and a GPU is held only while one is timed."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from warpsmith.agent.attempts.pool import JudgePool
from warpsmith.agent.optimize import Bench
from warpsmith.core import Candidate, EnvironmentMissing, InfraError, Task, TaskError, Verdict

Opened = Callable[[Task], AbstractContextManager[Bench]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Programs for one task; equal ones are judged once."""

    task: Task
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Something of ours failed, and nobody knows what the program is worth."""

    message: str


Finding = Verdict | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Court:
    """`opened` is agent.optimize.open_bench with a config."""

    opened: Opened
    num_cores: int = field(default_factory=lambda: os.cpu_count() or 1)
    num_open: int = 4  # judges at a time: each holds a reference, its inputs and outputs

    def judged(self, cases: Sequence[Case]) -> tuple[tuple[Finding, ...], ...]:
        """A finding for each candidate of each case, in order.

        A task that can't be judged is told as Unknown: one of thousands shall not end a training. Raises
        EnvironmentMissing if this machine lacks something.
        """
        if not cases:
            return ()
        side_by_side = max(1, min(self.num_open, self.num_cores, len(cases)))
        num_builds = max(1, -(-self.num_cores // side_by_side))
        with ThreadPoolExecutor(side_by_side, thread_name_prefix="case") as executor:
            return tuple(executor.map(lambda case: self._heard(case, num_builds), cases))

    def _heard(self, case: Case, num_builds: int) -> tuple[Finding, ...]:
        distinct = {candidate.digest: candidate for candidate in case.candidates}
        if not distinct:
            return ()
        try:
            with (
                JudgePool(lambda: self.opened(case.task)) as pool,
                ThreadPoolExecutor(num_builds, thread_name_prefix="build") as executor,
            ):
                found = executor.map(lambda one: _found(pool, one), distinct.values())
                findings = dict(zip(distinct, found, strict=True))
        except EnvironmentMissing:
            raise
        except TaskError as error:
            return tuple(Unknown(message=f"the task: {error}") for _ in case.candidates)
        except InfraError as error:  # no judge can be had for this task now
            return tuple(Unknown(message=str(error)) for _ in case.candidates)
        return tuple(findings[candidate.digest] for candidate in case.candidates)


def _found(pool: JudgePool, candidate: Candidate) -> Finding:
    try:
        return pool.seat().measure(candidate)
    except EnvironmentMissing:
        raise
    except InfraError as error:
        return Unknown(message=str(error))
