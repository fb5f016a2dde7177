"""Going on with a run: the same one after a kill, or another one from the end of one of its turns."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from warpsmith.agent.budget import Budget
from warpsmith.agent.episode import Episode
from warpsmith.agent.events import Event, Forked, Listener, Resumed, TurnEnded, in_effect
from warpsmith.agent.optimize import (
    Bench,
    DeviceChoice,
    OptimizeConfig,
    Optimized,
    Shared,
    agent_of,
    environment_of,
    open_bench,
    setting_of,
    started,
    told_of,
)
from warpsmith.agent.runs.past import Past, entries_until, lost_of, paid_of, past_of, unfinished
from warpsmith.agent.runs.record import BLOBS, Record
from warpsmith.agent.runs.snapshot import Blobs, Snapshot, restored
from warpsmith.agent.runs.spec import RunSpec
from warpsmith.agent.team.cast import cast_of
from warpsmith.agent.team.spec import Part
from warpsmith.agent.workspace.folder import Refused, Workspace
from warpsmith.core import Task, UsageError
from warpsmith.device import select_device
from warpsmith.policy import Policy, make_policy

OpenBench = Callable[[Task, OptimizeConfig], AbstractContextManager[Bench]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a run goes on with if not with what its record names."""

    policy: Policy | None = None
    bench: OpenBench = open_bench


def resume(
    folder: Path, listener: Listener, means: Means | None = None, budget: Budget | None = None
) -> Optimized:
    """Go on with a run that was killed, stopped or broke off, in its own folder.

    What it has spent counts in its budget, or in `budget`, which takes its place from now on. The workspace
    is put back to the end of the last turn; a reply that was paid for after it is used again.

    Raises:
        UsageError: it is no run, it has finished, another process works on it, its files were changed, or it
            was judged on another device than is here.
        EnvironmentMissing, InfraError: as `optimize`.
    """
    means = means or Means()
    with ExitStack() as stack:
        record = stack.enter_context(Record.reopen(folder, lambda place: unfinished(place, budget).task))
        past = unfinished(folder, budget)
        config = _config(past.spec)
        _check_device(past, config)
        policy = means.policy or _policy(past.spec, folder)
        bench = stack.enter_context(means.bench(past.task, config))
        resumed = Resumed(
            turn=past.num_turns,
            lost=lost_of(past),
            environment=environment_of(bench, policy),
            budget=budget,
        )
        before = in_effect((*past.events, resumed))
        episode = _replayed(before)
        workspace = _workspace(record, bench, episode)
        record.on_event(resumed)
        record.show(episode.best)
        listener.on_event(resumed)
        told = told_of(record, listener, before)
        setting = setting_of(bench, workspace, config, record, told, Shared())
        trajectory = agent_of(policy, setting, episode, paid_of(past)).run(past.task)
    return Optimized(folder=folder, trajectory=trajectory, environment=environment_of(bench, policy))


def fork(
    parent: Path,
    turn: int,
    out: Path | None,
    listener: Listener,
    spec: RunSpec | None = None,
    means: Means | None = None,
) -> Optimized:
    """A new run in `out` (None: a new folder under runs/) that goes on from the end of a turn of `parent`.

    `spec` is the parent's own (`past_of(parent).spec`) with what shall be different, such as the policy or
    the device; its budget is for what the new run spends. The parent is only read; it may be running.

    Raises:
        UsageError: there is no such turn, a file of it is missing, or the folder is taken.
        EnvironmentMissing, InfraError: as `optimize`.
    """
    means = means or Means()
    past = past_of(parent)
    entries = entries_until(past, turn)
    chosen = spec or past.spec
    config = _config(chosen)
    policy = means.policy or _policy(chosen, parent)
    with ExitStack() as stack:
        record = stack.enter_context(
            Record.create_default(past.task) if out is None else Record.create(out, past.task)
        )
        bench = stack.enter_context(means.bench(past.task, config))
        is_elsewhere = past.started.device != bench.device.name
        beginning = started(policy, bench, config)
        forked = Forked(parent=str(parent.resolve()), turn=turn, is_elsewhere=is_elsewhere)
        before = (beginning, forked, *(entry.event for entry in entries))
        episode = _replayed(before)
        _copy_blobs(past.folder, before, record)
        workspace = _workspace(record, bench, episode)
        record.begin_fork(beginning, forked, entries)
        record.show(episode.best)
        for event in (beginning, forked):
            listener.on_event(event)
        told = told_of(record, listener, before)
        setting = setting_of(bench, workspace, config, record, told, Shared())
        trajectory = agent_of(policy, setting, episode).run(past.task)
    return Optimized(folder=record.folder, trajectory=trajectory, environment=environment_of(bench, policy))


def _check_device(past: Past, config: OptimizeConfig) -> None:
    if config.device.name != past.started.device:
        raise UsageError(
            f"{past.folder} was judged on {past.started.device}, and this is {config.device.name}: its times "
            f"would not compare; fork it instead: warpsmith runs fork {past.folder} --turn {past.num_turns}"
        )


def _config(spec: RunSpec) -> OptimizeConfig:
    return OptimizeConfig(
        device=select_device(spec.device, spec.arch, spec.gpu),
        sandbox=spec.sandbox,
        judge=spec.judge,
        budget=spec.budget,
        policy=spec.policy,
        policy_config=spec.policy_config,
        device_choice=DeviceChoice(kind=spec.device, arch=spec.arch, gpu=spec.gpu),
        team=spec.team,
    )


def _policy(spec: RunSpec, folder: Path) -> Policy:
    if not spec.policy:
        raise UsageError(f"{folder} was made by a policy without a name; say which one shall go on")
    if spec.team is None:
        return make_policy(spec.policy, spec.policy_config)
    return cast_of(spec.team, Part(policy=spec.policy, policy_config=spec.policy_config))


def _replayed(events: tuple[Event, ...]) -> Episode:
    episode = Episode()
    try:
        for event in events:
            episode.apply(event)
    except (LookupError, ArithmeticError, TypeError) as error:
        raise UsageError(f"the events of this run do not fit together: {error}") from error
    return episode


def _workspace(record: Record, bench: Bench, episode: Episode) -> Workspace:
    """The record's, as it was when the last turn ended; its policy knows the files that it knew."""
    restored(record.workspace, episode.snapshot or Snapshot(), record.blobs)
    workspace = Workspace(record.workspace, bench.task, bench.sandbox, has_gpu=bench.has_gpu, turn=bench.turn)
    workspace.restore_protected()
    for name in episode.still_seen():
        with suppress(Refused):
            workspace.read(name)
    return workspace


def _copy_blobs(parent: Path, events: tuple[Event, ...], record: Record) -> None:
    """Those of earlier turns too, for a fork of the fork; it says so itself if it misses one."""
    source = Blobs(parent / BLOBS)
    ended = [event for event in events if isinstance(event, TurnEnded)]
    digests = {str(digest) for event in ended for digest in event.files.values()}
    for digest in digests:
        with suppress(UsageError):
            record.blobs.put(source.get(digest))
