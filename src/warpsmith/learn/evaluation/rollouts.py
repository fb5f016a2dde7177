"""A policy over a suite, batch after batch; what is done is on disk, and is not done again.

OUT/plan.json                    what is rolled out: the same command goes on, another is refused
OUT/runs/000001/0000/            a run's folder an attempt
OUT/parts/000001.attempts.jsonl  a batch: written whole, after its samples
OUT/parts/000001.samples.jsonl
OUT/attempts.jsonl, samples.jsonl  all of them, at the end
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from warpsmith.agent.runs.log import writing
from warpsmith.core import InfraError, Task, TaskError, UsageError
from warpsmith.core.codec import to_json
from warpsmith.learn.evaluation.attempts import Attempt, attempts_text, read_attempts
from warpsmith.learn.recipes.base import Work
from warpsmith.learn.trajectory import Sample, read_samples, write_samples
from warpsmith.policy.base import Sampling
from warpsmith.tasks.store.files import replacing

PLAN = "plan.json"
PARTS = "parts"
RUNS = "runs"
ATTEMPTS = "attempts.jsonl"
SAMPLES = "samples.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that rollouts depend on."""

    policy: str
    work: Work  # `tasks_per_step` are worked on side by side, each `samples_per_task` times
    sampling: Sampling
    device: str  # its name
    tasks: tuple[str, ...]  # their digests
    reader: str = ""  # whose tokens samples are in; empty: none are made


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolled:
    """One batch."""

    attempts: tuple[Attempt, ...]
    samples: tuple[Sample, ...]


class Rolling(Protocol):
    """Who works on a batch."""

    def rolled(self, tasks: Sequence[Task], number: int, runs: Path) -> Rolled:
        """The `number`th batch, from 1, with its runs under `runs`. All chance follows from the number.

        Raises InfraError if no judge can be had, TaskError if one of the tasks cannot be judged.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """What this process did, and how long it took; batches of earlier ones do not count."""

    num_attempts: int = 0
    num_verdicts: int = 0
    num_tokens: int = 0  # that the policy wrote
    wall_s: float = 0.0

    def a_minute(self, count: int) -> float:
        return 60.0 * count / self.wall_s if self.wall_s > 0.0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollouts:
    """All batches."""

    folder: Path
    attempts: tuple[Attempt, ...]
    num_samples: int
    throughput: Throughput = field(default_factory=Throughput)

    @property
    def samples(self) -> Iterator[Sample]:
        return read_samples(self.folder / SAMPLES)


Tell = Callable[[int, int, Rolled], None]
"""The batch, how many there are, and what it came to."""


def roll(
    plan: Plan,
    tasks: Sequence[Task],
    rolling: Rolling,
    folder: Path,
    tell: Tell = lambda _number, _total, _rolled: None,
) -> Rollouts:
    """Roll out what is not on disk yet.

    A task that cannot be judged is an attempt that says so. Raises UsageError if `folder` holds other
    rollouts or something else; InfraError if it cannot be written, no judge can be had, or all attempts of a
    batch failed for us: that batch is tried again by the same command.
    """
    _begin(plan, folder)
    count = plan.work.tasks_per_step
    batches = [tasks[at : at + count] for at in range(0, len(tasks), count)]
    done = Throughput()
    for number, batch in enumerate(batches, 1):
        part = _Part(folder, number)
        if part.is_done:
            continue
        begun_s = time.monotonic()
        rolled = _rolled(rolling, batch, number, folder / RUNS)
        if rolled.attempts and all(attempt.is_ours for attempt in rolled.attempts):
            raise InfraError(f"batch {number}: all attempts failed for us; see {rolled.attempts[0].folder}")
        part.write(rolled)
        done = _added(done, rolled.attempts, time.monotonic() - begun_s)
        tell(number, len(batches), rolled)
    return _joined(folder, len(batches), done)


def attempts_in(folder: Path) -> tuple[Attempt, ...]:
    """Those of rollouts that came to their end. Raises UsageError for any other folder."""
    path = folder / ATTEMPTS
    if not path.is_file():
        raise UsageError(f"{folder} holds no {ATTEMPTS}; warpsmith eval --out {folder} writes it at its end")
    return tuple(read_attempts(path))


@dataclass(frozen=True, slots=True)
class _Part:
    """A batch on disk."""

    folder: Path
    number: int

    @property
    def is_done(self) -> bool:
        return self.attempts.is_file()

    @property
    def attempts(self) -> Path:
        return self.folder / PARTS / f"{self.number:06d}.{ATTEMPTS}"

    @property
    def samples(self) -> Path:
        return self.folder / PARTS / f"{self.number:06d}.{SAMPLES}"

    def write(self, rolled: Rolled) -> None:
        with writing(self.folder):
            write_samples(rolled.samples, self.samples)
            with replacing(self.attempts) as new:
                new.write_text(attempts_text(rolled.attempts), encoding="utf-8")


def _begin(plan: Plan, folder: Path) -> None:
    path, told = folder / PLAN, to_json(plan, indent=2) + "\n"
    if not path.exists():
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            others = sorted(one.name for one in folder.iterdir())
            if others:
                raise UsageError(f"{folder} holds {', '.join(others[:3])}; choose a new folder for rollouts")
            with replacing(path) as new:
                new.write_text(told, encoding="utf-8")
        return
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read ({error}); choose a new folder for rollouts") from error
    now = json.loads(told)
    if before != now:
        named = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        raise UsageError(f"{folder} holds other rollouts ({', '.join(named)}); choose a new folder")


def _rolled(rolling: Rolling, tasks: Sequence[Task], number: int, runs: Path) -> Rolled:
    """A batch; if one of its tasks cannot be judged, each by itself."""
    try:
        return rolling.rolled(tasks, number, runs)
    except TaskError as error:
        if len(tasks) == 1:
            (task,) = tasks
            refused = Attempt(task_id=task.task_id, digest=task.digest, refused=str(error))
            return Rolled(attempts=(refused,), samples=())
    found = [_rolled(rolling, (task,), number, runs / f"alone-{at}") for at, task in enumerate(tasks)]
    return Rolled(
        attempts=tuple(one for rolled in found for one in rolled.attempts),
        samples=tuple(one for rolled in found for one in rolled.samples),
    )


def _added(before: Throughput, attempts: Sequence[Attempt], wall_s: float) -> Throughput:
    return Throughput(
        num_attempts=before.num_attempts + len(attempts),
        num_verdicts=before.num_verdicts + sum(attempt.num_verdicts for attempt in attempts),
        num_tokens=before.num_tokens + sum(attempt.cost.completion_tokens for attempt in attempts),
        wall_s=before.wall_s + wall_s,
    )


def _joined(folder: Path, num_batches: int, done: Throughput) -> Rollouts:
    parts = [_Part(folder, number) for number in range(1, num_batches + 1)]
    attempts = tuple(attempt for part in parts for attempt in read_attempts(part.attempts))
    num_samples = write_samples(
        (sample for part in parts for sample in read_samples(part.samples)), folder / SAMPLES
    )
    with replacing(folder / ATTEMPTS) as new:
        new.write_text(attempts_text(attempts), encoding="utf-8")
    return Rollouts(folder=folder, attempts=attempts, num_samples=num_samples, throughput=done)
