"""The one place where an error becomes an exit code and a line that says what to do."""

import errno
import os
import sys
import traceback

import typer

from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.core import InfraError, UsageError
from warpsmith.report.plain import printable

DEBUG = "WARPSMITH_DEBUG"

PARSE_ERROR: type[BaseException] = typer.BadParameter.__mro__[1]
"""What typer raises for a command line it cannot read; its version decides which package defines it."""

HANDLED = (KeyboardInterrupt, UsageError, InfraError, ModuleNotFoundError, OSError, PARSE_ERROR)

ELSEWHERE = "give another folder (--out for the run, WARPSMITH_CACHE for the build cache)"

ADVICE = {
    errno.ENOSPC: f"make room on that disk, or {ELSEWHERE}",
    errno.EDQUOT: f"make room, since your quota is used up, or {ELSEWHERE}",
    errno.EROFS: f"it cannot be written; {ELSEWHERE}",
    errno.EACCES: f"change its permissions, or {ELSEWHERE}",
    errno.EPERM: f"change its permissions, or {ELSEWHERE}",
    errno.EMFILE: "raise the limit of open files: ulimit -n 4096",
    errno.ENOMEM: "free some memory, or shrink the task with --scale",
}


def exit_code_of(error: BaseException) -> ExitCode:
    """The code that `error` ends a command with."""
    if isinstance(error, UsageError | PARSE_ERROR):
        return ExitCode.USAGE
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    return ExitCode.ENVIRONMENT if isinstance(error, HANDLED) else ExitCode.BUG


def message_of(error: BaseException) -> str:
    """`error` in one line, with what to do about it."""
    if isinstance(error, KeyboardInterrupt):
        text = "interrupted"
    elif isinstance(error, ModuleNotFoundError):
        install = f"{sys.executable} -m pip install {error.name}"
        text = f"the Python package {error.name} is missing; install it: {install}"
    elif isinstance(error, OSError):
        text = _os_error_text(error)
    elif isinstance(error, PARSE_ERROR):
        text = f"{_parse_error_text(error)} (see: warpsmith --help)"
    elif isinstance(error, HANDLED):
        text = str(error)
    else:
        text = f"this is a bug of warpsmith's: {type(error).__name__}: {error} ({DEBUG}=1 shows where)"
    return " ".join(printable(text).split())


def report(error: BaseException, console: Console) -> ExitCode:
    """Say what went wrong, in the form that was asked for, and give the exit code."""
    if os.environ.get(DEBUG, "") not in ("", "0"):
        traceback.print_exception(error, file=sys.stderr)
    code, message = exit_code_of(error), message_of(error)
    console.complain(f"warpsmith: {message}")
    console.document({"error": message, "exit_code": int(code)})
    return code


def _os_error_text(error: OSError) -> str:
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    what = f"{': '.join(names) or 'a file'}: {error.strerror or error}"
    advice = ADVICE.get(error.errno or 0)
    return what if advice is None else f"{what}; {advice}"


def _parse_error_text(error: BaseException) -> str:
    text = getattr(error, "format_message", error.__str__)()
    return text.rstrip(".") or "this command line cannot be read"
