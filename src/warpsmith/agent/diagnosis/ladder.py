"""The ladder of profilers: for the system and for its dominant kernel, the best one that works here.

    system   Nsight Systems, else torch.profiler, else nothing
    kernel   Nsight Compute, else what the compiler and the machine code tell, else nothing
    cpu      what that device counts, and what the compiler tells

A rung that gives nothing says why and what would change that; the figures that it would have brought are
unavailable for that reason. Nobody asks for more rights than there are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from warpsmith.agent.diagnosis import ncu, nsys, reading, sass, torch_trace, watching
from warpsmith.agent.diagnosis.figures import Figure, Name, Sheet, missing
from warpsmith.agent.diagnosis.metrics import Counter
from warpsmith.agent.diagnosis.trace import Trace, TraceError
from warpsmith.agent.diagnosis.watching import Unseen
from warpsmith.core.codec import from_json
from warpsmith.judge.profile import CpuCounts
from warpsmith.judge.trial import Trial

SYSTEM_FIGURES = (
    *(Name.BUSY, Name.IDLE, Name.KERNEL_TIME, Name.SYNCS, Name.COPIES, Name.COPIED, Name.COPY_TIME),
    *(Name.TOP_SHARE, Name.TOP_TIME, Name.BLOCKS, Name.SMS),
)
KERNEL_FIGURES = (
    *(Name.SM, Name.MEMORY, Name.DRAM, Name.TRAFFIC, Name.OCCUPANCY, Name.WAVES, Name.ELIGIBLE, Name.ISSUE),
    *(Name.STALL, Name.LANES, Name.USED_LOADED, Name.USED_STORED, Name.SECTORS_LOADED, Name.SECTORS_STORED),
    *(Name.CONFLICTS, Name.LOCAL, Name.FP64, Name.TENSOR, Name.L1_HITS, Name.L2_HITS),
)
STATIC_FIGURES = (Name.SPILLED, Name.REGISTERS, Name.SHARED)
NO_GPU = "the cpu device executes a kernel's source on the host: it has no clock of a GPU and no counters"
ON_A_GPU = "profile it on a machine with a GPU: --device cuda"
NO_LISTING = "the build holds no machine code that cuobjdump could list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One profiler, and whether it gave anything."""

    level: str  # "system" or "kernel"
    tool: str
    why_not: str = ""  # empty: it was used
    fix: str = ""

    @property
    def is_used(self) -> bool:
        return not self.why_not


@dataclass(slots=True)
class Climb:
    """What is found on the way up one candidate's ladder."""

    rungs: list[Rung] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    trace: Trace | None = None
    counted: ncu.Counted | None = None

    @property
    def sheet(self) -> Sheet:
        return Sheet(self.figures)

    @property
    def dominant(self) -> str | None:
        """The kernel that takes most of the time, where a trace or the counters tell."""
        if self.counted is not None:
            return reading.function_name(self.counted.kernel)
        kernel = self.trace.dominant() if self.trace is not None else None
        return None if kernel is None else reading.function_name(kernel.name)


def climb(trial: Trial) -> Climb:
    """All that can be found of a candidate that has passed. It is run once more for each profiler."""
    found = Climb()
    for step in STEPS[trial.device.kind]:
        step(trial, found)
    return found


def _system(trial: Trial, found: Climb) -> None:
    for tool, see in SYSTEM:
        try:
            found.trace = see(trial)
        except (Unseen, TraceError) as error:
            found.rungs.append(_missed("system", tool, error))
            continue
        found.rungs.append(Rung(level="system", tool=tool))
        found.figures += reading.of_trace(found.trace)
        return
    found.figures += missing(SYSTEM_FIGURES, *_told(found.rungs))


def _kernel(trial: Trial, found: Climb) -> None:
    try:
        launches = ncu.read(watching.by_ncu(trial, found.dominant))
    except (Unseen, ncu.CounterError) as error:
        missed = _missed("kernel", ncu.TOOL, error)
        found.rungs.append(missed)
        # After what a lower rung may still tell: of two figures of one name that with a value stands.
        found.figures += missing(KERNEL_FIGURES, missed.why_not, missed.fix)
        return
    found.counted = ncu.longest(launches, Counter.TIME)
    found.rungs.append(Rung(level="kernel", tool=ncu.TOOL))
    found.figures += reading.of_counters(found.counted)


def _compiler(trial: Trial, found: Climb) -> None:
    assert trial.build is not None
    told = list(reading.of_resources(trial.build.resources, found.dominant))
    if told:
        found.rungs.append(Rung(level="kernel", tool="ptxas"))
        found.figures += told
        return
    missed = Rung(
        level="kernel",
        tool="ptxas",
        why_not="the build came without the compiler's report",
        fix="pip install 'warpsmith[nvcc]', or install the CUDA toolkit; then build it anew",
    )
    found.rungs.append(missed)
    found.figures += missing(STATIC_FIGURES, missed.why_not, missed.fix)


def _machine_code(trial: Trial, found: Climb) -> None:
    """Only where no hardware counted: it tells the same, less well."""
    if found.counted is not None:
        return
    try:
        listings = sass.read(watching.by_cuobjdump(trial))
    except Unseen as error:
        found.rungs.append(_missed("kernel", sass.TOOL, error))
        return
    found.rungs.append(Rung(level="kernel", tool=sass.TOOL, why_not="" if listings else NO_LISTING))
    found.figures += reading.of_listings(listings, found.dominant)


def _cpu(trial: Trial, found: Climb) -> None:
    for level, tool in (("system", nsys.TOOL), ("system", torch_trace.TOOL), ("kernel", ncu.TOOL)):
        found.rungs.append(Rung(level=level, tool=tool, why_not=NO_GPU, fix=ON_A_GPU))
    try:
        found.figures += reading.of_cpu(from_json(CpuCounts, watching.by_counters(trial)))
        found.rungs.append(Rung(level="system", tool=CPU_TOOL))
    except (Unseen, ValueError, TypeError, RecursionError, OverflowError) as error:
        found.rungs.append(_missed("system", CPU_TOOL, error))
    found.figures += missing((*SYSTEM_FIGURES, *KERNEL_FIGURES), NO_GPU, ON_A_GPU)


def _missed(level: str, tool: str, error: Exception) -> Rung:
    """A rung that gave nothing. What a tool's file says is a stranger's word, so it is kept short."""
    fix = error.fix if isinstance(error, Unseen) else ""
    if str(error) == ncu.FORBIDDEN_WHY:
        fix = ncu.FORBIDDEN_FIX
    return Rung(level=level, tool=tool, why_not=f"{error}"[:400], fix=fix)


def _told(rungs: Iterable[Rung]) -> tuple[str, str]:
    """Why none of several rungs gave anything, and what would bring the first."""
    missed = [rung for rung in rungs if not rung.is_used]
    return "; ".join(f"{rung.tool}: {rung.why_not}" for rung in missed), missed[0].fix


CPU_TOOL = "the cpu device's counters"
SYSTEM: tuple[tuple[str, Callable[[Trial], Trace]], ...] = (
    (nsys.TOOL, lambda trial: nsys.read(watching.by_nsys(trial))),
    (torch_trace.TOOL, lambda trial: torch_trace.read(watching.by_torch(trial))),
)
STEPS: dict[str, tuple[Callable[[Trial, Climb], None], ...]] = {
    "cuda": (_system, _kernel, _compiler, _machine_code),
    "cpu": (_cpu, _compiler),
}
