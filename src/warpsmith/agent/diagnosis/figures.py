"""Numbers that a diagnosis rests on: what each is called, and how it is known."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """How a number is known."""

    MEASURED = "measured"  # by a clock, a profiler or hardware counters
    DERIVED = "derived"  # worked out from the task, a GPU's peaks or other figures
    COUNTED = "counted"  # in the program's machine code, or as it ran without a clock
    MODELLED = "modelled"  # what a model says that stands for a clock
    UNAVAILABLE = "unavailable"


class Name(StrEnum):
    """All figures there are, in the order in which they are told."""

    TIME = "program's time"
    EAGER = "eager's time"
    COMPILED = "torch.compile's time"
    FLOOR = "floor"
    TIMES_FLOOR = "time over floor"
    FLOOR_BYTES = "floor by bandwidth"
    FLOOR_FLOPS = "floor by arithmetic"
    LEAST_BYTES = "least traffic"
    BANDWIDTH = "least traffic over its time, of peak bandwidth"
    RATE = "least arithmetic over its time, of peak rate"
    LAUNCHES = "launches a call"
    LAUNCHING = "time of its launches alone"
    LAUNCH_SHARE = "its launches' share of its time"
    HOST = "host's time a call"
    HOST_SHARE = "host's time over the program's"
    OWN_SHARE = "own kernels' share of device time"
    # The system, from a trace.
    BUSY = "GPU-busy share of a call"
    IDLE = "idle share between its first and its last work"
    KERNEL_TIME = "kernels' time a call"
    SYNCS = "waits of the host a call"
    COPIES = "copies between host and device a call"
    COPIED = "bytes between host and device a call"
    COPY_TIME = "time of those copies a call"
    TOP_SHARE = "dominant kernel's share of kernel time"
    TOP_TIME = "dominant kernel's time a launch"
    BLOCKS = "blocks of the dominant kernel"
    SMS = "multiprocessors of the GPU"
    THREADS = "threads a launch"
    LIBRARY_FLOPS = "operations of library calls"
    # The kernel, from hardware counters or its machine code.
    SM = "SM throughput, of peak"
    MEMORY = "memory throughput, of peak"
    DRAM = "DRAM throughput, of peak"
    TRAFFIC = "DRAM traffic of the dominant kernel"
    OCCUPANCY = "occupancy"
    WAVES = "waves of blocks"
    ELIGIBLE = "warps ready a cycle"
    ISSUE = "instructions a cycle and scheduler"
    STALL = "warps waiting for the commonest reason"
    LANES = "active lanes an instruction"
    USED_LOADED = "used bytes of a loaded sector"
    USED_STORED = "used bytes of a stored sector"
    SECTORS_LOADED = "sectors a load"
    SECTORS_STORED = "sectors a store"
    CONFLICTS = "bank conflicts, of shared-memory cycles"
    LOCAL = "local-memory instructions"
    FP64 = "fp64, of fp32 and fp64 arithmetic"
    TENSOR = "tensor pipe active"
    L1_HITS = "L1 hit rate"
    L2_HITS = "L2 hit rate"
    REGISTERS = "registers a thread"
    SHARED = "shared memory a block"
    SPILLED = "bytes spilled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number. Without a value it says why, and what would bring it."""

    name: str  # a Name, for what the classifier looks at
    value: float | None
    unit: str  # "us", "bytes", "x", "%", or "" for a count
    source: Source
    note: str = ""  # which kernel, by which tool; or why it is not available
    fix: str = ""  # what would make it available

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.name}: {self.source}" + (f" ({self.note})" if self.note else "")
        number = f"{self.value:,.0f}" if self.value == int(self.value) else f"{self.value:.4g}"
        told = f"{self.source}, {self.note}" if self.note else str(self.source)
        return f"{self.name}: {number}{f' {self.unit}' if self.unit else ''} ({told})"


def figure(name: Name, value: float | None, unit: str, source: Source, note: str = "") -> Figure:
    """Unavailable if it has no value."""
    return Figure(
        name=name,
        value=value,
        unit=unit,
        source=Source.UNAVAILABLE if value is None else source,
        note=note,
    )


def missing(names: Iterable[Name], why: str, fix: str = "") -> tuple[Figure, ...]:
    """Figures that a rung of the ladder could not give."""
    return tuple(
        Figure(name=name, value=None, unit="", source=Source.UNAVAILABLE, note=why, fix=fix) for name in names
    )


class Sheet:
    """Figures by name. Of several of one name the first that has a value stands, else the first."""

    def __init__(self, figures: Iterable[Figure] = ()) -> None:
        self._figures: dict[str, Figure] = {}
        for one in figures:
            known = self._figures.get(one.name)
            if known is None or (known.value is None and one.value is not None):
                self._figures[one.name] = one

    def __getitem__(self, name: Name) -> float:
        """Raises LookupError if it is not available."""
        value = self.value(name)
        if value is None:
            raise LookupError(f"{name} is not available")
        return value

    def __iter__(self) -> Iterator[Figure]:
        return (self._figures[name] for name in Name if name in self._figures)

    def __or__(self, other: "Sheet") -> "Sheet":
        """Both; where both have a value, this one's."""
        return Sheet((*self, *other))

    def value(self, name: Name) -> float | None:
        found = self._figures.get(name)
        return None if found is None else found.value

    def get(self, name: Name) -> Figure:
        """Unavailable if nobody asked for it."""
        return self._figures.get(name) or figure(name, None, "", Source.UNAVAILABLE)

    def has(self, *names: Name) -> bool:
        return all(self.value(name) is not None for name in names)
