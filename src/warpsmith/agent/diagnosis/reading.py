"""What each profiler found, as figures."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from warpsmith.agent.diagnosis import ncu, sass
from warpsmith.agent.diagnosis.figures import Figure, Name, Source, figure
from warpsmith.agent.diagnosis.metrics import STALLS, Counter, stall_metric
from warpsmith.agent.diagnosis.trace import Trace
from warpsmith.core import KernelResources
from warpsmith.judge.gates.sanitizer import base_name
from warpsmith.judge.profile import CpuCounts

MAX_NAME = 80
WAVES = "launch__waves_per_multiprocessor"
REGISTERS = "launch__registers_per_thread"
DECIDE = {
    "registers": "launch__occupancy_limit_registers",
    "shared memory": "launch__occupancy_limit_shared_mem",
    "warps": "launch__occupancy_limit_warps",
    "blocks": "launch__occupancy_limit_blocks",
}


def function_name(kernel: str) -> str:
    """A kernel's name without namespaces, parameters and template arguments."""
    return base_name(kernel).rpartition("::")[2][:MAX_NAME]


# --- a trace ---


def of_trace(trace: Trace) -> Iterator[Figure]:
    """Averages over its calls."""
    calls, tool = trace.num_calls, trace.tool

    def measured(name: Name, value: float | None, unit: str, note: str = "") -> Figure:
        return figure(name, value, unit, Source.MEASURED, f"{note}, by {tool}" if note else f"by {tool}")

    kernel_us = sum(kernel.duration_us for kernel in trace.kernels)
    yield measured(Name.LAUNCHES, len(trace.kernels) / calls, "")
    yield measured(Name.BUSY, 100 * trace.busy_share, "%", "with the profiler's own cost on the host")
    yield measured(Name.IDLE, 100 * trace.idle_share, "%", "with the profiler's own cost on the host")
    yield measured(Name.KERNEL_TIME, kernel_us / calls, "us")
    yield measured(Name.SYNCS, len(trace.waits) / calls, "")
    yield measured(Name.COPIES, len(trace.crossing) / calls, "")
    yield measured(Name.COPIED, sum(copy.num_bytes for copy in trace.crossing) / calls, "bytes")
    yield measured(Name.COPY_TIME, sum(copy.duration_us for copy in trace.crossing) / calls, "us")
    if trace.num_sms is not None:
        yield measured(Name.SMS, float(trace.num_sms), "")
    dominant = trace.dominant()
    if dominant is None:
        return
    name = function_name(dominant.name)
    yield measured(
        Name.TOP_SHARE, 100 * trace.totals()[0].total_us / kernel_us if kernel_us else None, "%", name
    )
    yield measured(Name.TOP_TIME, dominant.duration_us, "us", name)
    yield measured(Name.BLOCKS, float(dominant.num_blocks), "", name)
    yield measured(Name.THREADS, float(dominant.num_threads), "", name)
    yield measured(Name.REGISTERS, float(dominant.registers), "", name)
    yield measured(Name.SHARED, float(dominant.shared_bytes), "bytes", name)


# --- hardware counters ---


def of_counters(launch: ncu.Counted) -> Iterator[Figure]:
    """What the hardware counted of one launch; a counter that the chip lacks gives no value."""
    note = f"{function_name(launch.kernel)}, by {ncu.TOOL}"
    for reading in READINGS:
        value = reading.value(launch)
        yield figure(
            reading.name, value, reading.unit, Source.MEASURED, note if value is not None else NOT_COUNTED
        )
    yield _stall(launch, note)
    yield _occupancy(launch, note)


