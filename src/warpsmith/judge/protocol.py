"""What the host asks of the oracle and of a guest, and what they answer: one JSON line each.

A request carries a nonce that its answer must repeat. Tensors travel in files (`tensorfile`), never in a
line.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

from warpsmith.core import Dtype, Precision, PrecisionClass, Task, Tolerance
from warpsmith.core.audit import Finding
from warpsmith.judge.clock.model import Launch

REQUESTS_FD = "WARPSMITH_REQUESTS_FD"
ANSWERS_FD = "WARPSMITH_ANSWERS_FD"

EAGER, COMPILE, CANDIDATE = "eager", "compile", "candidate"
TWIN = "twin"  # a second copy of eager: the null control


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """Are you there? Asked before anything of the task or the candidate is run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The program has imported torch."""

    python: str
    torch: str


# --- the clock, of oracle and guest alike ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Warm:
    """Call `program` on the sets at hand until it has run for `warm_up_ms`; the first call may compile."""

    program: str
    warm_up_ms: float
    flush_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmed:
    """`call_us` is one call's time, with the cache flushed before it, for choosing the number of calls."""

    call_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """The program cannot be run; only torch.compile may be."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """Time `calls` calls of `program`, each on the next of the sets at hand; the outputs are held."""

    program: str
    calls: int
    waits: bool = False  # for the whole device after each call, not only after the last
    key: int | None = None  # of the veil over the sets at hand


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One time a call, by device events."""

    samples_us: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """Something of ours failed; never the candidate's fault."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loan:
    """An arena of device memory that another process may open: CUDA's IPC handle in hexadecimal.

    It begins with two parts for answers; what is left are parts for input sets.
    """

    handle: str
    num_bytes: int
    answer_bytes: int
    input_bytes: int

    @property
    def num_slots(self) -> int:
        """How many input sets it holds."""
        return (self.num_bytes - 2 * self.answer_bytes) // self.input_bytes

    def answers(self, index: int) -> tuple[int, int]:
        """Where the part for answer 0 or 1 begins and ends."""
        return index * self.answer_bytes, (index + 1) * self.answer_bytes

    def slot(self, index: int) -> tuple[int, int]:
        """Where the part for an input set begins and ends; indices wrap around."""
        start = 2 * self.answer_bytes + index % self.num_slots * self.input_bytes
        return start, start + self.input_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """How reference and candidate alike are run: the options of a `Task`."""

    precision: Precision = Precision.REFERENCE
    dtype: Dtype = Dtype.OWN
    is_training: bool = False
    has_backward: bool = False

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(
            precision=task.precision,
            dtype=task.dtype,
            is_training=task.is_training,
            has_backward=task.has_backward,
        )


# --- the oracle ---


class Control(StrEnum):
    """Answers whose verdict is known before they are judged."""

    CONSTANT = "constant-return"  # fails
    COPY = "copy-input"  # fails
    REFERENCE = "reference-as-candidate"  # passes


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Run the reference in `source` and put weights, constructor arguments and input sets into `folder`."""

    source: Path
    folder: Path
    device: str  # "cuda" or "cpu"
    seed: int
    num_inputs: int
    tolerance: Tolerance
    regime: Regime = Regime()
    lend_bytes: int = 0  # of device memory, for input sets and answers; 0: they travel in files


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTensor:
    """An input or a weight; an input's name is its place among the arguments."""

    name: str
    shape: tuple[int, ...]
    dtype: str  # torch's name: "float32"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What is known of the reference once it has run.

    `eager` and `compiled` are its kernel launches as recorded and as fused by the model of torch.compile.
    """

    output_bytes: int  # of the largest set
    has_truth: bool
    makes_on_device: bool  # False: the reference had to be built on the CPU and moved
    environment: dict[str, str]  # torch's settings that decide how it computes
    eager: tuple[Launch, ...]
    compiled: tuple[Launch, ...]
    read_bytes: int  # of inputs and parameters that any kernel reads, each once
    input_bytes: int  # of inputs alone
    written_bytes: int  # of outputs, each once
    loan: Loan | None  # where input sets and answers lie, if not in files
    inputs: tuple[NamedTensor, ...]  # of the first set
    weights: tuple[NamedTensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Look for what is wrong with a task, for about `budget_s`; the folder of `open` is left as it is."""

    open: Open
    budget_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What was found, as in `TaskAudit`."""

    inputs: tuple[str, ...]
    findings: tuple[Finding, ...]
    num_forwards: int
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretend:
    """Write an answer to input set `case` that `Control` names, as a guest would; never for a candidate."""

    control: Control
    case: int
    outputs: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretended:
    """It is there, unless there is none of its kind."""

    is_there: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """The task cannot be judged; one line that says why and what to change."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lend:
    """Put input set `case` into a slot of the arena, and its header into the new file `inputs`."""

    case: int
    slot: int
    inputs: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Lent:
    """It is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOtherSize:
    """Run the reference from the first of `sources` whose inputs have another size, with the weights that it
    has; put those inputs where a guest finds them by the new file `inputs`.
    """

    sources: tuple[str, ...]
    inputs: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Resized:
    """The inputs are there; `index` is the source that they came from."""

    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deal:
    """Make an input set from each seed, for the oracle's own calls; each file of `inputs` says where a guest
    finds one of them. In lent memory it lies under the veil of `key`, if there is one: nothing can be
    computed from it before `Time` tells the key. Without files, make them for later.
    """

    seeds: tuple[int, ...]
    inputs: tuple[Path, ...]
    key: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealt:
    """`making_s` is what the sets took that were not at hand from before.

    If not `is_new`, the files are as they were at the last `Deal`: only what lies in lent memory is another.
    """

    making_s: float
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """Hold the outputs in a file against the reference's for input set `case`, or the one made from `seed`.

    `inputs` is the file that the candidate's inputs were mapped from, to see whether it changed them.
    """

    outputs: Path
    case: int
    inputs: Path | None
    seed: int | None = None
    is_resized: bool = False  # against the inputs of another size instead


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How an answer is not the reference's."""

    what: str
    message: str
    error: float | None = None
    allowed: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The largest error of the output nearest to its bound, or over it."""

    error: float
    reference_error: float
    allowed: float
    difference: Difference | None
    precision: PrecisionClass | None = None  # the coarsest of all outputs; None if it cannot be told


OracleRequest = Hello | Open | Audit | Pretend | Lend | AtOtherSize | Compare | Deal | Warm | Time
OracleAnswer = (
    Ready
    | Opened
    | Audited
    | Pretended
    | Lent
    | Resized
    | Unusable
    | Compared
    | Warmed
    | Unavailable
    | Timed
    | Dealt
    | Broken
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleCall:
    """A request to the oracle on its way."""

    nonce: str
    request: OracleRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleReply:
    """The oracle's answer on its way."""

    nonce: str
    answer: OracleAnswer


