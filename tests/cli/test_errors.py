"""The one table from errors to exit codes and lines."""

import errno

import pytest
import typer

from warpsmith.cli.console import Console
from warpsmith.cli.errors import exit_code_of, message_of, report
from warpsmith.core import EnvironmentMissing, InfraError, TaskError, UsageError


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UsageError("choose one of a, b"), 2, "choose one of a, b"),
        (TaskError("rows.py: the reference is random"), 2, "rows.py: the reference is random"),
        (typer.BadParameter("not a number."), 2, "Invalid value: not a number (see: warpsmith --help)"),
        (EnvironmentMissing("no nvcc; pip install it"), 6, "no nvcc; pip install it"),
        (InfraError("the oracle died"), 6, "the oracle died"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(errno.ENOSPC, "No space left on device", "/x"), 6, "/x: No space left on device; make room"),
        (OSError(errno.EROFS, "Read-only", "/x"), 6, "/x: Read-only; it cannot be written; give another"),
        (PermissionError(errno.EACCES, "Denied", "/x"), 6, "/x: Denied; change its permissions"),
        (OSError(errno.EDQUOT, "Quota", "/x"), 6, "/x: Quota; make room"),
        (OSError("odd"), 6, "a file: odd"),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), 6, "the Python package torch is"),
        (ZeroDivisionError("division"), 1, "this is a bug of warpsmith's: ZeroDivisionError: division"),
        (UsageError("two\nlines\x1b[2J"), 2, "two lines"),
    ],
)  # fmt: skip
def test_an_error_has_a_code_and_one_line(error, code, message):
    assert exit_code_of(error) == code
    assert message_of(error).startswith(message)
    assert len(message_of(error).splitlines()) == 1
    assert "\x1b" not in message_of(error)


@pytest.mark.parametrize(("setting", "is_shown"), [("1", True), ("0", False), ("", False)])
def test_only_debug_shows_a_traceback(capsys, monkeypatch, setting, is_shown):
    monkeypatch.setenv("WARPSMITH_DEBUG", setting)
    report(InfraError("deep"), Console(is_json=False))
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "warpsmith: deep"
    assert (len(lines) > 1) is is_shown
