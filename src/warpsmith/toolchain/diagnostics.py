"""What a compiler said, cut down to what helps: the errors, in the candidate's own file names and lines."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

MAX_CHARACTERS = 4000
MAX_QUOTED = 200
ERROR = re.compile(
    r"\berror\b|undefined reference|multiple definition|unresolved extern|^nvcc fatal|^collect2|ld: ",
    re.IGNORECASE,
)
OTHER = re.compile(
    r"\b(?:warning|remark)\b|^ptxas info|^In file included from|: In (?:function|instantiation)"
)
NOISE = re.compile(
    r"^ptxas info|^\s+\d+ bytes stack frame|^\d+ errors? detected|^Remark: The warnings can be suppressed"
    r"|^compilation terminated|^tmpxft_|^\s*$"
)
PLACE = re.compile(r"^(?P<path>[\w./+-]+)[:(](?P<line>\d+)\)?(?::\d+)?:")


def errors(log: str, roots: Iterable[Path], sources: Mapping[str, str]) -> str:
    """The errors in `log`, each with the line of `sources` that it names; all of it if none is recognized."""
    quotable = {path: text.splitlines() for path, text in sources.items()}
    lines = [line for line in _without(log, roots).splitlines() if not NOISE.search(line)]
    kept: list[str] = []
    is_error = False
    for line in lines:
        if ERROR.search(line):
            is_error = True
            kept += [line, *_quoted(line, quotable)]
        elif OTHER.search(line):
            is_error = False
        elif is_error:
            kept.append(line)
    return shortened("\n".join(kept or lines))


def warnings(log: str, roots: Iterable[Path]) -> str:
    """What else was said: the log without what is said of every program."""
    return shortened("\n".join(line for line in _without(log, roots).splitlines() if not NOISE.search(line)))


def shortened(text: str) -> str:
    """The beginning, up to MAX_CHARACTERS and a whole line; the first error causes most of the others."""
    if len(text) <= MAX_CHARACTERS:
        return text
    head = text[: MAX_CHARACTERS - 60].rpartition("\n")[0] or text[: MAX_CHARACTERS - 60]
    return f"{head}\n… {text.count(chr(10), len(head))} more lines in the build's logs"


def _without(log: str, roots: Iterable[Path]) -> str:
    """`log` with each path relative to the root that holds it."""
    for root in roots:
        log = log.replace(f"{root}/", "")
    return log


def _quoted(line: str, sources: Mapping[str, list[str]]) -> list[str]:
    """The source line that a message names, as the candidate wrote it."""
    place = PLACE.match(line)
    if place is None or place["path"] not in sources:
        return []
    number, lines = int(place["line"]), sources[place["path"]]
    return [f"  {number} | {lines[number - 1][:MAX_QUOTED]}"] if 1 <= number <= len(lines) else []
