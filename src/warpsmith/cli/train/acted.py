"""`warpsmith train ppo` and `grpo`: what a student learns from its own work on tasks."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from warpsmith.cli import asking, options, spending
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.spending import Caps
from warpsmith.cli.train.choices import (
    ModelOption,
    PerStepOption,
    PerTaskOption,
    RateOption,
    RewardOption,
    RunOption,
    SeedOption,
    StepsOption,
    TasksOption,
)
from warpsmith.cli.train.telling import carry_out, read_student, shelf_of, suited

if TYPE_CHECKING:
    from warpsmith.learn.acting import Acting
    from warpsmith.learn.config import GrpoConfig, PpoConfig
    from warpsmith.learn.engines.local.stage import Stage
    from warpsmith.learn.engines.local.student import Student

C = TypeVar("C", "PpoConfig", "GrpoConfig")

PPO_EXAMPLES = (
    "warpsmith train ppo --model runs/sft/final/actor --critic runs/value/final/critic "
    "--task a.py --task b.py --run runs/ppo",
)
GRPO_EXAMPLES = ("warpsmith train grpo --model runs/sft/final/actor --task a.py --run runs/grpo",)


def ppo(
    *,
    model: ModelOption,
    critic: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A critic of train value. (default: a fresh one)")
    ] = None,
    task: TasksOption,
    run: RunOption,
    steps: StepsOption = 150,
    lr: RateOption = None,
    seed: SeedOption = 0,
    reward: RewardOption = "milestone",
    tasks_per_step: PerStepOption = 4,
    samples_per_task: PerTaskOption = 8,
    max_turns: spending.TurnsOption = None,
    max_reply_tokens: asking.ReplyTokensOption = None,
    device: options.DeviceOption = "auto",
    sandbox: options.SandboxOption = "auto",
    json: options.JsonOption = False,
) -> ExitCode:
    """Let the student work on tasks with the agent's tools, and learn from the judge with a critic.

    Each episode leaves its own run folder, in RUN-episodes beside the training's.
    """
    from warpsmith.learn.engines.local import critic as critics
    from warpsmith.learn.engines.local.ppo import Ppo
    from warpsmith.learn.recipes import cuda_agent

    place = _Workplace(
        tasks=tuple(task),
        reward=reward,
        device=device,
        sandbox=sandbox,
        max_turns=max_turns,
        tasks_per_step=tasks_per_step,
        samples_per_task=samples_per_task,
        seed=seed,
        runs=run.with_name(f"{run.name}-episodes"),
    )

    def stage() -> "Stage":
        student = read_student(model)
        config = cuda_agent.agentic(steps, seed)
        judge = critics.fresh(student.model) if critic is None else critics.read(critic, student.device)
        return Ppo(student, judge, place.source(student), _acted(config, student, lr, max_reply_tokens))

    return carry_out(Console(is_json=json), run, stage)


def grpo(
    *,
    model: ModelOption,
    task: TasksOption,
    run: RunOption,
    steps: StepsOption = 75,
    lr: RateOption = None,
    seed: SeedOption = 0,
    reward: RewardOption = "shaped",
    tasks_per_step: PerStepOption = 4,
    samples_per_task: PerTaskOption = 8,
    max_turns: spending.TurnsOption = None,
    max_reply_tokens: asking.ReplyTokensOption = None,
    device: options.DeviceOption = "auto",
    sandbox: options.SandboxOption = "auto",
    json: options.JsonOption = False,
) -> ExitCode:
    """The same without a critic: episodes of one task are held against each other."""
    from warpsmith.learn.engines.local.grpo import Grpo
    from warpsmith.learn.recipes import stitchcuda

    place = _Workplace(
        tasks=tuple(task),
        reward=reward,
        device=device,
        sandbox=sandbox,
        max_turns=max_turns,
        tasks_per_step=tasks_per_step,
        samples_per_task=samples_per_task,
        seed=seed,
        runs=run.with_name(f"{run.name}-episodes"),
    )

    def stage() -> "Stage":
        student = read_student(model)
        config = stitchcuda.skills(steps, seed)
        return Grpo(student, place.source(student), _acted(config, student, lr, max_reply_tokens))

    return carry_out(Console(is_json=json), run, stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workplace:
    """What a student works on, and where: as it was said on a command line."""

    tasks: tuple[str, ...]
    reward: str
    device: str
    sandbox: str
    max_turns: int | None
    tasks_per_step: int
    samples_per_task: int
    seed: int
    runs: Path

    def source(self, student: "Student") -> "Acting":
        from warpsmith.agent import Budget
        from warpsmith.agent.optimize import OptimizeConfig, open_bench
        from warpsmith.device import select_device
        from warpsmith.learn.acting import Acting
        from warpsmith.tasks import load_task

        chosen = select_device(self.device)
        budget = Caps(max_turns=self.max_turns).applied(Budget())
        config = OptimizeConfig(device=chosen, sandbox=self.sandbox, budget=budget)
        return Acting(
            tasks=[load_task(task, device_kind=chosen.kind) for task in self.tasks],
            opened=lambda task: open_bench(task, config),
            config=config,
            shelf=shelf_of(student, self.reward),
            context_tokens=student.context_tokens,
            runs=self.runs,
            tasks_per_step=self.tasks_per_step,
            samples_per_task=self.samples_per_task,
            seed=self.seed,
        )


def _acted(config: C, student: "Student", lr: float | None, max_reply_tokens: int | None) -> C:
    """A recipe as it was asked for on a command line."""
    if lr is not None:
        config = replace(config, update=replace(config.update, descent=replace(config.update.descent, lr=lr)))
    if max_reply_tokens is not None:
        config = replace(config, sampling=replace(config.sampling, max_tokens=max_reply_tokens))
    return replace(config, memory=suited(config.memory, student))
