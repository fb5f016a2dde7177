"""What keeps a program from being done or faster, by rules over what its verdict and timing hold.

No profiler is asked. Each number says how it is known, and one that a device cannot give is said to be
unavailable. Exactly one suggestion is made: of the rules that apply, the first.
"""

from collections.abc import Callable
from dataclasses import dataclass

from warpsmith.agent.feedback import verdict_text
from warpsmith.agent.team.nouns import Bottleneck, Diagnosis, Figure, Source
from warpsmith.core import (
    BuildFailed,
    Implausible,
    NotRunnable,
    Passed,
    Provenance,
    Rejected,
    TimedOut,
    Timing,
    Verdict,
    Wrong,
)

AT_FLOOR = 1.1  # times the floor: nothing is left to be gained
NEAR_FLOOR = 2.0  # beyond it neither bandwidth nor arithmetic is what limits
HOST_SHARE = 1.5  # the host's time a call over the device's
LAUNCH_SHARE = 0.5  # of its time that the one launch of a program takes
MAX_LOG = 1_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a task and its GPU allow, as far as it is known."""

    launch_us: float  # assumed of the GPU: one more kernel in a busy stream
    bytes_us: float | None = None  # of the floor
    flops_us: float | None = None

    @property
    def is_arithmetic(self) -> bool:
        """Whether arithmetic, not bandwidth, sets the floor; bandwidth where it is not known."""
        return self.bytes_us is not None and self.flops_us is not None and self.flops_us > self.bytes_us


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A timed program, as the rules look at it."""

    passed: Passed
    timing: Timing
    bounds: Bounds

    @property
    def launching_us(self) -> float | None:
        """Of its time, what its launches alone would take."""
        launches = self.timing.num_launches
        return None if launches is None else launches * self.bounds.launch_us

    @property
    def launch_share(self) -> float:
        return (self.launching_us or 0.0) / self.timing.candidate.median_us

    @property
    def host_share(self) -> float:
        return (self.timing.host_us or 0.0) / self.timing.candidate.median_us

    @property
    def spill_bytes(self) -> int:
        return sum(kernel.spill_bytes for kernel in self.passed.resources)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    bottleneck: Bottleneck
    applies: Callable[[_Seen], bool]
    finding: str
    suggestion: str


_RULES = (
    _Rule(
        bottleneck=Bottleneck.NONE,
        applies=lambda s: s.timing.times_floor <= AT_FLOOR,
        finding="it runs at its floor",
        suggestion="Leave it as it is: no program can be much faster.",
    ),
    _Rule(
        bottleneck=Bottleneck.NONE,
        applies=lambda s: s.timing.num_launches == 1 and s.launch_share > LAUNCH_SHARE,
        finding="its one launch costs more than its work",
        suggestion="Leave it as it is: no program does with less than one launch.",
    ),
    _Rule(
        bottleneck=Bottleneck.HOST,
        applies=lambda s: s.host_share > HOST_SHARE,
        finding="the host takes longer over a call than the device",
        suggestion="Do less in Python a call: one launcher for all kernels, buffers allocated once.",
    ),
    _Rule(
        bottleneck=Bottleneck.LAUNCH,
        applies=lambda s: (s.timing.num_launches or 1) > 1 and s.launch_share > 0.3,
        finding="much of its time goes into launching kernels",
        suggestion="Fuse kernels: join those whose results only the next one reads into one launch.",
    ),
    _Rule(
        bottleneck=Bottleneck.LATENCY,
        applies=lambda s: s.spill_bytes > 0,
        finding="registers spill into memory",
        suggestion="Keep fewer values a thread: a smaller tile, or other __launch_bounds__.",
    ),
    _Rule(
        bottleneck=Bottleneck.COMPUTE,
        applies=lambda s: s.bounds.is_arithmetic and s.timing.times_floor <= NEAR_FLOOR,
        finding="arithmetic sets its floor, and it is near it",
        suggestion="Use larger tiles, so that each value that is loaded takes part in more products.",
    ),
    _Rule(
        bottleneck=Bottleneck.COMPUTE,
        applies=lambda s: s.bounds.is_arithmetic,
        finding="arithmetic sets its floor, and it is far from it",
        suggestion="Put the product on tensor cores by sums of split operands, tiled in shared memory.",
    ),
    _Rule(
        bottleneck=Bottleneck.MEMORY,
        applies=lambda s: (s.timing.num_launches or 1) > 1,
        finding="it passes over memory more often than the floor does",
        suggestion="Save a pass over memory: fuse the kernels that hand on the largest tensor.",
    ),
    _Rule(
        bottleneck=Bottleneck.MEMORY,
        applies=lambda s: s.timing.times_floor <= NEAR_FLOOR,
        finding="one launch, near the floor of its bandwidth",
        suggestion="Load 16 bytes a thread (float4) with several independent loads in flight.",
    ),
    _Rule(
        bottleneck=Bottleneck.LATENCY,
        applies=lambda _: True,
        finding="one launch, far from bandwidth and arithmetic alike",
        suggestion="Put more work in flight: more blocks, independent loads, no chain of dependent ones.",
    ),
)