# --- the guest ---


class Ablation(StrEnum):
    """Ways to take away what a candidate's kernels do, the better first."""

    KERNELS = "kernels"  # its own kernels do not run; all else does
    RESULTS = "results"  # what its extension's functions write or return is overwritten


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepare:
    """Make a CUDA context, and open the arena; before anything of the candidate's is run.

    From then on it can be asked to time no call at all, which wakes the GPU for it.
    """

    loan: Loan | None
    flush_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """`why_not` says why the arena cannot be opened from there."""

    why_not: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Import the candidate, construct it and give it the reference's weights."""

    candidate: Path  # folder of model_new.py
    extension: Path  # folder of cuda_extension.py
    arguments: Path  # tensor file of the constructor's arguments
    weights: Path  # tensor file of the reference's state_dict
    inputs: tuple[Path, ...]  # all input sets, for the clock
    device: str
    makes_on_device: bool
    regime: Regime = Regime()


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The candidate stands and holds the reference's weights."""

    flipped: tuple[str, ...] = ()  # torch's settings that its code changed


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsDiffer:
    """The candidate's state_dict is not the reference's: names, and shapes as text."""

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    reshaped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """Call the candidate once and write what it returns to `outputs`.

    A plain call is one as the clock makes them: on the tensors of the call before, which are given these
    contents, in memory that holds old numbers, and nobody listens. Any other is on fresh tensors, in poisoned
    memory, and watched.
    """

    inputs: Path
    outputs: Path
    max_bytes: int  # larger outputs are not written
    is_late: bool = False  # on a GPU: let the inputs arrive after the call, in the order of its stream
    is_plain: bool = False
    keep_as: int | None = None  # the number by which `Recall` asks for what was returned


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """A torch operator that computes, run by the candidate, and the line that called it."""

    operator: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The candidate returned. All of this is the guest's claim."""

    changed_inputs: tuple[int, ...]
    changed_parameters: tuple[str, ...]
    computed: tuple[Computed, ...]
    flipped: tuple[str, ...] = ()  # torch's settings that it changed and left so


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Write once more what a call returned, as it is by now, and let go of it."""

    kept_as: int
    outputs: Path
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """It is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge:
    """The outputs hold more bytes than was asked for."""

    num_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Call the candidate once and count its kernel launches (and, on the cpu device, their traffic)."""

    inputs: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A record a launcher call on the cpu device; on a GPU only the number of kernels, if it could be had."""

    launches: tuple[Launch, ...]
    num_launches: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observe:
    """Call the candidate once and say whose kernels ran.

    On a GPU they are read off a CUDA graph, which holds nothing of what is launched on the legacy default
    stream; or, `with_profiler`, from CUPTI, which takes a second or so to start.
    """

    inputs: Path
    with_profiler: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRun:
    """All launches of one kernel in a call. On the cpu device a kernel's name is as the source spells it."""

    name: str
    device_us: float | None = None  # by the profiler, if it was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The kernels of one call in the order of their first launch, and torch's products and convolutions."""

    kernels: tuple[KernelRun, ...]
    libraries: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablate:
    """Call the candidate once without what its own kernels do, and write what it then returns.

    The inputs are best others than those of the last call, whose results may lie in buffers that it keeps.
    """

    how: Ablation
    inputs: Path
    outputs: Path
    own_kernels: tuple[str, ...]  # among those observed
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablated:
    """What came of it."""

    is_possible: bool  # False: its kernels cannot be reached this way, and nothing is to be made of it
    has_answer: bool = False  # False: it raised, or returned something that is not worth writing down
    own_share: float | None = None  # of the call's device time, where it was measured on the way


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Have these input sets at hand for `Warm` and `Time`, and let go of outputs that are still held."""

    inputs: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """They are at hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """Hand over what the last `Time`'s call number `call` returned, or the last `Count`'s as call 0."""

    call: int
    outputs: Path
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """It was handed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """The candidate's code raised; the end of its traceback."""

    log: str


GuestRequest = (
    Hello | Prepare | Load | Forward | Recall | Observe | Ablate | Count | Place | Warm | Time | Show
)
GuestAnswer = (
    Ready
    | Prepared
    | Loaded
    | WeightsDiffer
    | Ran
    | Recalled
    | TooLarge
    | Observed
    | Ablated
    | Counted
    | Warmed
    | Timed
    | Placed
    | Shown
    | Raised
    | Broken
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestCall:
    """A request to a guest on its way."""

    nonce: str
    request: GuestRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestReply:
    """A guest's answer on its way."""

    nonce: str
    answer: GuestAnswer
