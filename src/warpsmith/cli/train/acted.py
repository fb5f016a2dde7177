"""`warpsmith train ppo` and `grpo`: what a student learns from its own work on tasks."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from warpsmith.cli import asking, options, spending
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.train import engines
from warpsmith.cli.train.choices import (
    LimitOption,
    MannerOption,
    ModelOption,
    PerStepOption,
    PerTaskOption,
    RateOption,
    RecipeOption,
    RewardOption,
    RunOption,
    SeedOption,
    SplitOption,
    StepsOption,
    SuiteOption,
    TasksOption,
)
from warpsmith.cli.train.overriding import StageWish, WorkWish
from warpsmith.cli.train.telling import carry_out, read_student
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.core import Task
    from warpsmith.learn.acting import Workplace
    from warpsmith.learn.config import GrpoConfig, PpoConfig
    from warpsmith.learn.engines.local.stage import Stage
    from warpsmith.learn.engines.local.student import Student
    from warpsmith.learn.recipes import Work

C = TypeVar("C", "PpoConfig", "GrpoConfig")

PPO_RECIPE = "agentic_ppo_qwen05b_h200"
GRPO_RECIPE = "rubric_grpo_qwen05b_h200"

PPO_EXAMPLES = (
    "warpsmith train ppo --recipe warmup_ppo_qwen05b_h200 --model runs/sft/final/actor --run runs/warmup",
    "warpsmith train ppo --model runs/sft/final/actor --critic runs/value/final/critic "
    "--task a.py --task b.py --run runs/ppo",
)
GRPO_EXAMPLES = (
    "warpsmith train grpo --recipe rubric_grpo_qwen05b_h200 --suite skills.parquet "
    "--model runs/sft/final/actor --run runs/grpo",
)


def ppo(
    *,
    model: ModelOption,
    critic: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A critic of train value. (default: a fresh one)")
    ] = None,
    run: RunOption,
    recipe: RecipeOption = PPO_RECIPE,
    suite: SuiteOption = None,
    split: SplitOption = None,
    limit: LimitOption = None,
    task: TasksOption = None,
    manner: MannerOption = None,
    steps: StepsOption = None,
    lr: RateOption = None,
    seed: SeedOption = None,
    reward: RewardOption = None,
    tasks_per_step: PerStepOption = None,
    samples_per_task: PerTaskOption = None,
    max_turns: spending.TurnsOption = None,
    max_reply_tokens: asking.ReplyTokensOption = None,
    device: options.DeviceOption = "auto",
    sandbox: options.SandboxOption = "auto",
    engine: engines.EngineOption = "local",
    nodes: engines.NodesOption = None,
    gpus: engines.GpusOption = None,
    judge_gpu: engines.JudgeGpuOption = None,
    dry_run: engines.DryRunOption = False,
    json: options.JsonOption = False,
) -> ExitCode:
    """Let the student work on tasks, and learn from the judge with a critic.

    Each episode of the agent leaves its own run folder, in RUN-episodes beside the training's.
    """
    from warpsmith.learn.engines.local import critic as critics
    from warpsmith.learn.engines.local.ppo import Ppo
    from warpsmith.learn.recipes import PpoRecipe, recipe_of

    named = recipe_of(PpoRecipe, recipe)
    config = StageWish(steps=steps, lr=lr, seed=seed, max_reply_tokens=max_reply_tokens).acted(named.stage)
    wish = WorkWish(
        suite=suite,
        split=split,
        limit=limit,
        manner=manner,
        reward=reward,
        tasks_per_step=tasks_per_step,
        samples_per_task=samples_per_task,
        max_turns=max_turns,
    )
    ground = _Ground(
        work=wish.applied(named.work), tasks=tuple(task or ()), device=device, sandbox=sandbox, run=run
    )
    ground.check(wish)
    elsewhere = engines.Elsewhere(engine=engine, nodes=nodes, gpus=gpus, judge_gpu=judge_gpu, is_dry=dry_run)
    if not elsewhere.is_here:
        return engines.carry_out(Console(is_json=json), elsewhere, ground.errand(config, model, critic))

    def stage() -> "Stage":
        student = read_student(model)
        judge = critics.fresh(student.model) if critic is None else critics.read(critic, student.device)
        place = ground.place(config.loop.seed)
        made = Ppo(student, judge, place.source(student), _suited(config, student))
        made.data = place.data
        return made

    return carry_out(Console(is_json=json), run, stage)


def grpo(
    *,
    model: ModelOption,
    run: RunOption,
    recipe: RecipeOption = GRPO_RECIPE,
    suite: SuiteOption = None,
    split: SplitOption = None,
    limit: LimitOption = None,
    task: TasksOption = None,
    manner: MannerOption = None,
    steps: StepsOption = None,
    lr: RateOption = None,
    seed: SeedOption = None,
    reward: RewardOption = None,
    tasks_per_step: PerStepOption = None,
    samples_per_task: PerTaskOption = None,
    max_turns: spending.TurnsOption = None,
    max_reply_tokens: asking.ReplyTokensOption = None,
    device: options.DeviceOption = "auto",
    sandbox: options.SandboxOption = "auto",
    engine: engines.EngineOption = "local",
    nodes: engines.NodesOption = None,
    gpus: engines.GpusOption = None,
    judge_gpu: engines.JudgeGpuOption = None,
    dry_run: engines.DryRunOption = False,
    json: options.JsonOption = False,
) -> ExitCode:
    """The same without a critic: episodes of one task are held against each other."""
    from warpsmith.learn.engines.local.grpo import Grpo
    from warpsmith.learn.recipes import GrpoRecipe, recipe_of

    named = recipe_of(GrpoRecipe, recipe)
    config = StageWish(steps=steps, lr=lr, seed=seed, max_reply_tokens=max_reply_tokens).acted(named.stage)
    wish = WorkWish(
        suite=suite,
        split=split,
        limit=limit,
        manner=manner,
        reward=reward,
        tasks_per_step=tasks_per_step,
        samples_per_task=samples_per_task,
        max_turns=max_turns,
    )
    ground = _Ground(
        work=wish.applied(named.work), tasks=tuple(task or ()), device=device, sandbox=sandbox, run=run
    )
    ground.check(wish)
    elsewhere = engines.Elsewhere(engine=engine, nodes=nodes, gpus=gpus, judge_gpu=judge_gpu, is_dry=dry_run)
    if not elsewhere.is_here:
        return engines.carry_out(Console(is_json=json), elsewhere, ground.errand(config, model))

    def stage() -> "Stage":
        student = read_student(model)
        place = ground.place(config.loop.seed)
        made = Grpo(student, place.source(student), _suited(config, student))
        made.data = place.data
        return made

    return carry_out(Console(is_json=json), run, stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """Tasks and judges, as they were said on a command line."""

    work: "Work"
    tasks: tuple[str, ...]  # in place of the suite's
    device: str
    sandbox: str
    run: Path

    def check(self, wish: WorkWish) -> None:
        if self.tasks and (wish.suite or wish.split or wish.limit):
            raise UsageError("--task names tasks one by one; leave --suite, --split and --limit out")
        if self.work.suite.split == "test":
            raise UsageError("tasks of the split test are never trained on; choose train")

    def errand(
        self, stage: "PpoConfig | GrpoConfig", model: Path, critic: Path | None = None
    ) -> engines.Errand:
        """For another engine, whose nodes need not be like this machine."""
        return engines.Errand(
            stage=stage,
            model=model,
            run=self.run,
            critic=critic,
            tasks=self._tasks("cpu" if self.device == "cpu" else "cuda"),
            work=self.work,
            device=self.device,
            sandbox=self.sandbox,
        )

    def place(self, seed: int) -> "Workplace":
        from warpsmith.agent.optimize import OptimizeConfig
        from warpsmith.device import select_device
        from warpsmith.learn.acting import Workplace

        chosen = select_device(self.device)
        return Workplace(
            tasks=self._tasks(chosen.kind),
            work=self.work,
            config=OptimizeConfig(device=chosen, sandbox=self.sandbox),
            runs=self.run.with_name(f"{self.run.name}-episodes"),
            seed=seed,
        )

    def _tasks(self, device_kind: str) -> "tuple[Task, ...]":
        from warpsmith.learn.acting.suites import tasks_of
        from warpsmith.tasks import load_task

        if self.tasks:
            return tuple(load_task(task, device_kind=device_kind) for task in self.tasks)
        return tasks_of(self.work.suite, device_kind)


def _suited(config: C, student: "Student") -> C:
    from warpsmith.learn.recipes.fitting import suited

    return replace(config, memory=suited(config.memory, student.device.type))
