"""The main job, wired: a task and a policy in, a run folder with the best program out."""

import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.agent.budget import Allowance, Budget
from warpsmith.agent.episode import Episode
from warpsmith.agent.events import Broadcast, Event, Listener, Said, Started
from warpsmith.agent.interrupt import Interrupt
from warpsmith.agent.judging import Judging
from warpsmith.agent.loop import Setting, SkillAgent
from warpsmith.agent.runs.ledger import LedgerFile
from warpsmith.agent.runs.record import Record
from warpsmith.agent.runs.spec import RunSpec
from warpsmith.agent.team.agent import TeamAgent
from warpsmith.agent.team.cast import Cast
from warpsmith.agent.team.spec import TeamSpec
from warpsmith.agent.workspace.folder import Workspace
from warpsmith.core import Task, Trajectory
from warpsmith.device import Device
from warpsmith.device.lease import lease
from warpsmith.judge import Judge, JudgeConfig
from warpsmith.judge.profile import Profile
from warpsmith.policy import Policy, PolicyConfig
from warpsmith.sandbox import Sandbox, pick
from warpsmith.toolchain import Toolchain, default_store


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceChoice:
    """What was asked for when the device was selected, to select it again."""

    kind: str = "auto"
    arch: str | None = None
    gpu: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeConfig:
    """How a task is worked on, beside the policy that does it.

    `policy`, `policy_config` and `device_choice` are what the policy and the device were made from: a run
    that holds them can be resumed by its folder alone.
    """

    device: Device
    sandbox: str = "auto"
    judge: JudgeConfig = field(default_factory=JudgeConfig)
    budget: Budget = field(default_factory=Budget)
    folder: Path | None = None  # the run's; None: a new one under runs/
    policy: str = ""
    policy_config: PolicyConfig = field(default_factory=PolicyConfig)
    device_choice: DeviceChoice | None = None  # None: what makes the same kind of device again
    team: TeamSpec | None = None  # what the policy was cast from, if it is a team's; its coder is `policy`

    def spec(self, task: Task) -> RunSpec:
        """What to write down of a run on `task`."""
        choice = self.device_choice or DeviceChoice(kind=self.device.kind, arch=self.device.arch)
        return RunSpec(
            policy=self.policy,
            policy_config=self.policy_config,
            device=choice.kind,
            arch=choice.arch,
            gpu=choice.gpu,
            sandbox=self.sandbox,
            task=task,
            budget=self.budget,
            judge=self.judge,
            team=self.team,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimized:
    """What came of it; `folder` holds the program, its verdict and the whole record."""

    folder: Path
    trajectory: Trajectory
    environment: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A task's judge and what belongs to it.

    Several episodes can work at one if its `judge` lets only one of them ask at a time: put another in front
    of it with `dataclasses.replace(bench, judge=…)`.
    """

    task: Task
    judge: Judging
    sandbox: Sandbox
    device: Device
    environment: dict[str, str]  # all that a verdict depends on
    profile: Callable[[], Profile] | None = None  # of the reference, where the judge tells

    @property
    def has_gpu(self) -> bool:
        return self.device.kind == "cuda"

    def turn(self) -> AbstractContextManager[None]:
        """Held while a program that nobody judges uses the GPU, which others may be timing on."""
        return lease(self.device, is_exclusive=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What an episode has in common with others that run beside it; None: it has its own."""

    interrupt: Interrupt | None = None  # entered by the main thread, so that Ctrl-C reaches every episode
    budget: Allowance | None = None


def optimize(task: Task, policy: Policy, config: OptimizeConfig, listener: Listener) -> Optimized:
    """Let `policy` work on `task` until it has finished or the budget is spent.

    Raises:
        UsageError: the run folder is taken; TaskError if the reference itself cannot be judged.
        EnvironmentMissing: this machine lacks something, or the folder cannot be written.
        InfraError: ours failed twice in a row; the run folder keeps what was done, with the best so far.
    """
    with ExitStack() as stack:
        record = stack.enter_context(
            Record.create_default(task) if config.folder is None else Record.create(config.folder, task)
        )
        bench = stack.enter_context(open_bench(task, config))
        trajectory = episode(policy, bench, config, record, listener)
    return Optimized(folder=record.folder, trajectory=trajectory, environment=environment_of(bench, policy))


@contextmanager
def open_bench(task: Task, config: OptimizeConfig) -> Iterator[Bench]:
    """Start the judge of `task`, and end it. Raises as `optimize` does, for the machine and the task."""
    sandbox = pick(config.sandbox)
    toolchain = Toolchain(config.device, default_store(), sandbox)
    with Judge(
        task, device=config.device, sandbox=sandbox, toolchain=toolchain, config=config.judge
    ) as judge:
        environment = judge.environment() | {"platform": platform.platform()}
        yield Bench(
            task=task,
            judge=judge,
            sandbox=sandbox,
            device=config.device,
            environment=environment,
            profile=judge.profile,
        )


def episode(
    policy: Policy,
    bench: Bench,
    config: OptimizeConfig,
    record: Record,
    listener: Listener,
    shared: Shared | None = None,
) -> Trajectory:
    """One episode from its start: the workspace and the record are its own, the bench may be shared.

    To run several side by side, a thread each: open the bench once; for each make a policy and a Record with
    a folder of its own (`config.folder` is not looked at here), and give all of them the same `shared`.
    `listener` is told from the episode's thread. Raises as `SkillAgent.run` does; the record then holds what
    was done.
    """
    task = bench.task
    workspace = Workspace.create(
        record.workspace, task, bench.sandbox, has_gpu=bench.has_gpu, turn=bench.turn
    )
    told = told_of(record, listener)
    told.on_event(started(policy, bench, config))
    setting = setting_of(bench, workspace, config, record, told, shared or Shared())
    return agent_of(policy, setting).run(task)


def agent_of(
    policy: Policy, setting: Setting, episode: Episode | None = None, paid: Said | None = None
) -> SkillAgent:
    """What lets `policy` work: several that play parts as a team, one alone in the plain loop."""
    if isinstance(policy, Cast):
        return TeamAgent(policy, setting, episode, paid)
    return SkillAgent(policy, setting, episode, paid)


def told_of(record: Record, listener: Listener, before: Iterable[Event] = ()) -> Listener:
    """Record, ledger and listener, in this order; `before` is what counts of what was told already."""
    return Broadcast(record, LedgerFile(record.folder, before), listener)


def setting_of(
    bench: Bench,
    workspace: Workspace,
    config: OptimizeConfig,
    record: Record,
    listener: Listener,
    shared: Shared,
) -> Setting:
    """Where an episode takes place; `listener` is all that is told of it, the record too."""
    return Setting(
        judge=bench.judge,
        workspace=workspace,
        budget=shared.budget or config.budget,
        listener=listener,
        blobs=record.blobs,
        interrupt=shared.interrupt,
        device=bench.device.name,
        profile=bench.profile,
        policy_config=config.policy_config,
    )


def started(policy: Policy, bench: Bench, config: OptimizeConfig) -> Started:
    """How the record of a run begins."""
    task = bench.task
    return Started(
        task_id=task.task_id,
        task_digest=task.digest,
        provenance=task.provenance,
        scale=task.scale,
        policy=policy.name,
        device=bench.device.name,
        environment=environment_of(bench, policy),
        config=config.spec(task).to_config(),
    )


def environment_of(bench: Bench, policy: Policy) -> dict[str, str]:
    return bench.environment | {"policy": policy.name}
