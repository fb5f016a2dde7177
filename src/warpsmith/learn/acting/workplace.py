"""Where a student works: tasks, a device with its judges, and how it is asked, as one object."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from warpsmith.agent.optimize import OptimizeConfig, open_bench
from warpsmith.agent.runs.resume import OpenBench
from warpsmith.core import Task
from warpsmith.core.codec import to_json
from warpsmith.device.lease import lease
from warpsmith.learn.acting.source import Acting
from warpsmith.learn.answering import Answering, Court, question_of_task
from warpsmith.learn.grading import Grading
from warpsmith.learn.recipes.base import Manner, Work
from warpsmith.learn.recorded import Shelf
from warpsmith.learn.rewards import make_rule
from warpsmith.learn.rubric import StaticRubric
from warpsmith.learn.sources import Source
from warpsmith.policy.local.template import Template


class Reader(Protocol):
    """Of a student, what others must know to talk to it."""

    @property
    def template(self) -> Template: ...

    @property
    def context_tokens(self) -> int: ...

    @property
    def vocabulary(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Its judges are opened by `config`, but for the budget, which is the work's; runs are left in `runs`."""

    tasks: Sequence[Task]
    work: Work
    config: OptimizeConfig
    runs: Path
    seed: int = 0  # of the order of tasks
    opened: OpenBench = open_bench
    draws_here: bool = True  # else replies are drawn on GPUs that nobody judges on

    def turn(self) -> AbstractContextManager[None]:
        """Held while replies are drawn: nobody may be timing on the same GPU."""
        return lease(self.config.device, is_exclusive=False) if self.draws_here else nullcontext()

    @property
    def data(self) -> str:
        """What a stage learns from, in words that change if any of it does."""
        digests = hashlib.sha256("".join(task.digest for task in self.tasks).encode()).hexdigest()
        return to_json({"work": self.work, "tasks": digests, "device": self.config.device.name})

    def source(self, student: Reader) -> Source:
        """What the student learns from. Raises UsageError for an unknown reward."""
        return SOURCES[self.work.manner](self, student)


def grading_of(reward: str) -> Grading:
    """By a static rubric, where one is needed. Raises UsageError for an unknown reward."""
    return Grading(rule=make_rule(reward), rubric=StaticRubric())


def shelf_of(student: Reader, reward: str) -> Shelf:
    """How runs become samples for `student`. Raises UsageError for an unknown reward."""
    return Shelf(template=student.template, grading=grading_of(reward), tokenizer=student.vocabulary)


def answering_of(place: Workplace, student: Reader) -> Answering:
    """A source of single turns."""
    work, config = place.work, place.config
    return Answering(
        questions=[question_of_task(task) for task in place.tasks],
        template=student.template,
        context_tokens=student.context_tokens,
        court=Court(opened=lambda task: place.opened(task, config)),
        grading=grading_of(work.reward),
        tokenizer=student.vocabulary,
        questions_per_step=work.tasks_per_step,
        samples_per_question=work.samples_per_task,
        seed=place.seed,
        turn=place.turn,
    )


def _acting(place: Workplace, student: Reader) -> Source:
    work, config = place.work, replace(place.config, budget=place.work.budget)
    return Acting(
        tasks=place.tasks,
        opened=lambda task: place.opened(task, config),
        config=config,
        shelf=shelf_of(student, work.reward),
        context_tokens=student.context_tokens,
        runs=place.runs,
        tasks_per_step=work.tasks_per_step,
        samples_per_task=work.samples_per_task,
        seed=place.seed,
        turn=place.turn,
    )


SOURCES: dict[Manner, Callable[[Workplace, Reader], Source]] = {
    Manner.AGENT: _acting,
    Manner.ANSWER: answering_of,
}
