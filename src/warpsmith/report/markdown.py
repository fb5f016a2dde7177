"""Text and tables in Markdown. Whatever a program or its author wrote is escaped."""

import re
from collections.abc import Iterable, Sequence

from warpsmith.report.plain import printable

SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
FENCE = re.compile(r"`{3,}")


def escaped(text: str) -> str:
    """`text` as Markdown that shows it literally, on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))


def code(text: str) -> str:
    """`text` as inline code."""
    line = " ".join(printable(text).split()).replace("|", "\\|")
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def fenced(text: str, language: str = "") -> str:
    """`text` as a block that nothing in it can end."""
    longest = max((len(run) for run in FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{printable(text).rstrip()}\n{fence}"


def quoted(text: str) -> str:
    """`text` as a quotation that keeps its lines."""
    return "\n".join(f"> {escaped(line)}".rstrip() + "  " for line in text.splitlines()).rstrip()


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
