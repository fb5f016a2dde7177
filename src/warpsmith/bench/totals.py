"""Records to totals. Pure: the same records and the same seed give the same figures.

*Faster* is CUDA Agent's definition, which its reward uses (arXiv 2602.24286): (t0 - t) / t0 > 5 %. Here the
centre of the measured ratio has to lie beyond it, the whole 95 % interval above 1, and the clock must have
settled; beside it stands how many have their whole interval beyond it. Shares are over all tasks that are
done, ours too: a task that we failed on counts as not passed, and is counted apart. Geometric means are over
all programs that passed and were measured, with a percentile bootstrap over tasks; shares have Wilson's
interval. All intervals are of 95 %.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import binomtest

from warpsmith.bench.record import Fate, TaskRecord
from warpsmith.bench.suite import Name
from warpsmith.core import Provenance, Ratio, Series, Timing, UsageError
from warpsmith.core.audit import TaskAudit
from warpsmith.core.timing import MARGIN

OVERALL = "overall"
NUM_RESAMPLES = 4_000
MAX_PICKS = 1 << 21  # at a time: thousands of tasks shall not fill the memory
SEED = 20_260_224
BOUND = 1.0 / (1.0 - MARGIN)
"""The ratio of times beyond which more than MARGIN is saved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """`count` of `num`, with Wilson's interval; nothing of nothing may be anything."""

    count: int
    num: int
    low: float
    high: float

    @classmethod
    def of(cls, count: int, num: int) -> "Share":
        if num == 0:
            return cls(count=0, num=0, low=0.0, high=1.0)
        found = binomtest(count, num).proportion_ci(method="wilson")
        return cls(count=count, num=num, low=float(found.low), high=float(found.high))

    @property
    def value(self) -> float:
        return self.count / self.num if self.num else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """One baseline."""

    faster: Share
    num_surely: int  # of `faster`: the whole interval lies beyond the bound
    mean: Ratio | None  # the geometric mean of the ratios; None: nothing was measured
    num_measured: int
    num_no_room: int  # of the measured: the floor itself saves no more than MARGIN of the baseline's time


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """A group of tasks, or all of them, in one line.

    `eager` and `compile` are absent where times are modelled: no speed-up is made of those.
    """

    name: str
    has_degenerate: bool  # whether tasks are counted that the audit calls degenerate
    num_tasks: int  # of the bench, done or not
    num_done: int
    num_degenerate: int  # of the done ones, counted or not
    num_unaudited: int
    num_ours: int
    num_refused: int
    passed: Share
    provenance: Provenance | None  # None: nothing was timed
    eager: Against | None
    compile: Against | None
    over_floor: Ratio | None  # the geometric mean of time over floor; modelled if the times are
    num_unsettled: int  # measurements of which the clock can say nothing; never counted as faster
    num_by_shortcut: int  # of the passed: their policy says that algebra left arithmetic out
    num_modelled_fast: int | None  # below eager's model and not above torch.compile's; None: measured
    gpu_s: float
    wall_s: float
    declined: dict[str, int] = field(default_factory=dict)  # how often, by operator


def totals(names: Sequence[Name], records: Iterable[TaskRecord], seed: int = SEED) -> tuple[Totals, ...]:
    """Each group with and without its degenerate tasks, then all of them.

    Raises UsageError if the records are not of one mode, one device and one kind of time.
    """
    found = tuple(records)
    check_alike(found)
    groups = list(dict.fromkeys(name.group for name in names))
    lines: list[Totals] = []
    for group in [*groups, OVERALL]:
        own = [name for name in names if group in (name.group, OVERALL)]
        mine = [record for record in found if group in (record.name.group, OVERALL)]
        if group == OVERALL and len(groups) < 2:
            continue
        lines += [_line(group, own, mine, has_degenerate=kept, seed=seed) for kept in (True, False)]
    return tuple(lines)


def check_alike(records: Sequence[TaskRecord]) -> None:
    """Raises UsageError if these must not stand in one table."""
    kinds: tuple[tuple[str, Callable[[TaskRecord], object]], ...] = (
        ("modes", lambda record: record.mode.value),
        ("devices", lambda record: record.device),
        ("kinds of time", lambda record: None if record.timing is None else record.timing.provenance.value),
    )
    for what, kind in kinds:
        found = sorted({str(value) for record in records if (value := kind(record)) is not None})
        if len(found) > 1:
            raise UsageError(f"results of different {what} are not put into one table: {', '.join(found)}")


