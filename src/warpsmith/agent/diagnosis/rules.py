"""What may limit a right program, a rule a thing, in the order in which they speak.

Host and device as a whole come before what a kernel does inside, and what a compiler or a counter shows
plainly before what only shares of a peak suggest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from warpsmith.agent.diagnosis.figures import Name, Sheet, Source
from warpsmith.agent.diagnosis.thresholds import THRESHOLDS as LIMIT


class Class(StrEnum):
    """What keeps a right program from being faster."""

    MEMORY = "memory"  # its bandwidth, or how it is used
    COMPUTE = "compute"  # arithmetic rates
    LATENCY = "latency"  # too little in flight
    LAUNCH = "launch"  # the number of launches
    HOST = "host"  # the processor's side of a call
    NONE = "none"  # it is at its floor


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that may be wrong. `evidence` are the figures that `applies` looks at."""

    topic: str  # what it looks for, in words that follow "cannot see"
    kind: Class
    evidence: tuple[Name, ...]
    applies: Callable[[Sheet], bool]
    finding: str
    suggestion: str


def _is_measured(sheet: Sheet) -> bool:
    return sheet.get(Name.TIME).source is Source.MEASURED


def _is_at_floor(sheet: Sheet) -> bool:
    return (sheet.value(Name.TIMES_FLOOR) or LIMIT.near_floor) <= LIMIT.at_floor


def _is_arithmetic(sheet: Sheet) -> bool:
    """Whether arithmetic, not bandwidth, sets the floor."""
    return sheet[Name.FLOOR_FLOPS] > sheet[Name.FLOOR_BYTES]


def _is_one_costly_launch(sheet: Sheet) -> bool:
    return sheet[Name.LAUNCHES] == 1 and sheet[Name.LAUNCH_SHARE] > LIMIT.one_launch_share


def _copying(sheet: Sheet) -> float:
    """In % of the time from a call's first work to its last: copies to and from the host, and idleness."""
    copied, computed = sheet[Name.COPY_TIME], sheet[Name.KERNEL_TIME]
    busy = copied + computed
    return sheet[Name.IDLE] + (100 - sheet[Name.IDLE]) * (copied / busy if busy else 0.0)


def _is_wasteful(sheet: Sheet, name: Name) -> bool:
    """Of no access at all the tool says 0."""
    return 0 < sheet[name] < LIMIT.used


