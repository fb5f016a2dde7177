"""A crawl as a JSON file, so that later commands need not crawl again."""

import json
import typing
from dataclasses import asdict, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from warpsmith.core import UsageError
from warpsmith.tasks.synth.seeds.outcome import Crawled

FORMAT = "warpsmith seeds 1"


def write_seeds(crawled: Crawled, path: Path) -> None:
    """Writes `crawled` to `path`, whole or not at all."""
    beside = path.with_name(f"{path.name}.part")
    beside.write_text(json.dumps({"format": FORMAT, **asdict(crawled)}, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)


def read_seeds(path: Path) -> Crawled:
    """What `write_seeds` wrote. Raises UsageError, one line, for whatever it did not write."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} holds no seeds ({error!s:.120}); run `warpsmith synth crawl`") from error
    if not isinstance(value, dict) or value.pop("format", None) != FORMAT:
        raise UsageError(f"{path} is not in the format {FORMAT!r}; run `warpsmith synth crawl` again")
    try:
        crawled = _typed(Crawled, value)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(
            f"{path} holds no seeds ({error!s:.120}); run `warpsmith synth crawl` again"
        ) from error
    assert isinstance(crawled, Crawled)
    return crawled


def _typed(kind: Any, value: Any) -> Any:
    """`value` as the dataclasses have it. Raises TypeError or ValueError if it does not fit."""
    if is_dataclass(kind) and isinstance(kind, type):
        return _object(kind, value)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(value)
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise TypeError(f"{value!r:.40} is no list")
        return tuple(_typed(typing.get_args(kind)[0], one) for one in value)
    if type(value) is not kind:
        raise TypeError(f"{value!r:.40} is no {kind}")
    return value


def _object(kind: type, value: Any) -> Any:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.40} is no {kind.__name__}")
    known = {field.name for field in fields(kind)}
    if value.keys() != known:
        raise ValueError(f"a {kind.__name__} has {', '.join(sorted(known))}; not {', '.join(value)!s:.80}")
    hints = typing.get_type_hints(kind)
    return kind(**{name: _typed(hints[name], one) for name, one in value.items()})