NOT_COUNTED = "the tool gave no number for it"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A figure, and how it follows from the counters."""

    name: Name
    unit: str
    value: Callable[[ncu.Counted], float | None]


def _as_is(name: Name, unit: str, metric: str) -> _Reading:
    return _Reading(name=name, unit=unit, value=lambda launch: launch.value(metric))


def _sum(launch: ncu.Counted, *metrics: str) -> float | None:
    values = [launch.value(metric) for metric in metrics]
    return None if None in values else float(sum(value for value in values if value is not None))


def _share(part: float | None, whole: float | None) -> float | None:
    """In percent; of nothing it is none."""
    if part is None or whole is None:
        return None
    return 100 * part / whole if whole > 0 else 0.0


def _conflicts(launch: ncu.Counted) -> float | None:
    return _share(
        _sum(launch, Counter.CONFLICTS_LOADED, Counter.CONFLICTS_STORED),
        _sum(launch, Counter.WAVEFRONTS_LOADED, Counter.WAVEFRONTS_STORED),
    )


def _fp64(launch: ncu.Counted) -> float | None:
    double = _sum(launch, Counter.DADD, Counter.DMUL, Counter.DFMA)
    single = _sum(launch, Counter.FADD, Counter.FMUL, Counter.FFMA)
    return None if double is None or single is None else _share(double, double + single)


READINGS = (
    _as_is(Name.SM, "%", Counter.SM),
    _as_is(Name.MEMORY, "%", Counter.MEMORY),
    _as_is(Name.DRAM, "%", Counter.DRAM),
    _Reading(
        name=Name.TRAFFIC,
        unit="bytes",
        value=lambda launch: _sum(launch, Counter.BYTES_READ, Counter.BYTES_WRITTEN),
    ),
    _as_is(Name.WAVES, "", WAVES),
    _as_is(Name.ELIGIBLE, "", Counter.ELIGIBLE),
    _as_is(Name.ISSUE, "", Counter.ISSUE),
    _as_is(Name.LANES, "", Counter.LANES),
    _as_is(Name.USED_LOADED, "%", Counter.USED_LOADED),
    _as_is(Name.USED_STORED, "%", Counter.USED_STORED),
    _as_is(Name.SECTORS_LOADED, "", Counter.SECTORS_LOADED),
    _as_is(Name.SECTORS_STORED, "", Counter.SECTORS_STORED),
    _Reading(name=Name.CONFLICTS, unit="%", value=_conflicts),
    _Reading(
        name=Name.LOCAL,
        unit="%",
        value=lambda launch: _share(launch.value(Counter.LOCAL), launch.value(Counter.INSTRUCTIONS)),
    ),
    _Reading(name=Name.FP64, unit="%", value=_fp64),
    _as_is(Name.TENSOR, "%", Counter.TENSOR),
    _as_is(Name.L1_HITS, "%", Counter.L1_HITS),
    _as_is(Name.L2_HITS, "%", Counter.L2_HITS),
    _as_is(Name.REGISTERS, "", REGISTERS),
)


def _stall(launch: ncu.Counted, note: str) -> Figure:
    values = {reason: launch.value(stall_metric(reason)) for reason in STALLS}
    known = {reason: value for reason, value in values.items() if value is not None}
    if not known:
        return figure(Name.STALL, None, "", Source.MEASURED, NOT_COUNTED)
    reason = max(known, key=lambda one: known[one])
    return figure(Name.STALL, known[reason], "", Source.MEASURED, f"{reason} in {note}")


def _occupancy(launch: ncu.Counted, note: str) -> Figure:
    limits = {what: launch.value(metric) for what, metric in DECIDE.items()}
    known = {what: value for what, value in limits.items() if value is not None}
    limit = f", limited by {min(known, key=lambda one: known[one])}" if known else ""
    value = launch.value(Counter.OCCUPANCY)
    return figure(
        Name.OCCUPANCY, value, "%", Source.MEASURED, note + limit if value is not None else NOT_COUNTED
    )


# --- the build ---


def of_resources(resources: tuple[KernelResources, ...], dominant: str | None) -> Iterator[Figure]:
    """What the compiler reports: spills of all kernels, registers and shared memory of the dominant one."""
    if not resources:
        return
    spilled = float(sum(kernel.spill_bytes for kernel in resources))
    yield figure(Name.SPILLED, spilled, "bytes", Source.COUNTED, "all kernels, by ptxas")
    named = [kernel for kernel in resources if dominant and function_name(kernel.kernel) == dominant]
    kernel = max(named or resources, key=lambda one: one.registers)
    note = f"{function_name(kernel.kernel)}, by ptxas"
    yield figure(Name.REGISTERS, float(kernel.registers), "", Source.COUNTED, note)
    yield figure(Name.SHARED, float(kernel.shared_bytes), "bytes", Source.COUNTED, f"static, {note}")


def of_listings(listings: tuple[sass.Listing, ...], dominant: str | None) -> Iterator[Figure]:
    """Shares of the opcodes, which are static; of the dominant kernel where it is known."""
    own = [listing for listing in listings if dominant and dominant in listing.kernel] or list(listings)
    if not own:
        return
    double, single, local, whole = (
        float(sum(counts))
        for counts in zip(
            *(
                (one.count(sass.FP64), one.count(sass.FP32), one.count(sass.LOCAL), one.num_instructions)
                for one in own
            ),
            strict=True,
        )
    )
    note = f"static opcodes, by {sass.TOOL}"
    yield figure(Name.FP64, _share(double, double + single), "%", Source.COUNTED, note)
    yield figure(Name.LOCAL, _share(local, whole), "%", Source.COUNTED, note)


# --- the cpu device ---


def of_cpu(counts: CpuCounts) -> Iterator[Figure]:
    """What the cpu device counted of one call."""
    per_launch = counts.threads / counts.launches if counts.launches else None
    note = "by the cpu device"
    yield figure(Name.LAUNCHES, float(counts.launches), "", Source.COUNTED, note)
    yield figure(Name.THREADS, per_launch, "", Source.COUNTED, f"on average, {note}")
    yield figure(Name.LIBRARY_FLOPS, float(counts.library_flops), "", Source.COUNTED, note)
