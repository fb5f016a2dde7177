"""What filter and decontamination write of themselves beside their stores, and how it is read back."""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from warpsmith.core import UsageError
from warpsmith.core.codec import from_data, from_json
from warpsmith.report.synth.folder import Step
from warpsmith.tasks.synth.filters import Band, FilterConfig, Funnel, Rejected, Undecided
from warpsmith.tasks.synth.filters.state import NAME, Header, Line
from warpsmith.tasks.synth.similarity import Decontaminated, Neighbour, Thresholds, Unread

T = TypeVar("T")

DAMAGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)
"""What reading nouns from JSON raises if somebody else wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtering:
    """`funnel.json`: what became of the composed tasks."""

    device: str = ""  # empty: written before it was told
    band: Band | None = None  # of eager times
    num_kept: int
    num_repeated: int = 0  # tasks that came a second time, counted once
    num_resumed: int = 0
    wall_s: float = 0.0
    by_reason: dict[str, int] = field(default_factory=dict)
    remaining: dict[str, int] = field(default_factory=dict)  # after each stage
    suspicious: dict[str, int] = field(default_factory=dict)  # findings of the kept, by kind
    rejected: tuple[Rejected, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    is_finished: bool = True

    @classmethod
    def of(cls, funnel: Funnel, *, device: str, band: Band | None, is_finished: bool = True) -> "Filtering":
        return cls(
            device=device,
            band=band,
            num_kept=len(funnel.kept),
            num_repeated=funnel.num_repeated,
            num_resumed=funnel.num_resumed,
            wall_s=funnel.wall_s,
            by_reason={reason.value: count for reason, count in funnel.by_reason.items()},
            remaining={stage.value: count for stage, count in funnel.remaining.items()},
            suspicious=dict(funnel.by_suspicion),
            rejected=funnel.rejected,
            undecided=funnel.undecided,
            is_finished=is_finished,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rechecking:
    """`recheck.json`: what became of kept tasks that went through the filter once more, from nothing."""

    device: str
    seed: int
    num_tasks: int  # drawn
    num_kept: int  # of them
    is_as_before: bool  # the same checks on the same device as when they were kept
    wall_s: float
    rejected: tuple[Rejected, ...] = ()
    undecided: tuple[Undecided, ...] = ()

    @classmethod
    def of(cls, funnel: Funnel, *, device: str, seed: int, is_as_before: bool) -> "Rechecking":
        return cls(
            device=device,
            seed=seed,
            num_tasks=len(funnel.outcomes),
            num_kept=len(funnel.kept),
            is_as_before=is_as_before,
            wall_s=funnel.wall_s,
            rejected=funnel.rejected,
            undecided=funnel.undecided,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Tasks held against others: what was dropped, and how close the closest are."""

    thresholds: Thresholds
    num_kept: int
    histogram: tuple[int, ...]  # tasks by their maximum similarity, in bins of equal width over [0, 1]
    top: tuple[Neighbour, ...]
    dropped: tuple[Neighbour, ...]
    unread: tuple[Unread, ...] = ()
    unread_others: tuple[Unread, ...] = ()

    @classmethod
    def of(cls, found: Decontaminated) -> "Comparison":
        return cls(
            thresholds=found.thresholds,
            num_kept=len(found.kept),
            histogram=found.histogram,
            top=found.top,
            dropped=tuple(dropped.neighbour for dropped in found.dropped),
            unread=found.unread,
            unread_others=found.unread_others,
        )

    @property
    def num_tasks(self) -> int:
        """That came in."""
        return self.num_kept + len(self.dropped) + len(self.unread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """What the tasks were held against."""

    suite: str
    num_tasks: int
    num_broken: int = 0  # rows that are no tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Decontamination:
    """`similarity.json`."""

    benchmarks: tuple[Benchmark, ...] = ()
    against: Comparison  # the benchmarks
    within: Comparison  # the set itself


def as_written(record: Filtering | Rechecking | Comparison) -> dict[str, Any]:
    """Its fields, as a document has them."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


def read(kind: type[T], path: Path, step: Step) -> T | None:
    """What `step` wrote to `path`; None if it has not. Raises UsageError, one line, for anything else."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({_reason(error)})") from error
    try:
        return from_data(kind, json.loads(text))
    except DAMAGE as error:
        raise UsageError(
            f"{path} is not what `warpsmith synth {step}` writes ({_reason(error)}); run it again"
        ) from error


def read_header(state: Path) -> Header | None:
    """With what checks, and where, the tasks of a filter's state were looked at."""
    lines = _state_lines(state / NAME)
    return lines[0] if lines and isinstance(lines[0], Header) else None


def read_state(state: Path) -> Filtering | None:
    """What a filter that has not come to its end has found so far; it may be running."""
    lines = _state_lines(state / NAME)
    if not lines:
        return None
    outcomes = {(line.task_id, line.digest): line for line in lines if not isinstance(line, Header)}
    device = next((line.device for line in lines if isinstance(line, Header)), "")
    return Filtering.of(
        Funnel(outcomes=tuple(outcomes.values())), device=device, band=None, is_finished=False
    )


def is_as_before(state: Path, config: FilterConfig) -> bool:
    """Whether the state in a folder was found with the same checks on the same device."""
    header = read_header(state)
    return header is not None and header.config == config.digest


def _state_lines(path: Path) -> list[Line]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({_reason(error)})") from error
    whole = data[: data.rfind(b"\n") + 1]  # a kill may have left a part of a line
    found: list[Line] = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            found.append(from_json(Line, line.decode()))  # type: ignore[arg-type]  # a union is no type to mypy
        except DAMAGE as error:
            raise UsageError(f"{path}, line {number} is damaged ({_reason(error)}); remove it") from error
    return found


def _reason(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) else None
    return " ".join(str(reason or error).split())[:120]
