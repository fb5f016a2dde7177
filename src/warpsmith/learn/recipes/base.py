"""What a recipe fixes: all that a stage of training depends on, beside the student it begins with."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from warpsmith.agent.budget import Budget
from warpsmith.core import UsageError
from warpsmith.learn.config import GrpoConfig, PpoConfig, SftConfig, ValueConfig


class Manner(StrEnum):
    """How a student works on a task."""

    AGENT = "agent"  # with the agent's tools, for as many turns as its budget has
    ANSWER = "answer"  # one prompt, one reply with whole files


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Tasks of one side of a store. Raises UsageError for a limit that leaves none."""

    store: Path  # a Parquet file, as `warpsmith synth` and `warpsmith tasks import` write them
    split: str = "train"  # "validation" to choose a checkpoint by, "test" for nothing but the last figure
    limit: int | None = None  # the first so many

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"a suite of {self.limit} tasks is none; leave the limit out for all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a student works on in a step, what it may spend, and what that earns."""

    suite: Suite
    reward: str = "milestone"  # of `learn.rewards`; one that needs a rubric gets the static one
    manner: Manner = Manner.AGENT
    budget: Budget = field(default_factory=Budget)  # of one episode of the agent
    tasks_per_step: int = 4
    samples_per_task: int = 8

    def __post_init__(self) -> None:
        if min(self.tasks_per_step, self.samples_per_task) < 1:
            raise UsageError("tasks_per_step and samples_per_task must be 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class SftRecipe:
    """Imitation of samples in a file."""

    verb: ClassVar[str] = "sft"

    stage: SftConfig
    above: float | None = 0.0  # what a sample must have earned; None: whatever it has


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRecipe:
    """A critic's fit to samples in a file, good and bad ones."""

    verb: ClassVar[str] = "value"

    stage: ValueConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class PpoRecipe:
    """Learning from one's own work, with a critic."""

    verb: ClassVar[str] = "ppo"

    stage: PpoConfig
    work: Work


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpoRecipe:
    """Learning from one's own work, tries at one task held against each other."""

    verb: ClassVar[str] = "grpo"

    stage: GrpoConfig
    work: Work


Recipe = SftRecipe | ValueRecipe | PpoRecipe | GrpoRecipe
