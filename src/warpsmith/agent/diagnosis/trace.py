"""What a program did on the host and on the GPU over some calls, whichever profiler saw it.

Two readers make one: `nsys` from Nsight Systems' sqlite export, `torch_trace` from torch.profiler's file. All
times are in µs of one clock. What lies in no call (a cache flush between two of them) is left out by both.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import median
from typing import TypeVar

CALL = "warpsmith.call"
"""The range, of NVTX or of torch, around each call and the profiled process's own wait for the device."""

MAX_CALLS = 64  # the profiled process makes far fewer
WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cuCtxSynchronize")
WAITS_OF_DRIVER = ("cuStreamSynchronize", "cuEventSynchronize")


class TraceError(ValueError):
    """A profiler's file that cannot be read. What runs under it could have written it."""


class Direction(StrEnum):
    """Between which memories a copy goes."""

    TO_DEVICE = "host to device"
    TO_HOST = "device to host"
    WITHIN = "within the device"
    OTHER = "other"


S = TypeVar("S", bound="Span")

CROSSING = (Direction.TO_DEVICE, Direction.TO_HOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Something that began and took some time."""

    start_us: float
    duration_us: float

    @property
    def end_us(self) -> float:
        return self.start_us + self.duration_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel(Span):
    """One launch, as the device ran it."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int  # a thread
    shared_bytes: int  # a block, static and dynamic
    stream: int

    @property
    def num_blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def num_threads(self) -> int:
        return self.num_blocks * self.block[0] * self.block[1] * self.block[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy(Span):
    """A copy of memory by the device."""

    direction: Direction
    num_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill(Span):
    """A memset by the device."""

    num_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall(Span):
    """A call of CUDA's runtime or driver on the host; `name` without a version."""

    name: str

    @property
    def is_wait(self) -> bool:
        return self.name.startswith((*WAITS, *WAITS_OF_DRIVER))


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTotal:
    """All launches of one name."""

    name: str
    num_launches: int
    total_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Calls of one program, with all that happened in them; each tuple in order of time."""

    tool: str
    calls: tuple[Span, ...]  # one at least; each ends with our own wait for the device
    kernels: tuple[Kernel, ...]
    copies: tuple[Copy, ...]
    fills: tuple[Fill, ...]
    api: tuple[ApiCall, ...]  # without that wait
    num_sms: int | None = None

    @property
    def num_calls(self) -> int:
        return len(self.calls)

    @property
    def waits(self) -> tuple[ApiCall, ...]:
        """Where the program waits for the device."""
        return tuple(call for call in self.api if call.is_wait)

    @property
    def crossing(self) -> tuple[Copy, ...]:
        """Copies between host and device."""
        return tuple(copy for copy in self.copies if copy.direction in CROSSING)

    @property
    def work(self) -> tuple[Span, ...]:
        """All that the device did."""
        return _ordered((*self.kernels, *self.copies, *self.fills))

    @property
    def busy_share(self) -> float:
        """Of a call's time, as the profiler slows it down, how much the device worked; the calls' median."""
        return median(_busy_us(_within(self.work, call)) / call.duration_us for call in self.calls)

    @property
    def gaps(self) -> tuple[Span, ...]:
        """Idle times between two pieces of work of one call."""
        return tuple(gap for call in self.calls for gap in _gaps(_within(self.work, call)))

    @property
    def idle_share(self) -> float:
        """Of the time from a call's first work to its last, how much the device idled; the calls' median."""
        return median(_idle_share(_within(self.work, call)) for call in self.calls)

    def totals(self) -> tuple[KernelTotal, ...]:
        """Kernels by name, the longest first."""
        times: dict[str, list[float]] = {}
        for kernel in self.kernels:
            times.setdefault(kernel.name, []).append(kernel.duration_us)
        totals = (
            KernelTotal(name=name, num_launches=len(taken), total_us=sum(taken))
            for name, taken in times.items()
        )
        return tuple(sorted(totals, key=lambda total: -total.total_us))

    def dominant(self) -> Kernel | None:
        """The longest launch of the name that takes most of the time."""
        totals = self.totals()
        if not totals:
            return None
        of_name = [kernel for kernel in self.kernels if kernel.name == totals[0].name]
        return max(of_name, key=lambda kernel: kernel.duration_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Everything that a profiler's file holds, before it is known what belongs to a call."""

    ranges: list[Span]
    kernels: list[Kernel]
    copies: list[Copy]
    fills: list[Fill]
    api: list[ApiCall]
    num_sms: int | None


def trace_of(tool: str, seen: Activity) -> Trace:
    """What happened in calls. Raises TraceError if none was seen."""
    calls = _ordered(span for span in seen.ranges if span.duration_us > 0)
    if not 0 < len(calls) <= MAX_CALLS:
        raise TraceError(f"it holds {len(calls)} ranges named {CALL}; 1 to {MAX_CALLS} are expected")
    return Trace(
        tool=tool,
        calls=calls,
        kernels=_of_calls(seen.kernels, calls),
        copies=_of_calls(seen.copies, calls),
        fills=_of_calls(seen.fills, calls),
        api=tuple(one for call in calls for one in _without_last_wait(_within(_ordered(seen.api), call))),
        num_sms=seen.num_sms,
    )


def _ordered(spans: Iterable[S]) -> tuple[S, ...]:
    return tuple(sorted(spans, key=lambda span: span.start_us))


def _of_calls(spans: Iterable[S], calls: tuple[Span, ...]) -> tuple[S, ...]:
    ordered = _ordered(spans)
    return tuple(span for call in calls for span in _within(ordered, call))


def _within(spans: Iterable[S], call: Span) -> tuple[S, ...]:
    return tuple(span for span in spans if call.start_us <= span.start_us < call.end_us)


def _without_last_wait(api: tuple[ApiCall, ...]) -> Iterator[ApiCall]:
    """The last wait of a call is the profiled process's own."""
    own = next((index for index in reversed(range(len(api))) if api[index].is_wait), None)
    return (call for index, call in enumerate(api) if index != own)


def _merged(spans: Iterable[Span]) -> list[tuple[float, float]]:
    """Begin and end of every stretch in which there is a span; streams may overlap."""
    stretches: list[tuple[float, float]] = []
    for span in spans:
        if stretches and span.start_us <= stretches[-1][1]:
            begin, end = stretches[-1]
            stretches[-1] = (begin, max(end, span.end_us))
        else:
            stretches.append((span.start_us, span.end_us))
    return stretches


def _busy_us(spans: Iterable[Span]) -> float:
    return sum(end - begin for begin, end in _merged(spans))


def _gaps(spans: Iterable[Span]) -> Iterator[Span]:
    stretches = _merged(spans)
    for (_, end), (begin, _) in pairwise(stretches):
        yield Span(start_us=end, duration_us=begin - end)


def _idle_share(spans: tuple[Span, ...]) -> float:
    if not spans:
        return 0.0
    whole = max(span.end_us for span in spans) - spans[0].start_us
    return sum(gap.duration_us for gap in _gaps(spans)) / whole if whole > 0 else 0.0
