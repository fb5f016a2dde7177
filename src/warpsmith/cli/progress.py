"""Shows progress of one episode, or of several at once: lines, and on a terminal a status line below them."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from warpsmith.agent.events import Event
from warpsmith.cli.console import Console
from warpsmith.cli.narrator import Narrator
from warpsmith.report.plain import printable

REFRESH_HZ = 8.0


class Progress:
    """A listener of the agent's, and an audience of attempts; enter it around what it listens to."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._begun_s = clock()
        self._narrator = Narrator()
        self._attempts: dict[int, Narrator] = {}
        self._spinner = Spinner("dots")
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_live:
            self._live = Live(
                console=self._console.err,
                get_renderable=self._status,
                refresh_per_second=REFRESH_HZ,
                transient=True,
            )
            self._live.start()
        else:
            self._tell(self._narrator.doing)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def on_event(self, event: Event) -> None:
        line = self._narrator.tell(event)
        if line is not None:
            self._tell(line)

    def on_attempt(self, attempt: int, event: Event) -> None:
        """One of several that run side by side: its lines bear its number."""
        line = self._attempts.setdefault(attempt, Narrator()).tell(event)
        if line is not None:
            self._tell(f"[{attempt}] {line}")
        self._narrator.doing = ", ".join(
            f"{number}: {narrator.doing}" for number, narrator in sorted(self._attempts.items())
        )

    def _tell(self, line: str) -> None:
        self._console.note(f"{self._elapsed():>6}  {printable(line)}")

    def _elapsed(self) -> str:
        minutes, seconds = divmod(int(self._clock() - self._begun_s), 60)
        return f"{minutes}:{seconds:02d}"

    def _status(self) -> Spinner:
        text = f"{self._elapsed()} · {printable(self._narrator.status)} · Ctrl-C: finish this step and save"
        self._spinner.update(text=Text(text, no_wrap=True, overflow="ellipsis"))
        return self._spinner
