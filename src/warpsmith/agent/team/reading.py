"""A JSON object out of what a model wrote: alone, in a fence, or amid prose."""

from collections.abc import Iterator
from typing import Any

from warpsmith.policy.actions.fences import blocks_in
from warpsmith.policy.actions.reading import MAX_CHARACTERS, printable, read_json, split_thinking


class Unreadable(ValueError):
    """What a member said is not what it was asked for; the message tells it what is."""


def object_in(text: str, key: str) -> dict[str, Any]:
    """The first object in `text` that has `key`; a bare list stands for its value. Raises Unreadable."""
    _, said = split_thinking(printable(text[:MAX_CHARACTERS]))
    found = list(_values(said))
    for value in found:
        if isinstance(value, list):
            return {key: value}
        if key in value:
            return value
    if found:
        raise Unreadable(f"the JSON object has no {key!r}; it has {', '.join(map(repr, found[0]))[:200]}")
    raise Unreadable(f"there is no JSON object with {key!r} in the reply")


def _values(said: str) -> Iterator[dict[str, Any] | list[Any]]:
    """Objects and lists, the likeliest place first."""
    first, last = said.find("{"), said.rfind("}")
    places = [said, *(block.text for block in blocks_in(said) if block.is_closed)]
    for place in (*places, said[first : last + 1] if 0 <= first < last else ""):
        try:
            value = read_json(place)
        except ValueError:
            continue
        if isinstance(value, dict | list):
            yield value


def words_of(value: object, limit: int) -> str:
    """A text field, whatever a model put there, on as many characters as are read."""
    match value:
        case None:
            return ""
        case str():
            return value.strip()[:limit]
        case list() | tuple():
            return "; ".join(words_of(item, limit) for item in value)[:limit]
        case dict():
            return "; ".join(f"{key}: {words_of(item, limit)}" for key, item in value.items())[:limit]
        case _:
            return str(value)[:limit]
