"""What a verdict's clock and the task's floor say of a right program, as figures."""

from collections.abc import Iterator
from dataclasses import dataclass

from warpsmith.agent.diagnosis.figures import Figure, Name, Source, figure, missing
from warpsmith.core import Passed, Provenance, Timing
from warpsmith.device.base import Gpu
from warpsmith.judge.clock.floor import Floor

NO_COMPILE = "torch.compile was not timed, or fails on the reference"
NO_FLOOR = "the reference was not profiled"
NO_COUNT = "the call cannot be captured in a CUDA graph, so its launches were not counted"
NO_CLOCK = "the time is modelled, or the share could not be measured"
NO_REPORT = "the build came without the compiler's report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a task and its GPU allow, as far as it is known."""

    launch_us: float  # assumed of the GPU: one more kernel in a busy stream
    bytes_us: float | None = None  # of the floor
    flops_us: float | None = None
    least_bytes: float | None = None  # that any program for the task moves


def bounds_of(floor: Floor, gpu: Gpu) -> Bounds:
    """Those of a task on `gpu`."""
    return Bounds(
        launch_us=gpu.launch_us,
        bytes_us=floor.bytes_us,
        flops_us=floor.flops_us,
        least_bytes=floor.bytes_us * gpu.dram_bytes_s / 1e6,
    )


def of_verdict(passed: Passed, timing: Timing, bounds: Bounds) -> Iterator[Figure]:
    """All that is known of a timed program without any profiler."""
    clock = Source.MEASURED if timing.provenance is Provenance.MEASURED else Source.MODELLED
    # A measured time over a derived floor is derived; a modelled one stays modelled.
    derived = Source.DERIVED if clock is Source.MEASURED else clock
    time_us, host_us = timing.candidate.median_us, timing.host_us
    compiled = None if timing.compile is None else timing.compile.median_us
    yield figure(Name.TIME, time_us, "us", clock)
    yield figure(Name.EAGER, timing.eager.median_us, "us", clock)
    yield _known(Name.COMPILED, compiled, "us", clock, NO_COMPILE)
    yield figure(Name.FLOOR, timing.floor_us, "us", Source.DERIVED)
    yield figure(Name.TIMES_FLOOR, timing.times_floor, "x", derived)
    yield _known(Name.FLOOR_BYTES, bounds.bytes_us, "us", Source.DERIVED, NO_FLOOR)
    yield _known(Name.FLOOR_FLOPS, bounds.flops_us, "us", Source.DERIVED, NO_FLOOR)
    yield _known(Name.LEAST_BYTES, bounds.least_bytes, "bytes", Source.DERIVED, NO_FLOOR)
    yield _known(Name.BANDWIDTH, _percent(bounds.bytes_us, time_us), "%", derived, NO_FLOOR)
    yield _known(Name.RATE, _percent(bounds.flops_us, time_us), "%", derived, NO_FLOOR)
    if timing.num_launches is None:
        yield from missing((Name.LAUNCHES, Name.LAUNCHING, Name.LAUNCH_SHARE), NO_COUNT)
    else:
        yield figure(Name.LAUNCHES, timing.num_launches, "", Source.COUNTED)
        yield from launch_figures(timing.num_launches, time_us, bounds)
    yield _known(Name.HOST, host_us, "us", Source.MEASURED, NO_CLOCK)
    yield _known(Name.HOST_SHARE, host_us and host_us / time_us, "x", derived, NO_CLOCK)
    own_share = None if passed.coverage is None else passed.coverage.own_share
    yield _known(Name.OWN_SHARE, _percent(own_share, 1.0), "%", Source.MEASURED, NO_CLOCK)
    spilled = float(sum(kernel.spill_bytes for kernel in passed.resources)) if passed.resources else None
    yield _known(Name.SPILLED, spilled, "bytes", Source.COUNTED, NO_REPORT)


def _known(name: Name, value: float | None, unit: str, source: Source, why_not: str) -> Figure:
    return figure(name, value, unit, source, why_not if value is None else "")


def launch_figures(launches: float, time_us: float, bounds: Bounds) -> Iterator[Figure]:
    """What follows from a number of launches that a trace told, where the clock could not count them."""
    launching = launches * bounds.launch_us
    yield figure(Name.LAUNCHING, launching, "us", Source.MODELLED)
    yield figure(Name.LAUNCH_SHARE, launching / time_us, "x", Source.MODELLED)


def _percent(part: float | None, whole: float) -> float | None:
    return None if part is None else 100.0 * part / whole
