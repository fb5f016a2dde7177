"""The main job, wired: a task and a policy in, a run folder with the best program out."""

import platform
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.agent.budget import Budget
from warpsmith.agent.events import Broadcast, Listener, Started
from warpsmith.agent.loop import SkillAgent
from warpsmith.agent.record import Record
from warpsmith.agent.workspace import Workspace
from warpsmith.core import Task, Trajectory
from warpsmith.core.codec import to_data
from warpsmith.device import Device
from warpsmith.judge import Judge, JudgeConfig
from warpsmith.policy import Policy
from warpsmith.sandbox import pick
from warpsmith.toolchain import Toolchain, default_store


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeConfig:
    """How a task is worked on, beside the policy that does it."""

    device: Device
    sandbox: str = "auto"
    judge: JudgeConfig = field(default_factory=JudgeConfig)
    budget: Budget = field(default_factory=Budget)
    folder: Path | None = None  # the run's; None: a new one under runs/


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimized:
    """What came of it; `folder` holds the program, its verdict and the whole record."""

    folder: Path
    trajectory: Trajectory
    environment: dict[str, str]


def optimize(task: Task, policy: Policy, config: OptimizeConfig, listener: Listener) -> Optimized:
    """Let `policy` work on `task` until it has finished or the budget is spent.

    Raises:
        UsageError: the run folder is taken; TaskError if the reference itself cannot be judged.
        EnvironmentMissing: this machine lacks something, or the folder cannot be written.
        InfraError: ours failed twice in a row; the run folder keeps what was done, with the best so far.
    """
    sandbox = pick(config.sandbox)
    with ExitStack() as stack:
        record = stack.enter_context(
            Record.create_default(task) if config.folder is None else Record.create(config.folder, task)
        )
        toolchain = Toolchain(config.device, default_store(), sandbox)
        judge = stack.enter_context(
            Judge(task, device=config.device, sandbox=sandbox, toolchain=toolchain, config=config.judge)
        )
        workspace = Workspace.create(record.workspace, task, sandbox, has_gpu=config.device.kind == "cuda")
        environment = judge.environment() | {"platform": platform.platform(), "policy": policy.name}
        told = Broadcast(record, listener)
        told.on_event(_started(task, policy, config, environment))
        trajectory = SkillAgent(policy, judge, workspace, config.budget, told).run(task)
    return Optimized(folder=record.folder, trajectory=trajectory, environment=environment)


def _started(task: Task, policy: Policy, config: OptimizeConfig, environment: dict[str, str]) -> Started:
    return Started(
        task_id=task.task_id,
        task_digest=task.digest,
        provenance=task.provenance,
        scale=task.scale,
        policy=policy.name,
        device=config.device.name,
        environment=environment,
        config={"budget": to_data(config.budget), "judge": to_data(config.judge)},
    )