MEASURE = (
    "Leave its launches and its traffic as they are, and measure it on a GPU: a model does not see how a "
    "kernel goes about them."
)
RULES = (
    Rule(
        topic="a grid that leaves most of the GPU idle",
        kind=Class.LATENCY,
        evidence=(Name.THREADS, Name.LEAST_BYTES),
        applies=lambda s: (
            s[Name.THREADS] < LIMIT.few_threads
            and s[Name.LEAST_BYTES] > LIMIT.much_work * max(s[Name.THREADS], 1.0)
        ),
        finding="few threads do much work each, and most of the GPU idles",
        suggestion="Launch more blocks, several for each multiprocessor: split the work over more threads, "
        "and join partial results in a second step if there are any.",
    ),
    Rule(
        topic="registers that spill",
        kind=Class.LATENCY,
        evidence=(Name.SPILLED, Name.TIMES_FLOOR),
        applies=lambda s: s[Name.SPILLED] > LIMIT.spilled and not (_is_measured(s) and _is_at_floor(s)),
        finding="registers spill into memory",
        suggestion="Keep fewer values a thread: a smaller tile, or other __launch_bounds__.",
    ),
    Rule(
        topic="a program at its floor",
        kind=Class.NONE,
        evidence=(Name.TIMES_FLOOR,),
        applies=lambda s: _is_measured(s) and _is_at_floor(s),
        finding="it runs at its floor",
        suggestion="Leave it as it is: no program can be much faster.",
    ),
    Rule(
        topic="a program at its floor",
        kind=Class.NONE,
        evidence=(Name.TIMES_FLOOR,),
        applies=_is_at_floor,
        finding="its launches and its traffic are modelled to take no more than the floor",
        suggestion=MEASURE,
    ),
    Rule(
        topic="a single launch that costs more than its work",
        kind=Class.NONE,
        evidence=(Name.LAUNCHES, Name.LAUNCH_SHARE),
        applies=lambda s: _is_measured(s) and _is_one_costly_launch(s),
        finding="its one launch costs more than its work",
        suggestion="Leave it as it is: no program does with less than one launch.",
    ),
    Rule(
        topic="a single launch that costs more than its work",
        kind=Class.NONE,
        evidence=(Name.LAUNCHES, Name.LAUNCH_SHARE),
        applies=_is_one_costly_launch,
        finding="its one launch is modelled to cost more than its traffic",
        suggestion=MEASURE,
    ),
    Rule(
        topic="copies between host and device in a call",
        kind=Class.HOST,
        evidence=(Name.COPIES, Name.COPIED, Name.COPY_TIME, Name.KERNEL_TIME, Name.IDLE),
        applies=lambda s: s[Name.COPIES] >= 1 and _copying(s) > LIMIT.copying,
        finding="data goes to the host or comes from it in each call, and the device waits for that",
        suggestion="Keep it on the device: compute in a kernel what the host computes now, and copy nothing.",
    ),
    Rule(
        topic="waits for the device in a call",
        kind=Class.HOST,
        evidence=(Name.SYNCS, Name.IDLE),
        applies=lambda s: s[Name.SYNCS] >= 1 and s[Name.IDLE] > LIMIT.idle,
        finding="the host waits for the device in the midst of a call, and the device then for the host",
        suggestion="Take the synchronization out of forward: work on one stream is in order without it.",
    ),
    Rule(
        topic="the cost of many launches",
        kind=Class.LAUNCH,
        evidence=(Name.LAUNCHES, Name.LAUNCH_SHARE),
        applies=lambda s: s[Name.LAUNCHES] > 1 and s[Name.LAUNCH_SHARE] > LIMIT.launch_share,
        finding="much of its time goes into launching kernels",
        suggestion="Fuse kernels: join those whose results only the next one reads into one launch.",
    ),
    Rule(
        topic="a host that is slower than the device",
        kind=Class.HOST,
        evidence=(Name.HOST_SHARE,),
        applies=lambda s: s[Name.HOST_SHARE] > LIMIT.host_share,
        finding="the host takes longer over a call than the device",
        suggestion="Do less in Python a call: one launcher for all kernels, buffers allocated once.",
    ),
    Rule(
        topic="accesses of memory that are not coalesced",
        kind=Class.MEMORY,
        evidence=(Name.USED_LOADED, Name.SECTORS_LOADED),
        applies=lambda s: _is_wasteful(s, Name.USED_LOADED),
        finding="a warp's loads are scattered, so that most bytes of the sectors that are moved go unused",
        suggestion="Coalesce the loads: let neighbouring threads read neighbouring addresses, through a "
        "tile in shared memory where the order has to change.",
    ),
    Rule(
        topic="accesses of memory that are not coalesced",
        kind=Class.MEMORY,
        evidence=(Name.USED_STORED, Name.SECTORS_STORED),
        applies=lambda s: _is_wasteful(s, Name.USED_STORED),
        finding="a warp's stores are scattered, so that most bytes of the sectors that are moved go unused",
        suggestion="Coalesce the stores: let neighbouring threads write neighbouring addresses, through a "
        "tile in shared memory where the order has to change.",
    ),
    Rule(
        topic="bank conflicts in shared memory",
        kind=Class.MEMORY,
        evidence=(Name.CONFLICTS,),
        applies=lambda s: s[Name.CONFLICTS] > LIMIT.conflicts,
        finding="threads of a warp meet in the same banks of shared memory",
        suggestion="Remove the bank conflicts: pad each row of the shared tile by one element, or swizzle "
        "it.",
    ),
    Rule(
        topic="arithmetic in double precision",
        kind=Class.COMPUTE,
        evidence=(Name.FP64,),
        applies=lambda s: s[Name.FP64] > LIMIT.fp64,
        finding="it computes in double precision",
        suggestion="Compute in fp32: suffix constants with f, and call sqrtf, expf and their kin.",
    ),
    Rule(
        topic="warps that diverge",
        kind=Class.COMPUTE,
        evidence=(Name.LANES,),
        applies=lambda s: 0 < s[Name.LANES] < LIMIT.lanes,
        finding="the threads of a warp go different ways, so that most lanes idle at each instruction",
        suggestion="Remove the divergence: give all threads of a warp the same branch and equal work, by "
        "sorting or splitting the work by kind.",
    ),
    Rule(
        topic="arithmetic that sets the floor",
        kind=Class.COMPUTE,
        evidence=(Name.FLOOR_BYTES, Name.FLOOR_FLOPS, Name.TIMES_FLOOR),
        applies=lambda s: _is_arithmetic(s) and s[Name.TIMES_FLOOR] <= LIMIT.near_floor,
        finding="arithmetic sets its floor, and it is near it",
        suggestion="Use larger tiles, so that each value that is loaded takes part in more products.",
    ),
    Rule(
        topic="arithmetic that sets the floor",
        kind=Class.COMPUTE,
        evidence=(Name.FLOOR_BYTES, Name.FLOOR_FLOPS, Name.TIMES_FLOOR),
        applies=_is_arithmetic,
        finding="arithmetic sets its floor, and it is far from it",
        suggestion="Put the product on tensor cores by sums of split operands, tiled in shared memory.",
    ),
    Rule(
        topic="passes over memory that fusion would save",
        kind=Class.MEMORY,
        evidence=(Name.LAUNCHES, Name.TIMES_FLOOR),
        applies=lambda s: s[Name.LAUNCHES] > 1,
        finding="it passes over memory more often than the floor does",
        suggestion="Save a pass over memory: fuse the kernels that hand on the largest tensor.",
    ),
    Rule(
        topic="which roof its kernel is near",
        kind=Class.COMPUTE,
        evidence=(Name.SM, Name.MEMORY),
        applies=lambda s: s[Name.SM] > LIMIT.roof and s[Name.SM] > s[Name.MEMORY],
        finding="its kernel keeps the multiprocessors busier than memory",
        suggestion="Spend fewer instructions a value: cheaper functions, index arithmetic out of the loop, "
        "wider loads, tensor cores for products.",
    ),
    Rule(
        topic="which roof its kernel is near",
        kind=Class.MEMORY,
        evidence=(Name.SM, Name.MEMORY),
        applies=lambda s: s[Name.MEMORY] > LIMIT.roof,
        finding="its kernel keeps memory busier than the multiprocessors",
        suggestion="Move fewer bytes: read each value once, keep it in registers or shared memory, and load "
        "16 bytes a thread (float4).",
    ),
    Rule(
        topic="which roof its kernel is near",
        kind=Class.LATENCY,
        evidence=(Name.SM, Name.MEMORY, Name.OCCUPANCY, Name.STALL),
        applies=lambda _: True,
        finding="its kernel is far from bandwidth and arithmetic alike: its warps wait",
        suggestion="Put more work in flight: raise what limits occupancy, and start independent loads "
        "before the first of them is used.",
    ),
    Rule(
        topic="how near it is to bandwidth",
        kind=Class.MEMORY,
        evidence=(Name.TIMES_FLOOR,),
        applies=lambda s: s[Name.TIMES_FLOOR] <= LIMIT.near_floor,
        finding="one launch, near the floor of its bandwidth",
        suggestion="Load 16 bytes a thread (float4) with several independent loads in flight.",
    ),
    Rule(
        topic="how near it is to bandwidth",
        kind=Class.LATENCY,
        evidence=(),
        applies=lambda _: True,
        finding="one launch, far from bandwidth and arithmetic alike",
        suggestion="Put more work in flight: more blocks, independent loads, no chain of dependent ones.",
    ),
)
