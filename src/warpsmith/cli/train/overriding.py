"""A recipe as it was asked for on a command line: what was said replaces what it has."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from warpsmith.cli.spending import Caps
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.learn.config import GrpoConfig, LoopConfig, PpoConfig, SftConfig, ValueConfig
    from warpsmith.learn.recipes import Suite, Work

C = TypeVar("C", "SftConfig", "ValueConfig")
A = TypeVar("A", "PpoConfig", "GrpoConfig")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageWish:
    """Of how training goes. None was not said. Each method raises UsageError for what makes no sense."""

    steps: int | None = None
    lr: float | None = None
    seed: int | None = None
    max_reply_tokens: int | None = None

    def recorded(self, stage: C) -> C:
        stage = replace(stage, loop=self._loop(stage.loop))
        return stage if self.lr is None else replace(stage, descent=replace(stage.descent, lr=self.lr))

    def acted(self, stage: A) -> A:
        stage = replace(stage, loop=self._loop(stage.loop))
        if self.lr is not None:
            descent = replace(stage.update.descent, lr=self.lr)
            stage = replace(stage, update=replace(stage.update, descent=descent))
        if self.max_reply_tokens is not None:
            stage = replace(stage, sampling=replace(stage.sampling, max_tokens=self.max_reply_tokens))
        return stage

    def _loop(self, loop: "LoopConfig") -> "LoopConfig":
        return replace(
            loop,
            steps=loop.steps if self.steps is None else self.steps,
            seed=loop.seed if self.seed is None else self.seed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkWish:
    """Of what is worked on. None was not said."""

    suite: Path | None = None
    split: str | None = None
    limit: int | None = None
    manner: str | None = None
    reward: str | None = None
    tasks_per_step: int | None = None
    samples_per_task: int | None = None
    max_turns: int | None = None

    def applied(self, work: "Work") -> "Work":
        """Raises UsageError for a manner that is none."""
        from warpsmith.learn.recipes import Manner

        if self.manner is not None and self.manner not in tuple(Manner):
            raise UsageError(f"unknown manner {self.manner!r:.40}; choose one of {', '.join(Manner)}")
        return replace(
            work,
            suite=self._suite(work.suite),
            manner=work.manner if self.manner is None else Manner(self.manner),
            budget=Caps(max_turns=self.max_turns).applied(work.budget),
            reward=self.reward or work.reward,
            tasks_per_step=self.tasks_per_step or work.tasks_per_step,
            samples_per_task=self.samples_per_task or work.samples_per_task,
        )

    def _suite(self, suite: "Suite") -> "Suite":
        return replace(
            suite,
            store=self.suite or suite.store,
            split=self.split or suite.split,
            limit=self.limit or suite.limit,
        )
