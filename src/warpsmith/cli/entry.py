"""What holds for the whole process: its signals, and what an unforeseen error looks like."""

import signal
import sys
from types import FrameType, TracebackType

from warpsmith.cli.app import run
from warpsmith.cli.console import Console
from warpsmith.cli.errors import report


def enter() -> int:
    """Run the command line that this process was started with."""
    sys.excepthook = _on_bug
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores it on purpose
            signal.signal(number, _on_signal)
    return run(sys.argv[1:])


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    """Whoever ends us politely gets what Ctrl-C gets: the step is finished and the best so far is saved."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a script's background jobs have it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


def _on_bug(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    """A line rather than a traceback; the interpreter then exits with 1."""
    report(error, Console(is_json="--json" in sys.argv))
