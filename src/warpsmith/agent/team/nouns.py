"""What a team passes on: a plan and its sub-tasks, a diagnosis with its evidence, and where to go next."""

from dataclasses import dataclass
from enum import StrEnum

from warpsmith.agent.diagnosis.figures import Figure


class Member(StrEnum):
    """Who of a team speaks."""

    PLANNER = "planner"
    CODER = "coder"
    VERIFIER = "verifier"


class Kind(StrEnum):
    """How a team is made up."""

    TEAM = "team"  # planner, coder, verifier
    PAIR = "pair"  # coder and verifier: whole programs, one piece of feedback a round


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a sub-task's kernels take and give: words of the planner, held against nothing but the judge."""

    shapes: str = ""
    layouts: str = ""
    dtypes: str = ""
    tolerances: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubTask:
    """One thing to do. The program is whole before and after it: the judge knows no parts."""

    name: str
    what: str
    contract: Contract = Contract()
    hint: str = ""
    target: float | None = None  # eager's time over the program's, once it is done; None: the run's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Sub-tasks in their order; one at least."""

    summary: str
    sub_tasks: tuple[SubTask, ...]


class Outcome(StrEnum):
    """What became of an iteration's program."""

    NOTHING = "no program"  # there is none to be built
    NOT_BUILT = "not built"
    WRONG = "wrong"  # it crashed, timed out, broke a rule, or computes something else
    SLOW = "slow"  # right, and below the target
    GOOD = "good"  # right, and at the target


class Bottleneck(StrEnum):
    """What keeps a program from being done, or from being faster."""

    BUILD = "build"
    CORRECTNESS = "correctness"
    MEMORY = "memory"  # its bandwidth
    COMPUTE = "compute"  # arithmetic rates
    LATENCY = "latency"  # few launches far from any roof
    LAUNCH = "launch"  # the number of launches
    HOST = "host"  # the processor's side of a call
    NONE = "none"  # it is at its floor


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What was found in one program, and exactly one thing to do about it."""

    bottleneck: Bottleneck
    evidence: tuple[Figure, ...]
    finding: str  # the evidence in a sentence
    suggestion: str
    by: str = "rules"  # or the verifier's name


class Route(StrEnum):
    """Where a team goes next."""

    CODING = "coding"  # the same sub-task again
    NEXT_TASK = "next_task"
    REPLAN = "replan"
    FINAL_TEST = "final_test"
    STOP = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How long a team works, and when it changes its mind."""

    max_iterations: int = 15
    num_failures: int = 2  # in a row, then the plan is at fault
    small_change: float = 0.05  # of the time; two results that differ by less are the same
    target: float = 1.0  # the better baseline's time over the program's
    max_replans: int = 2
    coder_turns: int = 64  # replies in one iteration; the builtin policy's longest search takes 55
    other_turns: int = 8  # of planner or verifier at a time, with what they look up


PAIR_RHYTHM = Rhythm(max_iterations=10)
"""CudaForge's number of rounds (arXiv 2511.01884)."""
