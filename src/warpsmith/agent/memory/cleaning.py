"""Text of a run made fit for a note: it was written by models and strangers' programs, and is data."""

import re
import unicodedata

MAX_LINE = 200
MAX_READ = 200_000  # characters that are looked at: a log may have millions
UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""Unicode's categories of what no reader sees: control, format (bidirectional ones too), surrogates."""

ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")
TURN_MARK = re.compile(r"<(?=\|)|(?<=\|)>|\[(?=/?INST\])|<(?=/?(?:s|think|tool_call|system)>)", re.IGNORECASE)
"""What a chat template could take for the end of a message."""


def clean(text: str) -> str:
    """`text` as lines of characters that a reader sees; marks of chat templates are broken up."""
    seen = "".join(_seen(one) for one in ESCAPE.sub("", text[:MAX_READ]))
    return TURN_MARK.sub(lambda mark: f"{mark[0]} " if mark[0] != ">" else " >", seen)


def line(text: str, limit: int = MAX_LINE) -> str:
    """The first line of `text` that says something, at most `limit` characters."""
    said = next((one for one in map(_words, clean(text).split("\n")) if one), "")
    return said if len(said) <= limit else f"{said[: limit - 1]}…"


def lines(text: str, *, count: int, width: int) -> str:
    """At most `count` lines of `width` characters, and how many were left out."""
    found = [one[:width].rstrip() for one in clean(text).split("\n")]
    kept = found[:count]
    return "\n".join(kept if len(found) <= count else [*kept, f"({len(found) - count} more lines)"])


def fenced(text: str, kind: str) -> str:
    """`text` in a fence that nothing in it can close."""
    longest = max((len(run) for run in re.findall(r"[`~]+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def _words(text: str) -> str:
    return " ".join(text.split())


def _seen(character: str) -> str:
    if character in "\n\t":
        return character
    if character in "\r\v\f\x85\u2028\u2029":
        return "\n"
    return "" if unicodedata.category(character) in UNSEEN else character