def geometric_mean(ratios: Sequence[float], seed: int = SEED) -> Ratio | None:
    """With its percentile bootstrap interval over the ratios; None of none.

    Raises ValueError for a ratio that is not positive and finite.
    """
    if not ratios:
        return None
    values = np.asarray(ratios, dtype=float)
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError("every ratio must be positive and finite")
    logs = np.log(values)
    rng = np.random.default_rng(seed)
    block = max(1, MAX_PICKS // logs.size)
    sizes = [min(block, NUM_RESAMPLES - begun) for begun in range(0, NUM_RESAMPLES, block)]
    means = [logs[rng.integers(logs.size, size=(size, logs.size))].mean(axis=1) for size in sizes]
    low, high = np.exp(np.quantile(np.concatenate(means), (0.025, 0.975)))
    centre = float(np.exp(logs.mean()))
    return Ratio(centre=centre, low=min(float(low), centre), high=max(float(high), centre))


def is_faster(timing: Timing, ratio: Ratio | None) -> bool:
    """By more than MARGIN, as the module's head defines it."""
    return ratio is not None and not timing.trouble and ratio.centre > BOUND and ratio.low > 1.0


def is_surely_faster(timing: Timing, ratio: Ratio | None) -> bool:
    """The same of the whole interval."""
    return ratio is not None and not timing.trouble and ratio.low > BOUND


def has_room(timing: Timing, baseline: Series) -> bool:
    """Whether a program at the floor would be faster than the baseline by more than MARGIN."""
    return baseline.median_us > BOUND * timing.floor_us


def _line(
    name: str, names: Sequence[Name], records: Sequence[TaskRecord], *, has_degenerate: bool, seed: int
) -> Totals:
    dropped = set() if has_degenerate else {record.name.key for record in records if record.is_degenerate}
    kept = [record for record in records if record.name.key not in dropped]
    timings = [record.timing for record in kept if record.timing is not None]
    measured = [timing for timing in timings if timing.provenance is Provenance.MEASURED]
    modelled = [timing for timing in timings if timing.provenance is Provenance.MODELLED]
    is_modelled = bool(modelled)
    return Totals(
        name=name,
        has_degenerate=has_degenerate,
        num_tasks=len(names) - len(dropped),
        num_done=len(kept),
        num_degenerate=sum(record.is_degenerate for record in records),
        num_unaudited=sum(not isinstance(record.audit, TaskAudit) for record in kept),
        num_ours=sum(record.fate is Fate.OURS for record in kept),
        num_refused=sum(record.fate is Fate.REFUSED for record in kept),
        passed=Share.of(sum(record.has_passed for record in kept), len(kept)),
        provenance=timings[0].provenance if timings else None,
        eager=None if is_modelled else _against(measured, _eager, len(kept), seed),
        compile=None if is_modelled else _against(measured, _compile, len(kept), seed),
        over_floor=geometric_mean([timing.times_floor for timing in timings if timing.floor_us > 0], seed),
        num_unsettled=sum(bool(timing.trouble) for timing in measured),
        num_by_shortcut=sum(record.has_passed and bool(record.told.shortcuts) for record in kept),
        num_modelled_fast=sum(timing.is_fast for timing in modelled) if is_modelled else None,
        gpu_s=sum(record.cost.gpu_s for record in kept),
        wall_s=sum(record.cost.wall_s for record in kept),
        declined=_declined(kept),
    )


Baseline = Callable[[Timing], tuple[Ratio, Series] | None]


def _eager(timing: Timing) -> tuple[Ratio, Series] | None:
    return timing.against_eager, timing.eager


def _compile(timing: Timing) -> tuple[Ratio, Series] | None:
    if timing.against_compile is None or timing.compile is None:
        return None
    return timing.against_compile, timing.compile


def _against(timings: Sequence[Timing], baseline: Baseline, num_done: int, seed: int) -> Against:
    pairs = [(timing, *found) for timing in timings if (found := baseline(timing)) is not None]
    return Against(
        faster=Share.of(sum(is_faster(timing, ratio) for timing, ratio, _ in pairs), num_done),
        num_surely=sum(is_surely_faster(timing, ratio) for timing, ratio, _ in pairs),
        mean=geometric_mean([ratio.centre for _, ratio, _ in pairs], seed),
        num_measured=len(pairs),
        num_no_room=sum(not has_room(timing, series) for timing, _, series in pairs),
    )


def _declined(records: Iterable[TaskRecord]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in records:
        if record.told.declined:
            counts[record.told.declined] = counts.get(record.told.declined, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
