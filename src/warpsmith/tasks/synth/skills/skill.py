"""Atomic skills as data: a sub-task written from scratch, and a program that is better after feedback.

They are StitchCUDA's two (arXiv 2603.02637): what a planner hands to a coder, and what a coder makes of what
it is told. Both are judged as any task is.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from warpsmith.core import Candidate, Passed, Provenance, Task, Verdict
from warpsmith.core.codec import to_json
from warpsmith.tasks.synth.base import Shape


class Kind(StrEnum):
    """What is practised."""

    FROM_SCRATCH = "from scratch"
    REPAIR = "repair"  # the program before was wrong
    OPTIMISE = "optimise"  # the program before was right, and slower


class Role(StrEnum):
    """What a tensor is to a program."""

    INPUT = "input"
    PARAMETER = "parameter"  # or a buffer: it has a name in the state_dict
    OUTPUT = "output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """A tensor that a program is given or returns. It is contiguous: its last size is next to itself."""

    name: str  # of forward's argument, or in the state_dict; "out" for what is returned
    role: Role
    shape: Shape
    dtype: str  # as torch calls it: "float32"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a sub-task's program has to keep to, beside what its task says: the task holds tolerances."""

    operands: tuple[Operand, ...]  # inputs, parameters, the output; shapes as the task's file has them
    launcher: str  # the C signature to be filled in

    def of(self, role: Role) -> tuple[Operand, ...]:
        """The operands of one role."""
        return tuple(operand for operand in self.operands if operand.role is role)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubTask:
    """One operator, or a few in sequence, taken out of a larger task."""

    name: str
    operators: tuple[str, ...]  # as `similarity` calls them, in an order in which they may run
    task: Task
    contract: Contract
    template: Candidate  # launcher form, with a launcher that launches nothing
    origin: str  # the digest of the task that it was taken out of

    @property
    def kind(self) -> Kind:
        """It is always written from scratch."""
        return Kind.FROM_SCRATCH

    @property
    def digest(self) -> str:
        """A key over all that is asked."""
        return _digest(self.kind, self.task.digest, self.template.digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A program, what was said of it, and the program that came next and was right."""

    task: Task
    before: Candidate
    verdict_before: Verdict
    feedback: str  # as its writer read it
    after: Candidate
    verdict_after: Passed
    origin: str  # the run's folder, by its name
    turns: tuple[int, int]  # of the two verdicts, from 1

    @property
    def kind(self) -> Kind:
        """By what the program before was."""
        return Kind.OPTIMISE if isinstance(self.verdict_before, Passed) else Kind.REPAIR

    @property
    def name(self) -> str:
        """What its task is called."""
        return self.task.task_id

    @property
    def speedup(self) -> float | None:
        """The median time before over the one after; None unless both were timed, alike and for one GPU."""
        return speedup(self.verdict_before, self.verdict_after)

    @property
    def digest(self) -> str:
        """A key over what is asked and what was answered: a lesson of two runs is one."""
        return _digest(self.kind, self.task.digest, self.before.digest, self.feedback, self.after.digest)


Skill = SubTask | Lesson


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What gives no skill: a task, a part of one, a run, or two turns of one."""

    where: str
    why: str


def speedup(before: Verdict, after: Verdict) -> float | None:
    """How much faster `after` is; None unless both passed and were timed alike: measured, or modelled."""
    timings = [verdict.timing if isinstance(verdict, Passed) else None for verdict in (before, after)]
    match timings:
        case [slow, fast] if slow is not None and fast is not None:
            is_alike = (slow.provenance, slow.gpu) == (fast.provenance, fast.gpu)
            return slow.candidate.median_us / fast.candidate.median_us if is_alike else None
        case _:
            return None


def provenance(skill: Skill) -> Provenance | None:
    """Whether its speed-up was measured or modelled; None if it has none."""
    if isinstance(skill, SubTask) or skill.speedup is None or skill.verdict_after.timing is None:
        return None
    return skill.verdict_after.timing.provenance


def _digest(*parts: str) -> str:
    return hashlib.sha256(to_json(parts).encode()).hexdigest()
