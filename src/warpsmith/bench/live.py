"""A bench as it is watched: a line for each task that ended, and who is at what."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.table import Table
from rich.text import Text

from warpsmith.bench.protocol import Job
from warpsmith.bench.record import Fate, TaskRecord
from warpsmith.bench.rows import outcome_text
from warpsmith.bench.tables import speed_text
from warpsmith.core import Passed, Provenance
from warpsmith.report.figures import seconds_text
from warpsmith.report.plain import one_line, printable

MAX_LINE = 160


@dataclass(slots=True, kw_only=True)
class Post:
    """What one worker is at."""

    job: Job
    what: str
    since_s: float


@dataclass(slots=True, kw_only=True)
class Board:
    """A Watcher. `note` is told a line at a time; `table` shows how it stands."""

    num_tasks: int
    num_before: int  # done by an earlier process
    note: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    begun_s: float = field(init=False)
    posts: dict[int, Post] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    num_done: int = 0

    def __post_init__(self) -> None:
        self.begun_s = self.clock()

    def on_begun(self, worker: int, job: Job) -> None:
        self.posts[worker] = Post(job=job, what="starting", since_s=self.clock())

    def on_doing(self, worker: int, what: str) -> None:
        if worker in self.posts:
            self.posts[worker].what = what

    def on_done(self, worker: int, record: TaskRecord) -> None:
        self.posts.pop(worker, None)
        self.num_done += 1
        kind = _kind(record)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self._tell(record.name.key, record.name.task_id, _ended_text(record))

    def on_again(self, worker: int, job: Job, reason: str) -> None:
        self.posts.pop(worker, None)
        self._tell(job.name.key, job.name.task_id, f"failed for us, will be tried once more: {reason}")

    def on_left(self, worker: int, job: Job) -> None:
        self.posts.pop(worker, None)
        self._tell(job.name.key, job.name.task_id, "left for another time")

    def on_ending(self) -> None:
        if self.posts:
            self.note("          ending: each task's step is finished; Ctrl-C (again) stops at once")

    def on_beat(self) -> None:
        """A live table draws itself."""

    def table(self) -> Table:
        table = Table(
            box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", title_justify="left"
        )
        for column in ("worker", "task", "at", "for"):
            table.add_column(column, no_wrap=True, overflow="ellipsis")
        for worker, post in sorted(self.posts.items()):
            cells = (
                str(worker),
                f"{post.job.name.key} {post.job.name.task_id}",
                post.what,
                seconds_text(self.clock() - post.since_s),
            )
            table.add_row(*(Text(one_line(cell, 80)) for cell in cells))
        table.caption = Text(self.status, justify="left")
        table.caption_justify = "left"
        return table

    @property
    def status(self) -> str:
        """'31 of 250 done: 20 faster, 8 correct, 3 not passed; 12 min 05 s'."""
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        done = f"{self.num_before + self.num_done} of {self.num_tasks} done"
        return f"{done}{': ' if counts else ''}{counts}; {seconds_text(self.clock() - self.begun_s)}"

    def _tell(self, key: str, task_id: str, text: str) -> None:
        done = f"{self.num_before + self.num_done}/{self.num_tasks}"
        self.note(one_line(printable(f"{done:>9}  {key} {task_id}: {text}"), MAX_LINE))


def _kind(record: TaskRecord) -> str:
    if record.fate is not Fate.JUDGED:
        return "ours" if record.fate is Fate.OURS else "refused"
    if record.timing is None:
        return "correct" if record.has_passed else "not passed"
    if record.timing.provenance is Provenance.MODELLED:
        return "correct"
    return "faster" if record.timing.is_fast else "correct"


def _ended_text(record: TaskRecord) -> str:
    if not isinstance(record.verdict, Passed):
        return f"{outcome_text(record)}: {record.reason}" if record.reason else outcome_text(record)
    return f"{outcome_text(record)}, {speed_text(record)}" if record.timing else outcome_text(record)
