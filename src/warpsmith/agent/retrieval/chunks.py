"""Sections cut into chunks: what is under one heading stays together as far as it fits.

A token is what `agent.window.tokens` takes for one: three bytes of UTF-8, which is rather too many tokens.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from warpsmith.agent.retrieval.readers.base import Section
from warpsmith.agent.window.tokens import BYTES_PER_TOKEN

MAX_TOKENS = 1_000
OVERLAP_TOKENS = 100
MAX_BYTES = MAX_TOKENS * BYTES_PER_TOKEN
OVERLAP_BYTES = OVERLAP_TOKENS * BYTES_PER_TOKEN
MAX_LINE = (MAX_BYTES - OVERLAP_BYTES) // 4 - 1  # characters of up to four bytes: it fits behind an overlap
BETWEEN = " > "


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a document, at most MAX_TOKENS long."""

    heading: str  # the headings that hold for all of it, the outermost first
    text: str


def chunks(sections: Sequence[Section]) -> tuple[Chunk, ...]:
    """A heading with all below it is one chunk if that fits; else its text is, and each heading below it.

    A text that is too long even so is cut between lines; each piece begins with the end of the one before.
    """
    return tuple(_chunks(sections, 0)) if sections else ()


def _chunks(sections: Sequence[Section], depth: int) -> Iterator[Chunk]:
    shared = _shared([one.headings for one in sections if one.text] or [sections[0].headings])
    whole = "\n\n".join(part for part in (_text(section, shared) for section in sections) if part)
    heading = BETWEEN.join(shared)
    if len(whole.encode()) <= MAX_BYTES:
        if whole.strip():
            yield Chunk(heading=heading, text=whole)
    elif len(sections) == 1:
        yield from (Chunk(heading=heading, text=piece) for piece in _pieces(whole))
    else:
        for is_below, under in groupby(sections, key=lambda section: section.headings[depth : depth + 1]):
            group = tuple(under)
            # Neighbours without a heading at this depth are the text above the headings below: one section.
            yield from _chunks(group, depth + 1 if is_below else depth)


def _shared(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The headings that all of them begin with."""
    levels = takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False))
    return tuple(level[0] for level in levels)


def _text(section: Section, shared: tuple[str, ...]) -> str:
    """The text under its own heading; headings that hold for the whole chunk are not repeated."""
    if section.headings == shared[: len(section.headings)]:
        return section.text
    return f"{'#' * len(section.headings)} {section.headings[-1]}\n{section.text}".rstrip("\n")


def _pieces(text: str) -> Iterator[str]:
    lines = [piece for line in text.split("\n") for piece in _short(line)]
    piece: list[str] = []
    num_bytes = 0
    for line in lines:
        more = len(line.encode()) + 1
        if piece and num_bytes + more > MAX_BYTES:
            yield "\n".join(piece)
            piece = _end(piece)
            num_bytes = sum(len(kept.encode()) + 1 for kept in piece)
        piece.append(line)
        num_bytes += more
    yield "\n".join(piece)


def _short(line: str) -> list[str]:
    if len(line) <= MAX_LINE:
        return [line]
    return textwrap.wrap(line, MAX_LINE, drop_whitespace=False, break_on_hyphens=False)


def _end(lines: list[str]) -> list[str]:
    """The last lines that make OVERLAP_TOKENS at most; of a last line that is longer, its last words."""
    kept: list[str] = []
    room = OVERLAP_BYTES
    for line in reversed(lines):
        if (room := room - len(line.encode()) - 1) < 0:
            break
        kept.append(line)
    if not kept:
        tail = lines[-1].encode()[-OVERLAP_BYTES + 1 :].decode(errors="ignore")
        return [tail.partition(" ")[2] or tail]
    return kept[::-1]
