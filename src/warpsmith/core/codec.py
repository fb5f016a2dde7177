"""Nouns to JSON and back. A member of a union carries its class name under "type"; the rest is plain data."""

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def to_data(value: object) -> Any:
    """`value` as dicts, lists, strings and numbers; every dataclass names its type."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: to_data(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): to_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_data(item) for item in value]
    return value


def to_json(value: object, *, indent: int | None = None) -> str:
    """Strict JSON; a number that is not finite becomes a string, since JSON has none."""
    return json.dumps(_finite(to_data(value)), indent=indent, allow_nan=False)


def from_data(kind: type[T], data: Any) -> T:
    """A `kind` from what `to_data` gave. Raises ValueError if `data` does not fit it."""
    return typing.cast(T, _read(kind, data))


def from_json(kind: type[T], text: str) -> T:
    """A `kind` from what `to_json` gave. Raises ValueError if `text` does not fit it."""
    return from_data(kind, json.loads(text))


def _finite(data: Any) -> Any:
    if isinstance(data, float) and data - data != 0.0:
        return str(data)
    if isinstance(data, dict):
        return {key: _finite(item) for key, item in data.items()}
    return [_finite(item) for item in data] if isinstance(data, list) else data


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _read(kind: Any, data: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _read_union(typing.get_args(kind), data)
    if origin is tuple:
        return _read_tuple(typing.get_args(kind), data)
    if origin is dict:
        return dict(data)
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(typing.cast(type, kind), data)
    if kind is Any or kind is type(None) or isinstance(data, kind):
        return data
    if kind in (float, int, Path) or (isinstance(kind, type) and issubclass(kind, Enum)):
        return kind(data)
    raise ValueError(f"expected {kind.__name__}, found {data!r:.80}")


def _read_union(kinds: tuple[Any, ...], data: Any) -> Any:
    if data is None and type(None) in kinds:
        return None
    named = {kind.__name__: kind for kind in kinds if kind is not type(None)}
    if isinstance(data, dict) and "type" in data:
        if data["type"] not in named:
            raise ValueError(f"unknown type {data['type']!r}; choose one of {', '.join(named)}")
        return _read(named[data["type"]], data)
    return _read(next(iter(named.values())), data)


def _read_tuple(kinds: tuple[Any, ...], data: Any) -> tuple[Any, ...]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_read(kinds[0], item) for item in data)
    return tuple(_read(kind, item) for kind, item in zip(kinds, data, strict=True))


def _read_dataclass(kind: type, data: Any) -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"expected {kind.__name__}, found {data!r:.80}")
    hints = _hints(kind)
    known = {name: _read(hints[name], item) for name, item in data.items() if name in hints}
    try:
        return kind(**known)
    except TypeError as error:
        raise ValueError(f"{kind.__name__}: {error}") from error
