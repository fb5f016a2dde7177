"""Text from outside (logs, sources, file names) made safe for a terminal and for Markdown."""

import re

CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
SURROGATES = re.compile(r"[\ud800-\udfff]")


def printable(text: str) -> str:
    """`text` without escape sequences and control characters; line breaks and tabs stay."""
    return SURROGATES.sub("\ufffd", CONTROL.sub("", text))


def one_line(text: str, limit: int = 200) -> str:
    """The first line that says something, at most `limit` characters."""
    line = next((line.strip() for line in printable(text).splitlines() if line.strip()), "")
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def last_lines(text: str, count: int = 12, width: int = 400) -> str:
    """The end of a log: `count` lines at most, each cut at `width` characters."""
    lines = [line.rstrip() for line in printable(text).splitlines() if line.strip()]
    return "\n".join(line[:width] for line in lines[-count:])
