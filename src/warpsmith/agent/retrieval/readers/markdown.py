"""Markdown: headings by # and by underlines, none inside of fences."""

import re
from collections.abc import Iterator

from warpsmith.agent.retrieval.readers.base import Outline, Section, gathered
from warpsmith.agent.retrieval.readers.text import decoded

HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<words>.*?))?(?:[ \t]+#+)?[ \t]*\Z")
UNDERLINE = re.compile(r" {0,3}(?P<mark>=+|-+)[ \t]*\Z")
FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<rest>.*)\Z")
NO_WORDS = re.compile(r"[ \t]*(?:[>|*+-]|\d+[.)]|\Z)| {4}")  # what an underline makes no heading of


def read_markdown(data: bytes) -> tuple[Section, ...]:
    """The sections of a Markdown file. Raises Unreadable."""
    return gathered(_lines(decoded(data).split("\n")))


def _lines(lines: list[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    outline, fence, skipped = Outline(), "", False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if skipped:
            skipped = False
            continue
        fence_before, fence = fence, _fence(line, fence)
        if fence or fence_before:
            yield outline.headings, line
        elif found := HEADING.match(line):
            outline.enter(len(found["marks"]), found["words"] or "")
            yield outline.headings, ""
        elif (under := UNDERLINE.match(following)) and not NO_WORDS.match(line):
            outline.enter(1 if under["mark"][0] == "=" else 2, line)
            skipped = True
            yield outline.headings, ""
        else:
            yield outline.headings, line


def _fence(line: str, fence: str) -> str:
    """The fence that is open after `line`, if one is."""
    found = FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return "" if found["mark"][0] == "`" and "`" in found["rest"] else found["mark"]
    is_end = found["mark"].startswith(fence) and not found["rest"].strip()
    return "" if is_end else fence
