"""HTML: headings by h1 to h6; what guides through a site rather than says something is left out.

Markup is found by one expression that takes time in proportion to the text, however broken that is: the
standard library's parser takes minutes for a page of comments that nothing ends.
"""

import html
import re

from warpsmith.agent.retrieval.readers.base import Outline, Section, gathered
from warpsmith.agent.retrieval.readers.text import decoded

SILENT = "script|style|nav|footer|template|svg|noscript|title"
ATTRIBUTES = r"(?:[\s/][^<>]{0,8000})?"
MARKUP = re.compile(
    rf"""<!--.*?(?:-->|\Z)
    |<(?P<silent>{SILENT})\b{ATTRIBUTES}(?<!/)>.*?(?:</(?P=silent)\s*>|\Z)
    |<(?P<end>/?)(?P<tag>[a-z][\w:-]{{0,40}}){ATTRIBUTES}>
    |<[!?][^<>]{{0,8000}}>""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
BLOCKS = frozenset(
    ("p", "div", "section", "article", "main", "li", "ul", "ol", "dl", "dt", "dd", "table", "tr", "pre")
) | frozenset(("blockquote", "br", "hr", "figure", "figcaption"))
CELLS = frozenset(("td", "th"))
HEADINGS = {f"h{level}": level for level in range(1, 7)}
CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?(?P<name>[\w.:-]{1,40})""", re.IGNORECASE)
HEAD_BYTES = 4096
PILCROW = re.compile(r"\s*[¶#]\s*\Z")  # the sign by which a heading links to itself


def read_html(data: bytes) -> tuple[Section, ...]:
    """The sections of a page, in the character set that it names. Raises Unreadable."""
    named = CHARSET.search(data[:HEAD_BYTES])
    text = decoded(data, named["name"].decode() if named else "utf-8")
    page, place = _Page(), 0
    for markup in MARKUP.finditer(text):
        page.say(html.unescape(text[place : markup.start()]))
        if markup["tag"] is not None:
            (page.leave if markup["end"] else page.enter)(markup["tag"].lower())
        place = markup.end()
    page.say(html.unescape(text[place:]))
    page.end_line()
    return gathered(iter(page.lines))


class _Page:
    """Lines of text, each under the headings in force."""

    def __init__(self) -> None:
        self.lines: list[tuple[tuple[str, ...], str]] = []
        self._outline = Outline()
        self._line: list[str] = []
        self._heading: int | None = None
        self._num_pre = 0

    def enter(self, tag: str) -> None:
        if tag in HEADINGS:
            self.end_line()
            self._heading = HEADINGS[tag]
        elif tag in BLOCKS and self._heading is None:
            self.end_line()
            self._num_pre += tag == "pre"
        elif tag in CELLS or tag in BLOCKS:
            self._line.append(" ")

    def leave(self, tag: str) -> None:
        if tag in HEADINGS or (tag in BLOCKS and self._heading is None):
            self.end_line()
            self._num_pre -= tag == "pre" and self._num_pre > 0

    def say(self, text: str) -> None:
        if not self._num_pre:
            self._line.append(text)
            return
        first, *rest = text.split("\n")
        self._line.append(first)
        for line in rest:
            self.end_line()
            self._line.append(line)

    def end_line(self) -> None:
        """What was said since the last line is one."""
        said, self._line = "".join(self._line), []
        text = said.rstrip() if self._num_pre else " ".join(said.split())
        if self._heading is not None:
            level, self._heading = self._heading, None
            self._outline.enter(level, PILCROW.sub("", text))
            self.lines.append((self._outline.headings, ""))
        elif text or self._num_pre:
            self.lines.append((self._outline.headings, text))
