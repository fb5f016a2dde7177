"""Which tasks a bench is about: read from a suite or a store, chosen, and each given a key of its own."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatch
from pathlib import Path

from warpsmith.core import Task, UsageError
from warpsmith.tasks.caps import Cap, with_caps
from warpsmith.tasks.scale import checked_scale, with_scale
from warpsmith.tasks.store.store import SUFFIX, Store
from warpsmith.tasks.suites import SUITES, imported, suite
from warpsmith.tasks.suites.base import Broken
from warpsmith.tasks.suites.kernelbench import LEVEL, PROBLEM
from warpsmith.tasks.synth.base import Made

STORE = "store"
FORM = f"one of {', '.join(SUITES)} with --dir, or store:DIR"
NO_GROUP = "all"
KEY_CHARACTERS = 12  # of a digest


class Mode(StrEnum):
    """How a task's model runs. Results of the two are never put into one table."""

    EVAL = "eval"
    TRAIN = "train"


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """What a task is called in a bench. `key` is unique there and names files."""

    key: str
    group: str  # "level 2": a table sums up each
    task_id: str
    digest: str
    level: int | None = None
    problem: int | None = None
    is_resized: bool = False  # it is run at other sizes than its suite's


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A task of a bench."""

    name: Name
    task: Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the tasks lie: a suite's name, or "store"."""

    kind: str
    path: Path

    @classmethod
    def named(cls, spec: str, folder: Path | None) -> "Source":
        """`spec` is a suite's name, with `folder` beside it, or store:DIR. Raises UsageError for neither."""
        kind, colon, place = spec.partition(":")
        if kind == STORE and place:
            if folder is not None:
                raise UsageError(f"{spec} names its folder; leave --dir {folder} out")
            return cls(kind=STORE, path=_store_file(Path(place)))
        if colon or kind not in SUITES:
            raise UsageError(f"unknown suite {spec!r:.80}; name {FORM}")
        if folder is None:
            raise UsageError(f"{kind} lies somewhere: add --dir PATH, {SUITES[kind].form}")
        return cls(kind=kind, path=folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which of the tasks, and at what size. Raises UsageError for a scale that is none."""

    levels: tuple[int, ...] = ()  # none: all
    pattern: str | None = None  # of a task's name or key: a part of it, or such as '*Softmax*'
    limit: int | None = None  # of each group
    scale: float | None = None
    caps: tuple[Cap, ...] = ()

    def __post_init__(self) -> None:
        checked_scale(self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The tasks of a bench, in order, and the rows of its suite that are none."""

    items: tuple[Item, ...]
    broken: tuple[Broken, ...] = ()


def levels_of(text: str) -> tuple[int, ...]:
    """'1,2,3' as numbers. Raises UsageError for anything else."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise UsageError(f"--levels takes numbers such as 1,2,3, not {text!r:.80}")
    return tuple(dict.fromkeys(map(int, parts)))


def chosen(source: Source, choice: Choice, device_kind: str) -> Chosen:
    """Nothing of a task is executed.

    Raises UsageError if there is no such place, if it has none of the levels, or if no task is left.
    """
    made, broken = _read(source)
    items = [_item(row, choice, device_kind) for row in made]
    if not items:
        first = f"; the first row: {broken[0].reason}" if broken else ""
        raise UsageError(f"{source.path} holds no task{first}")
    _check_levels(source, choice, items)
    kept = [item for item in items if _is_wanted(item.name, choice)]
    if not kept:
        raise UsageError(f"none of the {len(items)} tasks in {source.path} is named like {choice.pattern!r}")
    return Chosen(items=tuple(_limited(_distinct(kept), choice.limit)), broken=broken)


def _read(source: Source) -> tuple[tuple[Made, ...], tuple[Broken, ...]]:
    if source.kind == STORE:
        return tuple(Store(source.path).rows()), ()
    found = imported(suite(source.kind), source.path)
    return found.made, found.broken


def _store_file(path: Path) -> Path:
    """A store is a file; a folder stands for the only one in it."""
    if not path.is_dir():
        return path
    files = sorted(path.glob(f"*{SUFFIX}"))
    if len(files) != 1:
        held = ", ".join(file.name for file in files) or "none"
        raise UsageError(f"{path} should hold one store, *{SUFFIX}; it holds {held}: name the file")
    return files[0]


def _item(row: Made, choice: Choice, device_kind: str) -> Item:
    name = row.task.task_id
    source, scale = with_scale(row.task.source, name, choice.scale, device_kind)
    source, _ = with_caps(source, name, choice.caps)
    task = replace(row.task, source=source, scale=scale)
    level, problem = (_number(row.facts.get(fact, "")) for fact in (LEVEL, PROBLEM))
    return Item(
        task=task,
        name=Name(
            key=_key(task, level, problem),
            group=_group(row, level),
            task_id=name,
            digest=task.digest,
            level=level,
            problem=problem,
            is_resized=source != row.task.source,
        ),
    )


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,9}", text) else None


def _key(task: Task, level: int | None, problem: int | None) -> str:
    if level is None or problem is None:
        return task.digest[:KEY_CHARACTERS]
    return f"level{level}-{problem:03d}"


def _group(row: Made, level: int | None) -> str:
    if level is not None:
        return f"level {level}"
    return "" if row.curriculum is None else row.curriculum.value


def _check_levels(source: Source, choice: Choice, items: Sequence[Item]) -> None:
    there = sorted({item.name.level for item in items if item.name.level is not None})
    missing = [level for level in choice.levels if level not in there]
    if missing:
        held = ", ".join(map(str, there)) or "none at all"
        raise UsageError(f"{source.path} has no level {missing[0]}; its levels are {held}")


def _is_wanted(name: Name, choice: Choice) -> bool:
    if choice.levels and name.level not in choice.levels:
        return False
    pattern = choice.pattern
    return pattern is None or any(
        pattern in text or fnmatch(text, pattern) for text in (name.task_id, name.key)
    )


def _distinct(items: Iterable[Item]) -> list[Item]:
    """Each task once; two that share a key, if in different sizes, get a number each."""
    found: dict[str, Item] = {}
    for item in items:
        key, number = item.name.key, 1
        while key in found and found[key].name.digest != item.name.digest:
            number += 1
            key = f"{item.name.key}-{number}"
        group = item.name.group or NO_GROUP
        found.setdefault(key, replace(item, name=replace(item.name, key=key, group=group)))
    return list(found.values())


def _limited(items: Iterable[Item], limit: int | None) -> list[Item]:
    counts: dict[str, int] = {}
    kept = []
    for item in items:
        counts[item.name.group] = counts.get(item.name.group, 0) + 1
        if limit is None or counts[item.name.group] <= limit:
            kept.append(item)
    return kept
