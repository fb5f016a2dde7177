"""Modelled times: what a program would take on a named GPU, from what it was counted to do.

Nothing here is measured, and nothing that comes from here may be called so. The formula:

    launch_us  = kernels * gpu.launch_us + 1e6 * max(bytes / gpu.dram_bytes_s, flops / rate)
    program_us = sum of launch_us over its launches

- bytes: every tensor that a launch is given, whole, once: no cache keeps anything between launches.
- flops: of library calls only (matrix products, convolutions, attention); all other arithmetic is free.
- rate: the one of the unit that does them, by `Unit`: fp32 without tensor cores, tf32 or bf16 with.

Eager is the record of the operators that the reference ran: each that is no view is a launch. torch.compile
is the same record after `fused`: between two library calls, all pointwise operators and reductions become one
launch that reads what came from outside once, and writes what is read after it once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from warpsmith.device.base import Gpu


class Unit(StrEnum):
    """What does a launch's floating-point operations."""

    FP32 = "fp32"
    TF32 = "tf32"
    BF16 = "bf16"  # half precision of either kind


class Work(StrEnum):
    """What torch.compile may do with an operator."""

    FUSIBLE = "fusible"  # pointwise, reduction, copy, creation
    LIBRARY = "library"  # stands alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One launch, or one launcher's call of several kernels.

    `reads` and `writes` name pieces of memory; empty where the flow of data is not known.
    """

    name: str
    num_bytes: int
    flops: int = 0
    unit: Unit = Unit.FP32
    work: Work = Work.FUSIBLE
    kernels: int = 1
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A piece of memory that launches read or write."""

    num_bytes: int
    is_output: bool = False


def launch_us(launch: Launch, gpu: Gpu) -> float:
    """The modelled time of one launch."""
    moving_s = launch.num_bytes / gpu.dram_bytes_s
    computing_s = launch.flops / rate(launch.unit, gpu)
    return launch.kernels * gpu.launch_us + 1e6 * max(moving_s, computing_s)


def program_us(launches: Iterable[Launch], gpu: Gpu) -> float:
    """The modelled time of a program: its launches, one after another."""
    return sum(launch_us(launch, gpu) for launch in launches)


def rate(unit: Unit, gpu: Gpu) -> float:
    """Operations a second of `unit`."""
    rates = {Unit.FP32: gpu.fp32_flops, Unit.TF32: gpu.tf32_flops, Unit.BF16: gpu.bf16_flops}
    return rates[unit]


def fused(launches: Sequence[Launch], memory: Sequence[Memory]) -> tuple[Launch, ...]:
    """The launches as torch.compile is modelled to leave them; `reads` and `writes` index `memory`."""
    groups: list[list[Launch]] = []
    for launch in launches:
        if launch.work is Work.LIBRARY or not groups or groups[-1][-1].work is Work.LIBRARY:
            groups.append([])
        groups[-1].append(launch)
    result: list[Launch] = []
    read_later: set[int] = set()
    for group in reversed(groups):
        result.append(_fuse(group, memory, read_later))
        read_later.update(piece for launch in group for piece in launch.reads)
    return tuple(reversed(result))


def _fuse(group: Sequence[Launch], memory: Sequence[Memory], read_later: set[int]) -> Launch:
    if len(group) == 1:
        return group[0]
    written: set[int] = set()
    reads: set[int] = set()
    for launch in group:
        reads.update(piece for piece in launch.reads if piece not in written)
        written.update(launch.writes)
    writes = {piece for piece in written if piece in read_later or memory[piece].is_output}
    return Launch(
        name="fused " + " ".join(launch.name for launch in group),
        num_bytes=sum(memory[piece].num_bytes for piece in (*reads, *writes)),
        reads=tuple(sorted(reads)),
        writes=tuple(sorted(writes)),
    )
