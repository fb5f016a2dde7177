"""What a reader makes of a file."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and the text up to the next one."""

    headings: tuple[str, ...]  # from the outermost; none before the first heading
    text: str


class Unreadable(Exception):
    """A file that holds no text this reader can have; the message says why."""


class Outline:
    """The headings in force, as they come one after another."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []  # level, heading

    def enter(self, level: int, heading: str) -> None:
        """A heading of `level` (1 is the outermost) ends all of its own level and below."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, " ".join(heading.split())))

    @property
    def headings(self) -> tuple[str, ...]:
        return tuple(heading for _, heading in self._open)


def gathered(pieces: Iterator[tuple[tuple[str, ...], str]]) -> tuple[Section, ...]:
    """Sections out of (headings, line) pairs: neighbours under the same headings are one."""
    sections: list[tuple[tuple[str, ...], list[str]]] = []
    for headings, line in pieces:
        if not sections or sections[-1][0] != headings:
            sections.append((headings, []))
        sections[-1][1].append(line)
    texts = ((headings, "\n".join(lines).strip("\n")) for headings, lines in sections)
    return tuple(Section(headings=headings, text=text) for headings, text in texts if headings or text)
