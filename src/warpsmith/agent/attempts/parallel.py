"""Several independent trajectories on one task, side by side: the best program of all of them counts."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from threading import Lock

from warpsmith.agent.attempts.nouns import ATTEMPTS, LIST, Attempt, Attempts, Audience, Maker
from warpsmith.agent.attempts.pool import JudgePool
from warpsmith.agent.attempts.race import Race, Runner
from warpsmith.agent.optimize import OptimizeConfig, open_bench
from warpsmith.agent.runs.record import Record
from warpsmith.agent.runs.resume import OpenBench
from warpsmith.core import Message, Task, ToolSpec, UsageError
from warpsmith.policy import Policy, PolicyConfig, Reply

__all__ = [
    "ATTEMPTS",
    "LIST",
    "Attempt",
    "Attempts",
    "Audience",
    "JudgePool",
    "Judges",
    "Maker",
    "optimize_many",
    "seeded",
]

IN_PROCESS = ("builtin", "local")  # kinds of policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """How many judges the attempts share, and how each is opened."""

    number: int = 1
    opened: OpenBench = open_bench


def seeded(config: PolicyConfig, attempt: int) -> PolicyConfig:
    """`config` with a seed of its own for each attempt, if it has one: the same would say the same."""
    sampling = config.sampling
    if sampling.seed is None:
        return config
    return replace(config, sampling=replace(sampling, seed=sampling.seed + attempt - 1))


def optimize_many(
    task: Task,
    makers: Sequence[Maker],
    config: OptimizeConfig,
    audience: Audience,
    judges: Judges | None = None,
) -> Attempts:
    """Let each of `makers` have an attempt, with what `config.budget` holds for all of them together.

    Each leaves a whole run in a folder below `attempts/`; the run's own folder gets the best program.

    Raises:
        UsageError, EnvironmentMissing: as `optimize`; a policy that cannot be made, before anything is done.
        InfraError: all attempts failed, or the last measurement did; the folders keep what was done.
    """
    if not makers:
        raise UsageError("there is nobody to make an attempt; name at least one policy")
    policies = [maker.make() for maker in makers]
    chosen = judges or Judges()
    with ExitStack() as stack:
        record = stack.enter_context(
            Record.create_default(task) if config.folder is None else Record.create(config.folder, task)
        )
        num_judges = min(chosen.number, len(makers))
        pool = stack.enter_context(JudgePool(lambda: chosen.opened(task, config), num_judges))
        numbered = enumerate(zip(_in_turn(policies), makers, strict=True), start=1)
        runners = [
            Runner(number=number, policy=policy, maker=maker, folder=record.folder / ATTEMPTS / str(number))
            for number, (policy, maker) in numbered
        ]
        return Race(runners, config, pool, record, audience).run()


class InTurn:
    """A policy that answers only while no other of its lock's does."""

    def __init__(self, policy: Policy, lock: Lock) -> None:
        self.name = policy.name
        self.context_tokens = policy.context_tokens
        self._policy = policy
        self._lock = lock

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        with self._lock:
            return self._policy.respond(messages, tools)


def _in_turn(policies: Sequence[Policy]) -> list[Policy]:
    """Those that compute in this process take turns: torch traces one module at a time."""
    lock = Lock()
    return [
        InTurn(policy, lock) if policy.name.partition(":")[0] in IN_PROCESS else policy for policy in policies
    ]
