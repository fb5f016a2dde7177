"""`python searching.py '{"tool": "grep", …}'`: the searches of glob and grep, standard library alone.

They run in the sandbox: there a pattern that takes for ever can be killed, and no link is worth following.
Exit code 2 means that the request was wrong, and standard error says how.
"""

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

MAX_PATHS = 500
MAX_MATCHES = 200
MAX_LINE = 300
MAX_FILE_BYTES = 32 << 20
SNIFFED_BYTES = 8192  # a null character there makes a file no text
PARTS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|\{[^{}]*\}|[^*?\[{]+|.", re.DOTALL)


@dataclass(frozen=True)
class Request:
    """What is looked for, and where."""

    tool: str
    pattern: str
    path: str = "."
    glob: str = "**"
    ignore_case: bool = False
    context: int = 0


def main() -> None:
    request = Request(**json.loads(sys.argv[1]))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # the name of a file need be no text
    if not Path(request.path).exists():
        _refuse(f"{request.path} is neither a file nor a folder of the workspace")
    lines = _found(request) if request.tool == "glob" else _matches(request)
    sys.stdout.write("\n".join(lines) + "\n")


def _refuse(why: str) -> NoReturn:
    sys.stderr.write(why)
    sys.exit(2)


def _compiled(pattern: str, flags: int, otherwise: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        _refuse(f"{otherwise}: {error}")


def _found(request: Request) -> list[str]:
    names = [name for name, _ in _files(request.path, request.pattern)]
    if not names:
        return [f"no file matches {request.pattern}"]
    rest = len(names) - MAX_PATHS
    return names[:MAX_PATHS] + ([f"[... {rest} more; give a narrower pattern ...]"] if rest > 0 else [])


def _matches(request: Request) -> list[str]:
    flags = re.IGNORECASE if request.ignore_case else 0
    pattern = _compiled(
        request.pattern, flags, f"{request.pattern!r:.200} is no regular expression of Python's"
    )
    shown: list[str] = []
    num_matches = num_files = num_searched = 0
    for name, path in _files(request.path, request.glob):
        text = _text(path)
        if text is None:
            continue
        num_searched += 1
        lines = text.splitlines()
        hits = [index for index, line in enumerate(lines) if pattern.search(line)]
        num_files += bool(hits)
        shown += _shown(name, lines, hits[: max(MAX_MATCHES - num_matches, 0)], request.context)
        num_matches += len(hits)
    if not num_matches:
        return [f"no line matches, in {num_searched} files"]
    rest = num_matches - MAX_MATCHES
    more = [f"[... {rest} more; give a narrower pattern, path or glob ...]"] if rest > 0 else []
    return [f"{num_matches} lines match, in {num_files} of {num_searched} files", *shown, *more]


def _shown(name: str, lines: list[str], hits: list[int], context: int) -> list[str]:
    """Each hit as `name:number:line`, the lines around it as `name-number-line`, as grep shows them."""
    marked = set(hits)
    wanted = sorted(
        {near for hit in hits for near in range(max(hit - context, 0), min(hit + context + 1, len(lines)))}
    )
    shown = []
    for before, index in zip([None, *wanted], wanted, strict=False):
        if context and before is not None and index > before + 1:
            shown.append("--")
        sign = ":" if index in marked else "-"
        shown.append(f"{name}{sign}{index + 1}{sign}{_cut(lines[index])}")
    return shown


def _cut(line: str) -> str:
    return (
        line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} [... {len(line) - MAX_LINE} characters more]"
    )


def _files(path: str, glob: str) -> Iterator[tuple[str, Path]]:
    """Name and place of every plain file at or below `path` whose name fits, in order; links are left out."""
    pattern = _compiled(_translated(glob), re.DOTALL, f"{glob!r:.200} is no pattern of names")
    root = Path(path)
    if root.is_file():
        yield path, root
        return
    for file in _below(root):
        relative = file.relative_to(root).as_posix()
        # Without a slash a pattern is one of names, as for ripgrep and git.
        if pattern.fullmatch(relative if "/" in glob else file.name):
            yield file.as_posix(), file


def _below(root: Path) -> Iterator[Path]:
    """All plain files, without recursion: folders may lie deeper in each other than Python calls may."""
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:  # not ours to read, or its path is longer than paths may be
            continue
        yield from (folder / entry.name for entry in entries if entry.is_file(follow_symlinks=False))
        below = [folder / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        waiting += reversed(below)


def _text(path: Path) -> str | None:
    """A file's text, unless it is none, is huge or cannot be read."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    return None if b"\0" in data[:SNIFFED_BYTES] else data.decode(errors="replace")


def _translated(glob: str) -> str:
    """The regular expression of a glob: `**` crosses folders, `*` and `?` do not, {a,b} is a choice."""
    return "".join(_part(part) for part in PARTS.findall(glob))


def _part(part: str) -> str:
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if part in known:
        return known[part]
    if part.startswith("{") and len(part) > 1:
        return "(?:" + "|".join(_translated(choice) for choice in part[1:-1].split(",")) + ")"
    if part.startswith("[") and len(part) > 2:
        inner = part[1:-1].replace("\\", r"\\")
        return f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    return re.escape(part)


if __name__ == "__main__":
    main()
