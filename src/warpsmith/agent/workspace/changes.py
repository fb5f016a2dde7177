"""Replacing text in a file: exactly what was meant, or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A replacement of text in a file."""

    old: str
    new: str
    is_everywhere: bool = False  # else `old` must stand in one place alone


class Unfit(ValueError):
    """A change cannot be made; the message says why."""


def changed(text: str, changes: Sequence[Change], max_characters: int) -> tuple[str, tuple[int, ...]]:
    """`text` after all of `changes`, each seeing what those before it left; and the first line of each.

    Raises Unfit if one does not match, or the text would grow beyond `max_characters`: a few words could ask
    for more memory than there is.
    """
    lines = []
    for number, change in enumerate(changes, start=1):
        why_not = _why_not(change, text, max_characters)
        if why_not is not None:
            which = f"edit {number} of {len(changes)}, none of which is made: " if len(changes) > 1 else ""
            raise Unfit(f"{which}{why_not}")
        lines.append(text[: text.index(change.old)].count("\n") + 1)
        text = text.replace(change.old, change.new)
    return text, tuple(lines)


def _why_not(change: Change, text: str, max_characters: int) -> str | None:
    """What keeps a change from being made in `text`."""
    count = text.count(change.old) if change.old else 0
    if count > 1 and not change.is_everywhere:
        return (
            f"`old` stands there {count} times; give more of its surroundings, or a multi_edit with all: true"
        )
    if count and len(text) + count * (len(change.new) - len(change.old)) > max_characters:
        return f"the file would have more than {max_characters} bytes; that many are accepted"
    if count:
        return None
    if change.old.split() and " ".join(change.old.split()) in " ".join(text.split()):
        return "`old` is there but with other spaces or line ends; it must match exactly: read the file"
    return "`old` is not there; it must match one place exactly, spaces included"
