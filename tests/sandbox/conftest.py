import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from warpsmith.core import Command, Limits
from warpsmith.sandbox import SANDBOXES, Sandbox


@pytest.fixture(params=SANDBOXES)
def sandbox(request) -> Sandbox:
    """Every kind that works here. Where one doesn't, its tests are skipped with its own reason."""
    kind = SANDBOXES[request.param]
    reason = kind.why_unavailable()
    if reason is not None:
        pytest.skip(reason)
    return kind()


@pytest.fixture
def folder(tmp_path) -> Path:
    """The current folder of the commands, writable to them."""
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def python(folder) -> Callable[..., Command]:
    """A command that runs Python source."""

    def make(source: str, *arguments: object, **rest) -> Command:
        limits = rest.pop("limits", Limits(wall_s=20))
        argv = (sys.executable, "-I", "-S", "-c", source, *map(str, arguments))
        rest = {"cwd": folder, "writable": (folder,)} | rest
        return Command(argv=argv, limits=limits, **rest)

    return make


@pytest.fixture
def start(sandbox, python) -> Iterator[Callable[..., object]]:
    """Starts guests that find `requests` and `answers` open, and closes them when the test is over."""
    guests = []

    def begin(source: str, **rest) -> object:
        guests.append(sandbox.start(python(GUEST + source, **rest)))
        return guests[-1]

    yield begin
    for guest in guests:
        guest.close()


GUEST = """
import os, sys, time
requests = os.fdopen(int(os.environ["WARPSMITH_REQUESTS_FD"]), "rb")
answers = os.fdopen(int(os.environ["WARPSMITH_ANSWERS_FD"]), "wb", buffering=0)
"""
