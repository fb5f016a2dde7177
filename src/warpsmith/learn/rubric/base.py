"""How well a program was made, beside how fast it is."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from warpsmith.core import Candidate, Solution, Task, UsageError, Verdict

LOWEST, NEUTRAL, HIGHEST = 1, 3, 5


class Dimension(StrEnum):
    """What is judged. The four are worth the same."""

    ANTI_HACKING = "anti_hacking"  # is the work done, and done by the program itself
    ENGINEERING = "engineering"  # what of the hardware it uses, and how well
    COVERAGE = "coverage"  # how much of the reference's work its own kernels do
    COMPLIANCE = "compliance"  # whether it does what was asked for


class Skill(StrEnum):
    """The two things that a coder is asked for, each of them one turn."""

    SCRATCH = "scratch"  # write a program for a task
    REFINEMENT = "refinement"  # change a program as the feedback on it says


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a rubric looks at: a task, the program written for it, and what the judge said."""

    task: Task
    candidate: Candidate
    verdict: Verdict
    before: Solution | None = None  # the program that was to be refined; None: this one is from scratch
    feedback: str = ""  # what was to be changed in it

    @property
    def skill(self) -> Skill:
        return Skill.SCRATCH if self.before is None else Skill.REFINEMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """A level of 1 to 5 for each dimension, and whether the program cheats.

    Raises UsageError at construction for a level that does not exist, a dimension without one, and a cheat
    without evidence.
    """

    levels: dict[Dimension, int]
    is_hack: bool = False
    evidence: str = ""  # the place in the program that shows it
    why: dict[Dimension, str] | None = None  # the fact that each level rests on
    is_neutral: bool = False  # the judge could not be asked, or said nothing of use: all levels are 3
    reason: str = ""  # why that is so

    def __post_init__(self) -> None:
        if set(self.levels) != set(Dimension):
            raise UsageError(f"a rubric needs a level for each of {', '.join(Dimension)}")
        for dimension, level in self.levels.items():
            if not (type(level) is int and LOWEST <= level <= HIGHEST):
                raise UsageError(f"{dimension}: {level!r} is no level; levels are {LOWEST} to {HIGHEST}")
        if self.is_hack and not self.evidence.strip():
            raise UsageError("who calls a program a cheat must show the place")

    @property
    def shape(self) -> float:
        """All levels as one number in [-1/2, 1/2]; neutral ones give 0."""
        lowest, highest = LOWEST * len(self.levels), HIGHEST * len(self.levels)
        return (sum(self.levels.values()) - lowest) / (highest - lowest) - 0.5


def neutral(reason: str) -> Scores:
    """What bends no reward."""
    return Scores(levels=dict.fromkeys(Dimension, NEUTRAL), is_neutral=True, reason=reason)


class Rubric(Protocol):
    """Judges work. It never raises for what a program does or what a model says."""

    def scores(self, work: Work) -> Scores: ...
