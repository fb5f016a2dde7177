"""Finding the file in a model's answer."""

import re
import textwrap
import warnings

from warpsmith.core.syntax import parsed

MAX_CHARS = 64 << 10
MARK = re.compile(r"^[ \t]*class\s+Model\b", re.MULTILINE)

_THOUGHT = re.compile(r"<(think|thinking)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"^[ \t]*(```|~~~)[^\n`]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_BEGIN = re.compile(r"^(import |from \w[\w.]* import |\"\"\"|#|class |[A-Z][A-Z_0-9]* *= )", re.MULTILINE)


def extracted(answer: str) -> str | None:
    """The file in `answer`, as well as it can be told from what is said around it; None if there is none.

    Of several fenced blocks the last one with a class Model counts, for a model corrects itself downwards.
    A fence may be missing, or its end.
    """
    text = _THOUGHT.sub("", answer[: 4 * MAX_CHARS]).replace("\r\n", "\n").replace("\r", "\n")
    blocks = [textwrap.dedent(found[2]) for found in _FENCED.finditer(text)]
    marked = [block for block in blocks if MARK.search(block)]
    source = marked[-1] if marked else _unfenced(text)
    if source is None or len(source) > MAX_CHARS:
        return None
    return source.strip() + "\n"


def _unfenced(text: str) -> str | None:
    """From the first line that looks like Python to the last one that still is."""
    begin = _BEGIN.search(text)
    if begin is None or MARK.search(text) is None:
        return None
    lines = text[begin.start() :].split("\n")
    # A paragraph of prose is seldom Python; a line of it often is none either.
    for end in range(len(lines), max(0, len(lines) - 60), -1):
        candidate = "\n".join(lines[:end])
        if MARK.search(candidate) and _is_python(candidate):
            return candidate
    return "\n".join(lines)


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
