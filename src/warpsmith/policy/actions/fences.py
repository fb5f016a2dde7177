"""Fenced blocks of a text, in one pass: a hostile text must not cost its length squared."""

import re
from dataclasses import dataclass

FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: `heading` is the last line above it that says something."""

    start: int
    end: int
    heading_start: int
    heading: str
    info: str  # what stands behind the opening fence
    text: str
    is_closed: bool


def blocks_in(text: str) -> list[Block]:
    """All blocks in order; the last may have no end."""
    blocks: list[Block] = []
    opening: re.Match[str] | None = None
    position = 0
    for fence in FENCE.finditer(text):
        if opening is None:
            opening = fence
        elif fence[1].startswith(opening[1]) and not fence[2].strip():
            blocks.append(_block(text, position, opening, fence))
            position, opening = fence.end(), None
    if opening is not None:
        blocks.append(_block(text, position, opening, None))
    return blocks


def _block(text: str, since: int, opening: re.Match[str], closing: re.Match[str] | None) -> Block:
    above = text[since : opening.start()].rstrip()
    heading_start = since + above.rfind("\n") + 1
    end = len(text) if closing is None else closing.start()
    return Block(
        start=opening.start(),
        end=len(text) if closing is None else closing.end(),
        heading_start=heading_start,
        heading=text[heading_start : opening.start()].strip(),
        info=opening[2].strip(),
        text=text[min(opening.end() + 1, end) : end],
        is_closed=closing is not None,
    )
