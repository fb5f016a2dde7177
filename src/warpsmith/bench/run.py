"""A bench, wired: tasks, a policy and a folder in, a record a task out."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpsmith.agent.interrupt import Interrupt
from warpsmith.agent.runs.spec import RunSpec
from warpsmith.bench.crew import COMMAND, Crew
from warpsmith.bench.folder import Folder, Kept, default_folder, done_in, held, read
from warpsmith.bench.footprint import HELD_SHARE, fitted
from warpsmith.bench.plan import Plan, plan_of
from warpsmith.bench.protocol import Job
from warpsmith.bench.schedule import Ending, Pace, Schedule, Watcher
from warpsmith.bench.suite import Choice, Chosen, Item
from warpsmith.core import Task
from warpsmith.device import Device, NoGpu, find_gpus
from warpsmith.judge import JudgeConfig

WORKERS_A_GPU = 3  # one measures while another checks and a third builds
CORES_A_WORKER = 2  # its judge has two processes beside it
LENT = 0.5  # of a GPU's memory, by all judges on it together


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A bench to be run. `spec` is a task's run, whichever task it is."""

    path: Path
    plan: Plan
    items: tuple[Item, ...]
    spec: RunSpec
    audit_s: float
    num_workers: int
    max_s: float | None = None
    places: tuple[dict[str, str], ...] = ({},)
    memory_bytes: int = 0  # of the GPU at each place; 0: there is none to be shared
    command: Sequence[str] = COMMAND


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of it."""

    kept: Kept
    ending: Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for, understood; None: as is usual here. `chosen` are judged as `spec.task` is."""

    suite: str
    chosen: Chosen
    choice: Choice
    spec: RunSpec
    device: Device
    path: Path | None = None
    num_workers: int | None = None
    max_s: float | None = None
    audit_s: float = 0.0


def order_of(wish: Wish) -> Order:
    """With as many workers as this machine feeds, spread over its GPUs."""
    places = places_of(wish.device)
    num_workers = wish.num_workers or default_workers(wish.device, len(places))
    spec = replace(wish.spec, judge=sharing(wish.spec.judge, num_workers, len(places)))
    found = replace(wish.chosen, items=tuple(judged_alike(item, spec.task) for item in wish.chosen.items))
    return Order(
        path=wish.path or default_folder(wish.suite),
        plan=plan_of(wish.suite, found, wish.choice, spec, wish.device),
        items=found.items,
        spec=spec,
        audit_s=wish.audit_s,
        num_workers=num_workers,
        max_s=wish.max_s,
        places=places,
        memory_bytes=wish.device.memory_bytes,
    )


def run_bench(order: Order, watcher: Watcher) -> Ran:
    """Ends when all tasks have a record, when its time is up, or on Ctrl-C; a second Ctrl-C ends it at once.

    Raises:
        UsageError: the folder is another's, in use, or of other settings; no task could be done, for what
            was named wrongly.
        EnvironmentMissing, InfraError: the same, for what is missing here; the folder cannot be written.
    """
    began_s = time.monotonic()
    interrupt = Interrupt(lambda: None)
    with held(order.path, order.plan) as folder, interrupt:
        pace = Pace(
            deadline_s=None if order.max_s is None else began_s + order.max_s,
            is_stopped=lambda: interrupt.is_requested,
        )
        jobs = jobs_of(order, folder)
        crew = Crew(
            folder=folder,
            size=max(1, min(order.num_workers, len(jobs))),
            places=order.places,
            room_bytes=int(HELD_SHARE * order.memory_bytes),
            command=order.command,
        )
        with crew:
            ending = Schedule(jobs, folder, crew, watcher, pace).run()
    return Ran(kept=read(order.path), ending=ending)


def jobs_of(order: Order, folder: Folder) -> list[Job]:
    """One for each task that has no record yet."""
    done = done_in(folder.path)
    return [_job(order, folder, item) for item in order.items if item.name.key not in done]


def _job(order: Order, folder: Folder, item: Item) -> Job:
    judge, memory_bytes = order.spec.judge, 0
    if order.memory_bytes:
        found = fitted(judge, item.task.source, order.memory_bytes)
        judge, memory_bytes = found.judge, found.memory_bytes
    return Job(
        name=item.name,
        spec=replace(order.spec, task=item.task, judge=judge),
        device=order.plan.device,
        folder=folder.run(item.name.key).absolute(),
        audit=folder.audit(item.name.key).absolute(),
        audit_s=order.audit_s,
        memory_bytes=memory_bytes,
    )


def places_of(device: Device) -> tuple[dict[str, str], ...]:
    """A setting for each GPU of the same kind, so that workers spread over them."""
    found = find_gpus() if device.kind == "cuda" else NoGpu("none is asked for")
    if isinstance(found, NoGpu):
        return ({},)
    return tuple({"CUDA_VISIBLE_DEVICES": gpu.uuid} for gpu in found if gpu.name == device.name)


def default_workers(device: Device, num_places: int) -> int:
    """As many as the cores feed; more for a GPU would only wait for it."""
    fed = max(1, (os.cpu_count() or 1) // CORES_A_WORKER)
    return fed if device.kind != "cuda" else min(fed, WORKERS_A_GPU * num_places)


def sharing(judge: JudgeConfig, num_workers: int, num_places: int) -> JudgeConfig:
    """A judge that leaves the others on its GPU their part of the memory."""
    num_judges = -(-num_workers // num_places)
    return replace(judge, lend_share=min(judge.lend_share, LENT / num_judges))


def judged_alike(item: Item, task: Task) -> Item:
    """`item`, judged as `task` is: in its mode, dtype and precision. Its digest says so."""
    changed = replace(
        item.task,
        is_training=task.is_training,
        has_backward=task.has_backward,
        dtype=task.dtype,
        precision=task.precision,
    )
    return replace(item, name=replace(item.name, digest=changed.digest), task=changed)
