import itertools
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest

from warpsmith.core import Command, Completed, Guest, Limits
from warpsmith.sandbox import SANDBOXES, Sandbox
from warpsmith.sandbox.nursery import NURSERIES

NURSERY = "nursery_of_the_tests"
NURSERY_SOURCE = """
import ctypes, psutil
from warpsmith.sandbox.warden import serve
serve(lambda: None)
"""
BOTH_WAYS = ("bubblewrap", "process")  # kinds that can fork a guest as well as start it
WAYS = [*SANDBOXES, *(f"{kind}-forked" for kind in BOTH_WAYS)]

# A forked guest has the command line of its nursery, so it takes the mark in its source for its name.
NAME = "import ctypes; ctypes.CDLL(None).prctl(15, {mark!r}.encode())\n"
GUEST = """
import os, sys, time
requests = os.fdopen(int(os.environ["WARPSMITH_REQUESTS_FD"]), "rb")
answers = os.fdopen(int(os.environ["WARPSMITH_ANSWERS_FD"]), "wb", buffering=0)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Modules:
    """Makes modules of sources, where guests find them."""

    folder: Path
    numbers: Iterator[int]

    def forked(self, command: Command) -> Command:
        """The same program as a module's, to be forked. `command` is one that the fixture `python` made."""
        name = f"program_{next(self.numbers)}"
        source, *arguments = command.argv[command.argv.index("-c") + 1 :]
        mark = re.search(r"# ?([a-z]+-[0-9a-f]{4})", source)
        first = NAME.format(mark=mark[1]) if mark else ""
        (self.folder / f"{name}.py").write_text(f"import sys; sys.argv[1:] = {arguments}\n{first}{source}")
        return replace(command, argv=(sys.executable, "-P", "-m", name), nursery=NURSERY)


@pytest.fixture(scope="session")
def modules(tmp_path_factory) -> Iterator[Modules]:
    folder = tmp_path_factory.mktemp("modules")
    (folder / f"{NURSERY}.py").write_text(NURSERY_SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        patch.setenv("SESSION_SECRET", "hunter3")  # the nursery starts with it around
        yield Modules(folder=folder, numbers=itertools.count())
    for key in [key for key in NURSERIES if key[0] == NURSERY]:
        NURSERIES.pop(key).close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forking:
    """A sandbox whose Python programs are all forked guests."""

    kind: Sandbox
    modules: Modules

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def covers(self) -> tuple[str, ...]:
        return self.kind.covers

    @property
    def not_covered(self) -> tuple[str, ...]:
        return self.kind.not_covered

    @property
    def warning(self) -> str | None:
        return self.kind.warning

    def start(self, command: Command) -> Guest:
        guest = self.kind.start(self.modules.forked(command))
        assert NURSERIES[NURSERY, command.gpu].why_not.get(self.name) is None, "it was started, not forked"
        return guest

    def run(self, command: Command) -> Completed:
        if "-c" not in command.argv:
            return self.kind.run(command)
        guest = self.start(command)
        try:
            completed = guest.ask(b"", limit_s=command.limits.wall_s)
        finally:
            guest.close()
        assert isinstance(completed, Completed)
        return completed


@pytest.fixture(params=WAYS)
def sandbox(request) -> Sandbox:
    """Every kind that works here, both ways. Where one doesn't, its tests are skipped with its own reason."""
    name, _, way = request.param.partition("-")
    kind = SANDBOXES[name]
    reason = kind.why_unavailable()
    if reason is not None:
        pytest.skip(reason)
    return Forking(kind=kind(), modules=request.getfixturevalue("modules")) if way else kind()


@pytest.fixture
def living() -> Callable[[str], list[int]]:
    """The processes whose command line or name holds a mark, as seen from outside; the dead do not count."""

    def find(mark: str) -> list[int]:
        found = psutil.process_iter(["cmdline", "name", "status"])
        return [
            one.pid
            for one in found
            if mark in " ".join((*(one.info["cmdline"] or ()), one.info["name"]))
            and one.info["status"] != psutil.STATUS_ZOMBIE
        ]

    return find


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
def start(sandbox, python) -> Iterator[Callable[..., Guest]]:
    """Starts guests that find `requests` and `answers` open, and closes them when the test is over."""
    guests = []

    def begin(source: str, **rest) -> Guest:
        guests.append(sandbox.start(python(GUEST + source, **rest)))
        return guests[-1]

    yield begin
    for guest in guests:
        guest.close()
