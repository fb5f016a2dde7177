"""What the host asks of the oracle and of a guest, and what they answer: one JSON line each.

A request carries a nonce that its answer must repeat. Tensors travel in files (`tensorfile`), never in a
line.
"""

from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import Tolerance
from warpsmith.judge.model import Launch

REQUESTS_FD = "WARPSMITH_REQUESTS_FD"
ANSWERS_FD = "WARPSMITH_ANSWERS_FD"

EAGER, COMPILE, CANDIDATE = "eager", "compile", "candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """Are you there? Asked before anything of the task or the candidate is run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The program has imported torch."""

    python: str
    torch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Warm:
    """Call `program` until it has run for `warm_up_ms`; the first call may compile."""

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
    """Time `calls` calls of `program`, each on the next input set."""

    program: str
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One time a call."""

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


# --- the oracle ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Run the reference in `source` and put weights, constructor arguments and input sets into `folder`."""

    source: Path
    folder: Path
    device: str  # "cuda" or "cpu"
    seed: int
    num_inputs: int
    precision: str
    tolerance: Tolerance
    lend_bytes: int = 0  # of device memory, for input sets and answers; 0: they travel in files


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
    written_bytes: int  # of outputs, each once
    loan: Loan | None  # where input sets and answers lie, if not in files


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
class Compare:
    """Hold the outputs in a file against the reference's for input set `case`.

    `inputs` is the file that the candidate's inputs were mapped from, to see whether it changed them.
    """

    outputs: Path
    case: int
    inputs: Path | None


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


OracleRequest = Hello | Open | Lend | Compare | Warm | Time
OracleAnswer = Ready | Opened | Lent | Unusable | Compared | Warmed | Unavailable | Timed | Broken


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepare:
    """Make a CUDA context, and open the arena; before anything of the candidate's is run."""

    loan: Loan | None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The candidate stands and holds the reference's weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsDiffer:
    """The candidate's state_dict is not the reference's: names, and shapes as text."""

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    reshaped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """Call the candidate once, with poisoned memory, and write what it returns to `outputs`."""

    inputs: Path
    outputs: Path
    held: Path | None  # write the previous call's outputs here, as they are after this call
    is_late: bool  # on a GPU: let the inputs arrive only after the call, in the order of its stream
    max_bytes: int  # larger outputs are not written


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
class Raised:
    """The candidate's code raised; the end of its traceback."""

    log: str


GuestRequest = Hello | Prepare | Load | Forward | Count | Warm | Time
GuestAnswer = (
    Ready | Prepared | Loaded | WeightsDiffer | Ran | TooLarge | Counted | Warmed | Timed | Raised | Broken
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
