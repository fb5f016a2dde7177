"""A policy on a set of tasks, in figures. Pure.

*Faster* is what the milestone reward calls it (CUDA Agent, arXiv 2602.24286): more than 5 % of the baseline's
time is saved at the centre of the measured ratio, and the clock has settled. Shares are over all tasks that
can be judged, also those that we failed on, which count as not passed and are counted apart. No speed-up is
made of modelled times.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from warpsmith.core import Provenance, Ratio, Timing, UsageError
from warpsmith.core.timing import MARGIN
from warpsmith.learn.evaluation.attempts import OURS, PASSED, REFUSED, Attempt
from warpsmith.learn.evaluation.intervals import Rate, geometric, rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """How programs stand to eager, or to torch.compile."""

    faster: Rate
    mean: Ratio | None  # geometric, over tasks with a measured program; None: there is none
    num_measured: int  # tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """All figures of one set of attempts."""

    num_tasks: int
    num_attempts: int
    num_refused: int  # attempts at tasks that cannot be judged; in no other figure
    passed: Rate
    kinds: dict[str, int]  # how many attempts ended how; failures of ours among them
    reward: float | None  # mean over attempts that have one
    provenance: Provenance | None  # None: nothing was timed
    eager: Baseline | None  # None: times are modelled, or there is none
    compile: Baseline | None
    modelled_fast: Rate | None  # modelled faster than eager and no slower than torch.compile; None: measured
    over_floor: Ratio | None  # geometric mean of time over the speed of light; modelled if the times are

    @property
    def num_ours(self) -> int:
        return self.kinds.get(OURS, 0)


def standing(attempts: Iterable[Attempt]) -> Standing:
    """Raises UsageError if measured and modelled times stand side by side."""
    told = tuple(attempts)
    found = tuple(attempt for attempt in told if attempt.kind != REFUSED)
    tasks = by_task(found)
    timings = [attempt.timing for attempt in found if attempt.timing is not None]
    provenances = {timing.provenance for timing in timings}
    if len(provenances) > 1:
        raise UsageError("measured and modelled times are not put into one table")
    provenance = next(iter(provenances), None)
    is_measured = provenance is Provenance.MEASURED
    rewards = [attempt.reward for attempt in found if attempt.reward is not None]
    kinds = Counter(attempt.kind for attempt in found)
    return Standing(
        num_tasks=len(tasks),
        num_attempts=len(found),
        num_refused=len(told) - len(found),
        passed=_rate(tasks, lambda attempt: attempt.has_passed),
        kinds={PASSED: kinds.pop(PASSED, 0)} | dict(kinds.most_common()),
        reward=fmean(rewards) if rewards else None,
        provenance=provenance,
        eager=_baseline(tasks, against_eager) if is_measured else None,
        compile=_baseline(tasks, against_compile) if is_measured else None,
        modelled_fast=_rate(tasks, is_modelled_fast) if provenance is Provenance.MODELLED else None,
        over_floor=geometric(_means(tasks, _over_floor)),
    )


def by_task(attempts: Sequence[Attempt]) -> dict[str, list[Attempt]]:
    tasks: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        tasks.setdefault(attempt.digest, []).append(attempt)
    return tasks


def share_of(attempts: Sequence[Attempt], is_good: Callable[[Attempt], bool]) -> float:
    return sum(map(is_good, attempts)) / len(attempts)


def against_eager(timing: Timing) -> Ratio | None:
    return timing.against_eager


def against_compile(timing: Timing) -> Ratio | None:
    return timing.against_compile


def is_faster(attempt: Attempt, against: Callable[[Timing], Ratio | None] = against_eager) -> bool:
    """By more than MARGIN, measured; see the module's head."""
    timing = attempt.timing
    if timing is None or timing.trouble or timing.provenance is Provenance.MODELLED:
        return False
    ratio = against(timing)
    return ratio is not None and ratio.saved > MARGIN


def is_modelled_fast(attempt: Attempt) -> bool:
    return attempt.is_modelled and attempt.timing is not None and attempt.timing.is_fast


def _rate(tasks: dict[str, list[Attempt]], is_good: Callable[[Attempt], bool]) -> Rate:
    most = max((len(attempts) for attempts in tasks.values()), default=1)
    return rate([share_of(attempts, is_good) for attempts in tasks.values()], most)


def _baseline(tasks: dict[str, list[Attempt]], against: Callable[[Timing], Ratio | None]) -> Baseline:
    def ratio(timing: Timing) -> float | None:
        found = against(timing)
        return None if found is None else found.centre

    means = _means(tasks, ratio)
    return Baseline(
        faster=_rate(tasks, lambda attempt: is_faster(attempt, against)),
        mean=geometric(means),
        num_measured=len(means),
    )


def _over_floor(timing: Timing) -> float | None:
    return timing.times_floor if timing.floor_us > 0.0 else None


def _means(tasks: dict[str, list[Attempt]], figure: Callable[[Timing], float | None]) -> list[float]:
    """Of each task that has any, the geometric mean over its attempts."""
    found = []
    for attempts in tasks.values():
        timings = [attempt.timing for attempt in attempts if attempt.timing is not None]
        figures = [value for timing in timings if (value := figure(timing)) is not None]
        mean = geometric(figures)
        if mean is not None:
            found.append(mean.centre)
    return found
