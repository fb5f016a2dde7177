"""reStructuredText: a heading is a line underlined by one mark; marks rank as they come first."""

import re
from collections.abc import Iterator

from warpsmith.agent.retrieval.readers.base import Outline, Section, gathered
from warpsmith.agent.retrieval.readers.text import decoded

RULE = re.compile(r"""([!-/:-@\[-`{-~])\1{2,}[ \t]*\Z""")


def read_rst(data: bytes) -> tuple[Section, ...]:
    """The sections of a reStructuredText file. Raises Unreadable."""
    return gathered(_lines(decoded(data).split("\n")))


def _lines(lines: list[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    outline = Outline()
    ranks: list[tuple[str, bool]] = []  # a mark, and whether it stands above the heading too
    place = 0
    while place < len(lines):
        style, words = _heading(lines, place)
        if style is None:
            yield outline.headings, lines[place]
            place += 1
            continue
        if style not in ranks:
            ranks.append(style)
        outline.enter(ranks.index(style) + 1, words)
        yield outline.headings, ""
        place += 3 if style[1] else 2


def _heading(lines: list[str], place: int) -> tuple[tuple[str, bool] | None, str]:
    """How the heading that begins at `place` is marked, and its words."""
    first, second, third = (*lines[place : place + 3], "", "")[:3]
    if RULE.match(first) and second.strip() and third.rstrip() == first.rstrip():
        return (first[0], True), second
    is_words = bool(first.strip()) and not first[0].isspace() and not RULE.match(first)
    if is_words and RULE.match(second) and len(second.rstrip()) >= len(first.rstrip()):
        return (second[0], False), first
    return None, ""
