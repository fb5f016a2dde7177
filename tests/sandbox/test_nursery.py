"""Forking guests from one server: what it survives, and what it leaves behind."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from warpsmith.core import Command, Completed, Ending, InfraError
from warpsmith.sandbox import SANDBOXES, nursery
from warpsmith.sandbox.nursery import NURSERIES, Nursery

ECHO = """
import os
requests = os.fdopen(int(os.environ["WARPSMITH_REQUESTS_FD"]), "rb")
answers = os.fdopen(int(os.environ["WARPSMITH_ANSWERS_FD"]), "wb", buffering=0)
for line in requests: answers.write(line.upper())
"""


def num_open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def children() -> list[psutil.Process]:
    return psutil.Process().children()


@pytest.fixture(params=["bubblewrap", "process"])
def kind(request):
    found = SANDBOXES[request.param]
    if not found.is_available():
        pytest.skip(found.why_unavailable())
    return found()


@pytest.fixture
def command(modules, python) -> Command:
    return modules.forked(python(ECHO))


@pytest.fixture
def own_nursery(command) -> Nursery:
    """A nursery that no other test has used."""
    key = (command.nursery, False)
    before = NURSERIES.pop(key, None)
    NURSERIES[key] = Nursery(command.nursery, gpu=False)
    yield NURSERIES[key]
    NURSERIES.pop(key).close()
    if before is not None:
        NURSERIES[key] = before


def server_of(owner: Nursery) -> psutil.Process:
    assert owner._server is not None
    return psutil.Process(owner._server._process.pid)


def check_echo(kind, command) -> None:
    with kind.start(command) as guest:
        assert guest.ask(b"hello", limit_s=30) == b"HELLO"


def test_guests_are_forks_of_one_server(kind, command, own_nursery):
    check_echo(kind, command)
    server = server_of(own_nursery)
    check_echo(kind, command)
    assert server_of(own_nursery) == server
    assert own_nursery._server.num_forks == 2
    assert own_nursery.why_not == {}


def test_a_server_that_was_killed_is_replaced_and_its_guests_live_on(kind, command, own_nursery):
    with kind.start(command) as guest:
        server_of(own_nursery).kill()
        assert guest.ask(b"still", limit_s=30) == b"STILL"
        check_echo(kind, command)
        assert guest.ask(b"still", limit_s=30) == b"STILL"
    assert own_nursery.why_not == {}


def test_a_stopped_server_costs_time_but_is_no_error(kind, command, own_nursery, monkeypatch):
    check_echo(kind, command)
    monkeypatch.setattr(nursery, "FORK_S", 0.5)
    server_of(own_nursery).send_signal(signal.SIGSTOP)
    check_echo(kind, command)


def test_an_old_server_is_replaced_while_it_still_forks(kind, command, own_nursery):
    own_nursery._forks = 2
    check_echo(kind, command)
    first = server_of(own_nursery)
    give_up = time.monotonic() + 30
    while server_of(own_nursery) == first:
        assert time.monotonic() < give_up
        check_echo(kind, command)
    assert not first.is_running()


def test_a_nursery_that_cannot_start_leaves_the_old_way(kind, python, tmp_path, modules):
    broken = modules.folder / "broken_nursery.py"
    broken.write_text("raise SystemExit('no torch here')")
    whole = modules.forked(python(ECHO))
    command = Command(argv=whole.argv, cwd=whole.cwd, writable=whole.writable, nursery="broken_nursery")
    try:
        for _ in range(4):
            check_echo(kind, command)
        reason = NURSERIES["broken_nursery", False].why_not[kind.name]
        assert "no torch here" in reason
        assert not NURSERIES["broken_nursery", False].is_worth_trying(kind.name)
    finally:
        NURSERIES.pop(("broken_nursery", False)).close()


def test_a_folder_that_is_missing_is_our_error_and_not_the_nursery_s(kind, command, tmp_path, own_nursery):
    missing = Command(argv=command.argv, cwd=tmp_path / "gone", nursery=command.nursery)
    for _ in range(5):
        with pytest.raises(InfraError, match="gone"):
            kind.start(missing)
    assert own_nursery.is_worth_trying(kind.name)


def test_nothing_is_left_of_many_guests(kind, command, own_nursery):
    check_echo(kind, command)
    before = (num_open_files(), len(children()))
    server = server_of(own_nursery)
    server_files = server.num_fds()
    for _ in range(5):
        check_echo(kind, command)
    assert (num_open_files(), len(children())) == before
    assert server.num_fds() == server_files
    give_up = time.monotonic() + 10
    while server.children():
        assert time.monotonic() < give_up, server.children()
        time.sleep(0.05)


def test_threads_share_a_nursery(kind, command, own_nursery):
    answers = []

    def ask(number):
        with kind.start(command) as guest:
            answers.append(guest.ask(b"x%d" % number, limit_s=60))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [b"X%d" % number for number in range(8)]


def test_a_server_ends_with_its_owner(kind, command, modules, tmp_path):
    source = f"""
import sys, time
from pathlib import Path
from warpsmith.core import Command
from warpsmith.sandbox import SANDBOXES
from warpsmith.sandbox.nursery import NURSERIES
command = Command(argv={command.argv!r}, cwd=Path({str(command.cwd)!r}), nursery={command.nursery!r})
guest = SANDBOXES[{kind.name!r}]().start(command)
print(next(iter(NURSERIES.values()))._server._process.pid, flush=True)
time.sleep(60)
"""
    env = os.environ | {"TMPDIR": str(tmp_path)}
    owner = psutil.Popen([sys.executable, "-c", source], env=env, stdout=-1)
    server = psutil.Process(int(owner.stdout.readline()))
    forks = server.children(recursive=True)
    assert forks
    owner.kill()
    owner.wait()
    owner.stdout.close()
    _, alive = psutil.wait_procs([server, *forks], timeout=15)
    assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []


def test_a_forked_guest_that_kills_its_warden_leaves_nothing(kind, python, modules, living):
    source = (
        "import os, time\nos.fork()\n"
        "os.kill(os.getppid(), 9) if os.getppid() > 1 else os._exit(3)\ntime.sleep(60) # warden-3d1e"
    )
    guest = kind.start(modules.forked(python(source)))
    ended = guest.ask(b"", limit_s=3)
    assert isinstance(ended, Completed)
    assert not ended.is_success
    assert not living("warden-3d1e")


def test_the_end_of_a_forked_guest_is_its_own(kind, python, modules):
    codes = {
        "raise SystemExit(7)": 7,
        "raise SystemExit('oh')": 1,
        "1/0": 1,
        "import os; os.kill(os.getpid(), 11)": -11,
    }
    for source, code in codes.items():
        ended = kind.start(modules.forked(python(source))).ask(b"", limit_s=30)
        assert ended.exit_code == code
        assert ended.ending is (Ending.SIGNALLED if code < 0 else Ending.EXITED)
