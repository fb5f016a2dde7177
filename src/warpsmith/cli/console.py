"""Where a command speaks: results on stdout, progress and errors on stderr; --json: one document."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, TextIO, cast

from rich.console import Console as RichConsole
from rich.console import RenderableType
from rich.text import Text

from warpsmith.core.codec import to_json

PLAIN_WIDTH = 140  # of tables where no terminal says how wide it is


class Stream:
    """A text stream whose reader may leave: `| head` ends the writing, not the work."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.encoding = getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        try:
            return self.stream.write(text)
        except OSError as error:
            self._abandon(error)
            return len(text)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except OSError as error:
            self._abandon(error)

    def isatty(self) -> bool:
        return self.stream.isatty()

    def fileno(self) -> int:
        return self.stream.fileno()

    def _abandon(self, error: OSError) -> None:
        """Point the descriptor at nothing, so that the interpreter's last flush doesn't fail again."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.stream.fileno())
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            raise error


class Console:
    """One command's voice. Text of others is passed as rich `Text`, never as markup."""

    def __init__(self, *, is_json: bool) -> None:
        self.is_json = is_json
        self.out = _rich(sys.stdout)
        self.err = _rich(sys.stderr)

    @property
    def is_live(self) -> bool:
        """Whether progress can be drawn in place, rather than as lines."""
        return not self.is_json and self.err.is_terminal and not self.err.is_dumb_terminal

    def say(self, *parts: RenderableType) -> None:
        """A part of the result for a person; with --json nothing."""
        if not self.is_json:
            for part in parts:
                self.out.print(part, soft_wrap=isinstance(part, str))  # a path is not to be broken

    def note(self, line: str) -> None:
        """A line of progress."""
        self.err.print(line, style="dim", soft_wrap=True)

    def warn(self, text: str | None) -> None:
        """Something one should know, if there is anything."""
        if text is not None:
            self.err.print(f"warpsmith: warning: {text}", style="yellow", soft_wrap=True)

    def complain(self, line: str) -> None:
        """An error, in one line."""
        self.err.print(line, style="red", soft_wrap=True)

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """While entered, say that something takes a while."""
        if not self.is_live:
            self.note(what)
            yield
            return
        with self.err.status(Text(what)):
            yield

    def document(self, data: dict[str, Any]) -> None:
        """The one document of a command that was asked for --json; else nothing."""
        if self.is_json:
            self.out.file.write(to_json(data, indent=2) + "\n")
            self.out.file.flush()


def _rich(stream: TextIO | None) -> RichConsole:
    """A console over `stream` that never interprets text, and never fails on a character it cannot encode."""
    target = io.StringIO() if stream is None else stream  # None: the caller closed it
    reconfigure = getattr(target, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    width = None if target.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH
    file = cast("IO[str]", Stream(target))  # rich needs no more of it than Stream has
    return RichConsole(file=file, width=width, markup=False, highlight=False, emoji=False)
