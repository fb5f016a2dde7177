"""What `warpsmith rollout` and `warpsmith eval` share: a policy over a suite, as a command line names it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli.asking import Manner
from warpsmith.cli.console import Console
from warpsmith.cli.train.choices import SUITE_PANEL
from warpsmith.cli.train.overriding import WorkWish
from warpsmith.cli.writers import Prices, Writer, check_writes, probed, writer_of
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.agent.optimize import OptimizeConfig
    from warpsmith.core import Task
    from warpsmith.learn.engines.local.student import Student
    from warpsmith.learn.evaluation.rollouts import Rolled, Rolling, Rollouts, Throughput
    from warpsmith.learn.recipes import Work
    from warpsmith.policy.base import Sampling

LOCAL = "local"

SuiteOption = Annotated[
    Path,
    typer.Option("--suite", metavar="STORE.parquet", help="Tasks of a store.", rich_help_panel=SUITE_PANEL),
]
PolicyOption = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="local:DIR|builtin|openai:NAME|…",
        help="Who writes. local: all rollouts' tokens are drawn together.",
    ),
]
ReaderOption = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="DIR",
        help="Whose tokens samples are made in, for a policy that has none of its own. (default: no samples)",
    ),
]
ParallelOption = Annotated[
    int, typer.Option("--parallel", min=1, help="Tasks at a time, each with all of its rollouts.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """What was asked for; `wish` says on what, how often, by which reward."""

    policy: str
    wish: WorkWish
    manner: Manner
    device: str
    sandbox: str
    out: Path
    reader: Path | None = None

    @property
    def work(self) -> "Work":
        """Raises UsageError for a suite that is none, or an unknown manner."""
        from warpsmith.learn.recipes import Suite, Work

        assert self.wish.suite is not None
        return self.wish.applied(Work(suite=Suite(store=self.wish.suite)))

    def carried_out(self, console: Console) -> "Rollouts":
        """Roll out what is left, with a line a batch. Raises as `roll` does, and for what makes no sense."""
        from warpsmith.agent.optimize import OptimizeConfig
        from warpsmith.device import select_device
        from warpsmith.learn.acting import grading_of
        from warpsmith.learn.acting.suites import tasks_of
        from warpsmith.learn.evaluation.rollouts import Plan, roll
        from warpsmith.sandbox import pick

        device = select_device(self.device)
        console.warn(pick(self.sandbox).warning)
        grading_of(self.work.reward)  # an unknown one is told before anything is written
        tasks = tasks_of(self.work.suite, device.kind)
        config = OptimizeConfig(device=device, sandbox=self.sandbox, policy=self.policy)
        sampling, rolling = self._rolling(console, config, tasks[0])
        plan = Plan(
            policy=self.policy,
            work=self.work,
            sampling=sampling,
            device=device.name,
            tasks=tuple(task.digest for task in tasks),
            reader="" if self.reader is None else str(self.reader),
        )
        console.note(f"{len(tasks)} tasks, {self.work.samples_per_task} rollouts each: {self.out}")
        return roll(plan, tasks, rolling, self.out, _teller(console))

    def _rolling(
        self, console: Console, config: "OptimizeConfig", task: "Task"
    ) -> "tuple[Sampling, Rolling]":
        from warpsmith.policy import PolicyConfig

        kind, _, place = self.policy.partition(":")
        asked = self.manner.applied(PolicyConfig(gpu=config.device.gpu, precision=task.precision))
        if kind == LOCAL:
            return self._student(console, config, place, asked.sampling)
        check_writes((self.policy,), task)
        writer = writer_of(self.policy, asked, Prices(), needs_price=False)
        return self._teacher(probed(console, writer), config)

    def _student(
        self, console: Console, config: "OptimizeConfig", place: str, sampling: "Sampling"
    ) -> "tuple[Sampling, Rolling]":
        from warpsmith.learn.evaluation.rolling import student_rolling

        if not place:
            raise UsageError("the local policy needs a model's folder; write local:DIR")
        with console.busy("reading the model"):
            student = _read(Path(place))
        return sampling, student_rolling(student, self.work, sampling, config)

    def _teacher(self, writer: Writer, config: "OptimizeConfig") -> "tuple[Sampling, Rolling]":
        from warpsmith.agent.attempts.parallel import seeded
        from warpsmith.learn.evaluation.rolling import TeacherRolling

        rolling = TeacherRolling(
            made=lambda number: replace(writer, config=seeded(writer.config, number)).policy(),
            work=self.work,
            config=replace(config, policy_config=writer.config),
            reader=None if self.reader is None else _read(self.reader),
        )
        rolling.made(1)  # likewise a policy that cannot be made
        return writer.config.sampling, rolling


def throughput_text(done: "Throughput") -> str:
    """What this process came to a minute; empty if everything was there already."""
    if not done.num_attempts:
        return "nothing was left to do"
    counts = {"rollouts": done.num_attempts, "verdicts": done.num_verdicts, "tokens": done.num_tokens}
    told = ", ".join(f"{done.a_minute(count):.3g} {what}" for what, count in counts.items())
    return f"a minute: {told} ({done.wall_s:.0f} s)"


def _read(model: Path) -> "Student":
    from warpsmith.learn.engines.local.student import student_of

    return student_of(model)


def _teller(console: Console) -> "Callable[[int, int, Rolled], None]":
    def tell(number: int, total: int, rolled: "Rolled") -> None:
        passed = sum(attempt.has_passed for attempt in rolled.attempts)
        console.note(f"batch {number} of {total}: {passed} of {len(rolled.attempts)} passed")

    return tell
