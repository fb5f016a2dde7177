"""Many tasks through the filter: visits side by side, every outcome on the disk before the next is begun."""

import itertools
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from warpsmith.core import InfraError, Task
from warpsmith.judge.scratch import Scratch
from warpsmith.tasks.synth.filters.config import Band, FilterConfig
from warpsmith.tasks.synth.filters.control import CONTROL
from warpsmith.tasks.synth.filters.desk import Desk
from warpsmith.tasks.synth.filters.events import Decided, Event, Resumed, SetAside
from warpsmith.tasks.synth.filters.funnel import Funnel
from warpsmith.tasks.synth.filters.outcome import Kept, Outcome, Rejected, Undecided, digest_of
from warpsmith.tasks.synth.filters.state import Key, State, key_of, state_in
from warpsmith.tasks.synth.filters.visit import Seen, Visit
from warpsmith.tasks.synth.filters.workers import side_by_side

ANY_TIME = Band(least_us=0.0, most_us=1e12)


def filtered(
    tasks: Iterable[Task],
    config: FilterConfig,
    state_folder: Path,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Funnel:
    """What becomes of each task. Run again on the same folder, it goes on where it was killed.

    A task whose outcome may be our fault, or that of what ran beside it, is looked at again at the end.
    `on_event` is called in the calling thread.

    Raises:
        UsageError: another process filters into `state_folder`, or it was begun with other checks.
        InfraError: this machine cannot do it: even a task that is known to be good does not come through.
    """
    started = time.monotonic()
    with state_in(state_folder, config) as state, closing(Scratch(config.scratch)) as scratch:
        run = _Run(config, state, scratch, on_event)
        order, num_repeated = _distinct(tasks)
        todo = [task for task in order if isinstance(state.outcomes.get(key_of(task)), Undecided | None)]
        if len(todo) < len(order):
            on_event(Resumed(num_known=len(order) - len(todo)))
        if todo:
            run.check_control()
            run.all_of(todo)
        return Funnel(
            outcomes=tuple(state.outcomes[key_of(task)] for task in order),
            num_repeated=num_repeated,
            num_resumed=len(order) - len(todo),
            wall_s=time.monotonic() - started,
        )


class _Run:
    """One call of `filtered`. Only `_seen` runs in other threads."""

    def __init__(
        self, config: FilterConfig, state: State, scratch: Scratch, on_event: Callable[[Event], None]
    ) -> None:
        self._config = config
        self._state = state
        self._scratch = scratch
        self._on_event = on_event
        self._desk = Desk(config.device, batch=max(1, config.workers // 4))
        self._numbers = itertools.count()
        self._num_done = 0

    def check_control(self) -> None:
        """Raises InfraError if a task that is known to be good is not kept."""
        checks = replace(self._config.checks, band=ANY_TIME)
        outcome = self._seen(CONTROL, replace(self._config, checks=checks)).outcome
        match outcome:
            case Rejected(reason=reason, evidence=evidence):
                raise InfraError(f"the filter rejects a task that is known to be good: {reason} ({evidence})")
            case Undecided(why=why):
                raise InfraError(f"the filter cannot run here: {why}")
            case Kept():
                pass

    def all_of(self, tasks: list[Task]) -> None:
        set_aside: list[Task] = []
        for task, seen in side_by_side(tasks, self._seen, self._config.workers):
            if seen.is_doubtful:
                set_aside.append(task)
                self._on_event(SetAside(task_id=task.task_id, why=_why(seen.outcome)))
            else:
                self._decide(seen.outcome)
        for _, seen in side_by_side(set_aside, self._seen, 1):
            if seen.is_doubtful:
                self.check_control()  # else it was this machine
            self._decide(seen.outcome)

    def _decide(self, outcome: Outcome) -> None:
        self._state.add(outcome)
        self._num_done += 1
        self._on_event(Decided(outcome=outcome, num_done=self._num_done))

    def _seen(self, task: Task, config: FilterConfig | None = None) -> Seen:
        try:
            with self._folder() as folder:
                return Visit(task, config or self._config, self._desk, folder).seen()
        except InfraError as error:
            undecided = Undecided(task_id=task.task_id, digest=digest_of(task), why=str(error))
            return Seen(outcome=undecided, is_doubtful=True)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        folder = self._scratch.folder(f"visit-{next(self._numbers)}")
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _distinct(tasks: Iterable[Task]) -> tuple[list[Task], int]:
    """Each task once, in order, and how many came again."""
    found: dict[Key, Task] = {}
    num_repeated = 0
    for task in tasks:
        num_repeated += key_of(task) in found
        found.setdefault(key_of(task), task)
    return list(found.values()), num_repeated


def _why(outcome: Outcome) -> str:
    match outcome:
        case Rejected(reason=reason, evidence=evidence):
            return f"{reason}: {evidence}"
        case Undecided(why=why):
            return why
        case Kept():
            return ""
