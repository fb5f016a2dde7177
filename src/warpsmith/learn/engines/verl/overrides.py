"""A recipe as overrides of verl's configuration, and those as arguments of its command line."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from warpsmith.core import UsageError
from warpsmith.learn.config import StageConfig
from warpsmith.learn.engines.verl.config import EngineConfig
from warpsmith.learn.engines.verl.keys import TABLES, Asked, Value

UNSAYABLE = ("'", "\\", "$", "\n")  # in a quoted text, hydra and omegaconf read these otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A recipe as overrides of verl's configuration, and what it says otherwise."""

    overrides: dict[str, Value]
    notes: tuple[str, ...]


def said(recipe: StageConfig, engine: EngineConfig) -> Said:
    """Raises UsageError, naming the field, for what verl cannot do."""
    asked = Asked(recipe=recipe, engine=engine)
    overrides: dict[str, Value] = {}
    notes = []
    for row in TABLES[type(recipe)]:
        value = _at(recipe, row.ours)
        if not row.is_possible(value, asked):
            raise UsageError(f"verl cannot take {row.ours} = {value}: {row.refusal}")
        if row.theirs:
            overrides |= dict.fromkeys(row.theirs, row.value(value, asked))
        if row.note:
            notes.append(f"{row.ours}: {row.note}")
    return Said(overrides=overrides, notes=tuple(notes))


def _at(recipe: StageConfig, path: str) -> Any:
    value: Any = recipe
    for name in path.split("."):
        value = getattr(value, name)
    return value


def as_arguments(overrides: dict[str, Value]) -> Iterator[str]:
    """As arguments of a command line, in order."""
    for key, value in overrides.items():
        yield f"{key}={_text(value)}"


def _text(value: Value) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case tuple():
            return f"[{','.join(value)}]"
        case str() if any(sign in value for sign in UNSAYABLE):
            raise UsageError(f"{value!r} cannot be said to verl: it has one of {' '.join(UNSAYABLE)}")
        case str():
            return f"'{value}'"
        case _:
            return repr(value)