def diagnosed(verdict: Verdict, bounds: Bounds) -> Diagnosis:
    """What limits a program, and the one thing to do about it."""
    if isinstance(verdict, Passed):
        return _of_speed(verdict, bounds)
    text, _, hint = verdict_text(verdict).partition("\nhint: ")
    is_build = isinstance(verdict, BuildFailed)
    return Diagnosis(
        bottleneck=Bottleneck.BUILD if is_build else Bottleneck.CORRECTNESS,
        evidence=tuple(_errors(verdict)),
        finding=text[:MAX_LOG],
        suggestion=hint or _remedy(verdict),
    )


def no_program(why: str) -> Diagnosis:
    """There is nothing to be built."""
    return Diagnosis(
        bottleneck=Bottleneck.BUILD,
        evidence=(),
        finding=why,
        suggestion="Write model_new.py with class ModelNew, and the kernels that it calls into kernels/.",
    )


def _of_speed(passed: Passed, bounds: Bounds) -> Diagnosis:
    timing = passed.timing
    if timing is None:
        return Diagnosis(
            bottleneck=Bottleneck.NONE,
            evidence=(Figure(name="program's time", value=None, unit="us", source=Source.UNAVAILABLE),),
            finding="it is right; how fast it is was not told",
            suggestion="Have it timed with profile.",
        )
    seen = _Seen(passed=passed, timing=timing, bounds=bounds)
    rule = next(rule for rule in _RULES if rule.applies(seen))
    return Diagnosis(
        bottleneck=rule.bottleneck,
        evidence=_figures(seen),
        finding=rule.finding,
        suggestion=rule.suggestion,
    )


def _figures(seen: _Seen) -> tuple[Figure, ...]:
    """All that is known of its speed, each number with where it comes from."""
    timing, coverage = seen.timing, seen.passed.coverage
    clock = Source.MEASURED if timing.provenance is Provenance.MEASURED else Source.MODELLED
    own_share = None if coverage is None else coverage.own_share
    compiled = None if timing.compile is None else timing.compile.median_us
    spilled = float(seen.spill_bytes) if seen.passed.resources else None
    return (
        _figure("program's time", timing.candidate.median_us, "us", clock),
        _figure("eager's time", timing.eager.median_us, "us", clock),
        _figure("torch.compile's time", compiled, "us", clock),
        _figure("floor", timing.floor_us, "us", Source.DERIVED),
        _figure("time over floor", timing.times_floor, "x", _weaker(clock)),
        _figure("floor by bandwidth", seen.bounds.bytes_us, "us", Source.DERIVED),
        _figure("floor by arithmetic", seen.bounds.flops_us, "us", Source.DERIVED),
        _figure("launches a call", timing.num_launches, "", Source.MEASURED),
        _figure("time of its launches alone", seen.launching_us, "us", Source.MODELLED),
        _figure("host's time a call", timing.host_us, "us", Source.MEASURED),
        _figure("own kernels' share of device time", _percent(own_share), "%", Source.MEASURED),
        _figure("bytes spilled", spilled, "bytes", Source.DERIVED),
    )


def _figure(name: str, value: float | None, unit: str, source: Source) -> Figure:
    return Figure(name=name, value=value, unit=unit, source=Source.UNAVAILABLE if value is None else source)


def _weaker(clock: Source) -> Source:
    """A measured time over a derived floor is derived; a modelled one stays modelled."""
    return Source.DERIVED if clock is Source.MEASURED else clock


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


def _errors(verdict: Verdict) -> list[Figure]:
    match verdict:
        case Wrong(error=error, allowed=allowed) if error is not None:
            return [
                _figure("error", error, "", Source.MEASURED),
                _figure("error allowed", allowed, "", Source.DERIVED),
            ]
        case TimedOut(limit_s=limit_s):
            return [_figure("time limit", limit_s, "s", Source.MEASURED)]
        case _:
            return []


def _remedy(verdict: Verdict) -> str:
    """What to do where the verdict brings no hint of its own."""
    match verdict:
        case BuildFailed():
            return "Mend the first error that the compiler names; the others often follow from it."
        case Rejected():
            return "Do in kernels/ what the rule forbids outside them."
        case Implausible():
            return "Compute everything that the reference computes, in each call."
        case NotRunnable():
            return "Write it in plain CUDA C++, without what this device cannot execute."
        case _:
            return "Compare the smallest case by hand with the reference, operator by operator."
