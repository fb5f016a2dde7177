"""What every kind of sandbox must do; where a kind cannot, it must say so in `not_covered`."""

import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from warpsmith.core import Command, Ending, InfraError, Limits
from warpsmith.sandbox import Guarantee

MIB = 1 << 20


# Endings


@pytest.mark.parametrize("code", [0, 7])
def test_an_exit_code_is_data(sandbox, python, code):
    completed = sandbox.run(python(f"raise SystemExit({code})"))
    assert (completed.ending, completed.exit_code) == (Ending.EXITED, code)
    assert completed.is_success == (code == 0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_signal_is_told_from_an_exit(sandbox, python, number):
    completed = sandbox.run(python(f"import os; os.kill(os.getpid(), {int(number)})"))
    assert (completed.ending, completed.exit_code) == (Ending.SIGNALLED, -number)


def test_both_streams_are_captured(sandbox, python):
    completed = sandbox.run(python("import sys; print('out'); print('err', file=sys.stderr)"))
    assert (completed.stdout, completed.stderr) == ("out\n", "err\n")


def test_output_that_is_not_text_is_readable(sandbox, python):
    completed = sandbox.run(python("import os; os.write(1, b'\\xff\\x00ok')"))
    assert completed.stdout == "\ufffd\0ok"


def test_an_endless_loop_ends_at_the_limit(sandbox, python):
    completed = sandbox.run(python("print('begun', flush=True)\nwhile True: pass", limits=Limits(wall_s=0.5)))
    assert completed.ending is Ending.TIMED_OUT
    assert completed.stdout == "begun\n"
    assert "0.5 s" in completed.stderr
    assert 0.5 <= completed.wall_s < 5


def test_a_program_that_ignores_signals_ends_at_the_limit(sandbox, python):
    source = "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(60)"
    assert sandbox.run(python(source, limits=Limits(wall_s=0.5))).ending is Ending.TIMED_OUT


def test_there_is_no_standard_input(sandbox, python):
    completed = sandbox.run(python("import sys; print(repr(sys.stdin.read()))"))
    assert completed.stdout == "''\n"


def test_an_unknown_program_is_our_error(sandbox, folder):
    with pytest.raises(InfraError, match="no-such-program"):
        sandbox.run(Command(argv=("no-such-program",), cwd=folder))


def test_a_missing_folder_is_our_error(sandbox, folder):
    with pytest.raises(InfraError, match="gone"):
        sandbox.run(Command(argv=("true",), cwd=folder / "gone"))


def test_a_file_that_cannot_be_executed_is_our_error(sandbox, folder):
    broken = folder / "broken"
    broken.write_bytes(b"\x7fELF but not really")
    broken.chmod(0o755)
    if sandbox.name == "bubblewrap":  # which itself starts, and says so
        assert "broken" in sandbox.run(Command(argv=(str(broken),), cwd=folder)).stderr
    else:
        with pytest.raises(InfraError, match="broken"):
            sandbox.run(Command(argv=(str(broken),), cwd=folder))


def test_a_program_beside_the_command_is_found(sandbox, folder):
    script = folder / "hello"
    script.write_text("#!/bin/sh\necho hello $1\n")
    script.chmod(0o755)
    assert sandbox.run(Command(argv=("./hello", "you"), cwd=folder)).stdout == "hello you\n"


# Limits


def test_a_flood_of_output_keeps_its_beginning_and_end(sandbox, python):
    source = (
        "import os\nprint('first', flush=True)\n"
        "for _ in range(100): os.write(1, b'x' * (1 << 20))\nprint('last')"
    )
    completed = sandbox.run(python(source, limits=Limits(wall_s=30, output_bytes=MIB)))
    assert completed.is_success
    assert completed.stdout.startswith("first\n")
    assert completed.stdout.endswith("last\n")
    assert MIB <= len(completed.stdout) < MIB + 100
    assert "bytes left out here" in completed.stdout


def test_memory_is_limited_over_the_whole_tree(sandbox, python):
    source = "import os, time\nfor _ in range(3): os.fork()\nhoard = bytearray(40 << 20)\ntime.sleep(60)"
    completed = sandbox.run(python(source, limits=Limits(wall_s=20, memory_bytes=100 * MIB)))
    assert completed.ending is Ending.OUT_OF_MEMORY
    assert "memory" in completed.stderr


def test_memory_that_processes_share_counts_once(sandbox, python):
    source = "import os, time\nshared = bytearray(60 << 20)\nfor _ in range(2): os.fork()\ntime.sleep(0.5)"
    assert sandbox.run(python(source, limits=Limits(wall_s=20, memory_bytes=120 * MIB))).is_success


def test_a_fork_bomb_is_put_out(sandbox, python, living):
    source = (
        "import os, time  # bomb-7f3a\nfor n in range(200):\n    os.fork() or time.sleep(60)\ntime.sleep(60)"
    )
    completed = sandbox.run(python(source, limits=Limits(wall_s=20, processes=40)))
    assert completed.ending is Ending.SIGNALLED
    assert "more than 40 processes" in completed.stderr
    assert not living("bomb-7f3a")


def test_as_many_processes_as_allowed_may_run(sandbox, python):
    source = (
        "import os, time\nchildren = [os.fork() or os._exit(time.sleep(0.3) or 0) for _ in range(19)]\n"
        "print(sum(os.waitpid(child, 0)[1] == 0 for child in children))"
    )
    assert sandbox.run(python(source, limits=Limits(wall_s=20, processes=20))).stdout == "19\n"


def test_a_file_cannot_fill_the_disk(sandbox, python, folder):
    source = "f = open('big', 'wb')\nwhile True: f.write(b'x' * (1 << 20))"
    completed = sandbox.run(python(source, limits=Limits(wall_s=20, file_bytes=8 * MIB)))
    assert not completed.is_success
    assert (folder / "big").stat().st_size <= 8 * MIB


def test_a_crash_leaves_no_core(sandbox, python, folder):
    sandbox.run(python("import os; os.abort()"))
    assert list(folder.iterdir()) == []


# The whole tree


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)  # holds standard output
    os._exit(0)
os.wait()
print("done")
"""


def test_a_daemon_that_holds_the_output_neither_delays_nor_survives(sandbox, python, living):
    began = time.monotonic()
    completed = sandbox.run(python(DAEMON + "# daemon-51c2"))
    assert completed.is_success
    assert completed.stdout == "done\n"
    assert time.monotonic() - began < 5
    assert not living("daemon-51c2")


def test_a_tree_that_outlasts_its_time_is_killed_whole(sandbox, python, living):
    source = DAEMON + "time.sleep(60)  # tree-90be"
    assert sandbox.run(python(source, limits=Limits(wall_s=0.5))).ending is Ending.TIMED_OUT
    assert not living("tree-90be")


def test_a_program_that_kills_its_supervisor_leaves_nothing(sandbox, python, living):
    source = "import os, time\nos.fork()\nos.fork()\nos.kill(os.getppid(), 9)\ntime.sleep(60) # killer-3d1e"
    completed = sandbox.run(python(source, limits=Limits(wall_s=2)))
    assert not completed.is_success
    assert not living("killer-3d1e")


def test_nothing_survives_our_own_death(sandbox, tmp_path, living):
    source = f"""
from pathlib import Path
from warpsmith.core import Command
from warpsmith.sandbox import SANDBOXES
SANDBOXES[{sandbox.name!r}]().run(Command(argv=("sleep", "61.25"), cwd=Path("/usr")))
"""
    ours = psutil.Popen([sys.executable, "-c", source], env=os.environ | {"TMPDIR": str(tmp_path)})
    wait_until(lambda: living("sleep 61.25"))
    ours.kill()
    ours.wait()
    wait_until(lambda: not living("sleep 61.25"))


def wait_until(is_so) -> None:
    give_up = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_commands_run_beside_each_other(sandbox, python):
    done = {}
    source = "import sys, time; time.sleep(0.3); print(sys.argv[1])"

    def run(number):
        done[number] = sandbox.run(python(source, number)).stdout

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == {number: f"{number}\n" for number in range(6)}


# What it sees


def test_the_environment_is_clean(sandbox, python, folder, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    completed = sandbox.run(
        python("import os; print('\\n'.join(f'{k}={v}' for k, v in os.environ.items()))", env={"MINE": "yes"})
    )
    seen = dict(line.split("=", 1) for line in completed.stdout.splitlines())
    assert "hunter2" not in completed.stdout
    assert seen["MINE"] == "yes"
    assert (seen["HOME"], seen["LANG"]) == (str(folder), "C.UTF-8")
    allowed = {
        "PATH",
        "HOME",
        "LANG",
        "LC_CTYPE",
        "USER",
        "PWD",
        "PYTHONPATH",
        "TMPDIR",
        "WARPSMITH_TREE",
        "MINE",
        "WARPSMITH_REQUESTS_FD",  # of a guest
        "WARPSMITH_ANSWERS_FD",
    }
    assert set(seen) <= allowed


def test_nothing_of_the_environment_is_left_in_memory(sandbox, python):
    completed = sandbox.run(python("print(open('/proc/self/environ').read())"))
    assert "WARPSMITH_TREE=" in completed.stdout
    assert "hunter3" not in completed.stdout


def test_the_gpu_variables_are_passed_on_only_when_asked_for(sandbox, python, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    source = "import os; print(os.environ.get('CUDA_VISIBLE_DEVICES'))"
    assert sandbox.run(python(source)).stdout == "None\n"
    assert sandbox.run(python(source, gpu=True)).stdout == "7\n"


OPEN_FILES = """
import os
pipes = {os.environ.get("WARPSMITH_REQUESTS_FD"), os.environ.get("WARPSMITH_ANSWERS_FD")}
print(sorted(int(fd) for fd in os.listdir("/proc/self/fd") if fd not in pipes))
"""


def test_no_open_file_of_ours_is_inherited(sandbox, python, tmp_path):
    secret = tmp_path / "open"
    secret.write_text("x")
    with secret.open() as file:
        os.set_inheritable(file.fileno(), True)
        completed = sandbox.run(python(OPEN_FILES))
    assert completed.stdout == "[0, 1, 2, 3]\n"  # 3 reads the folder itself


def test_this_package_can_be_imported_inside(sandbox, folder):
    argv = (sys.executable, "-c", "import warpsmith.core, psutil; print(warpsmith.__path__[0])")
    completed = sandbox.run(Command(argv=argv, cwd=folder))
    assert completed.stdout.strip().endswith("warpsmith")


def test_it_writes_where_it_may(sandbox, python, folder):
    assert sandbox.run(python("open('result', 'w').write('42')")).is_success
    assert (folder / "result").read_text() == "42"


@pytest.fixture
def outside(tmp_path) -> Path:
    place = tmp_path / "outside"
    place.mkdir()
    (place / "file").write_text("ours")
    return place


def test_a_file_that_was_not_named_is_invisible(sandbox, python, outside):
    completed = sandbox.run(python("import sys; print(open(sys.argv[1]).read())", outside / "file"))
    assert completed.is_success == (Guarantee.HIDDEN_FILES in sandbox.not_covered)


def test_a_readable_file_cannot_be_changed(sandbox, python, outside):
    completed = sandbox.run(
        python("import sys; open(sys.argv[1], 'w').write('theirs')", outside / "file", readable=(outside,))
    )
    assert completed.is_success == (Guarantee.READ_ONLY in sandbox.not_covered)


def test_the_current_folder_is_read_only_unless_named(sandbox, python):
    completed = sandbox.run(python("open('new', 'w')", writable=()))
    assert completed.is_success == (Guarantee.READ_ONLY in sandbox.not_covered)


ATTACKS = {
    "overwrite": "open('model.py', 'w').write('theirs')",
    "unlink": "os.unlink('model.py')",
    "replace": "open('x', 'w').write('theirs'); os.replace('x', 'model.py')",
    "link": "os.unlink('model.py'); os.symlink('/etc/hostname', 'model.py')",
    "chmod": "os.chmod('model.py', 0o666); open('model.py', 'w').write('theirs')",
    "folder": "os.unlink('model.py'); os.mkdir('model.py'); open('model.py/x', 'w')",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_readable_file_in_a_writable_folder_stays_as_it_was(sandbox, python, folder, attack):
    model = folder / "model.py"
    model.write_text("ours")
    mode = model.stat().st_mode
    completed = sandbox.run(
        python(
            "import os\nopen('free', 'w').write(open('model.py').read())\n" + ATTACKS[attack],
            readable=(model,),
        )
    )
    assert (folder / "free").read_text() == "ours"
    assert Guarantee.PROTECTED in sandbox.covers
    assert not model.is_symlink()
    assert model.read_text() == "ours"
    assert model.stat().st_mode == mode
    if Guarantee.READ_ONLY in sandbox.covers:
        assert not completed.is_success


def test_a_readable_folder_in_a_writable_one_stays_as_it_was(sandbox, python, folder):
    kept = folder / "kept/deep"
    kept.mkdir(parents=True)
    (kept / "file").write_text("ours")
    source = (
        "import os, shutil\nshutil.rmtree('kept', ignore_errors=True)\n"
        "os.path.exists('kept') or os.symlink('/tmp', 'kept')"
    )
    sandbox.run(python(source, readable=(folder / "kept",)))
    assert (folder / "kept/deep/file").read_text() == "ours"
    assert not (folder / "kept").is_symlink()


def test_a_writable_folder_in_a_readable_one_can_be_written(sandbox, python, folder):
    (folder / "out").mkdir()
    completed = sandbox.run(
        python("open('out/x', 'w').write('y')", readable=(folder,), writable=(folder / "out",))
    )
    assert completed.is_success
    assert (folder / "out/x").read_text() == "y"


def test_a_path_named_both_ways_can_be_written(sandbox, python, folder):
    assert sandbox.run(python("open('x', 'w')", readable=(folder,))).is_success


def test_a_path_through_a_link_is_seen_under_its_own_name(sandbox, python, outside, tmp_path):
    link = tmp_path / "link"
    link.symlink_to("outside")
    completed = sandbox.run(
        python("import sys; print(open(sys.argv[1]).read())", link / "file", readable=(link / "file",))
    )
    assert completed.stdout == "ours\n"


def test_a_path_that_is_missing_is_our_error(sandbox, python, folder):
    if Guarantee.HIDDEN_FILES in sandbox.covers:
        with pytest.raises(InfraError, match="gone"):
            sandbox.run(python("", readable=(folder / "gone",)))


def test_a_link_that_the_program_left_does_not_show_it_more_the_next_time(sandbox, python, folder, outside):
    (folder / "kernels").symlink_to(outside)
    if Guarantee.HIDDEN_FILES in sandbox.covers:
        with pytest.raises(InfraError, match="leads out of"):
            sandbox.run(python("", readable=(folder / "kernels",)))


def test_temporary_files_go_with_the_command(sandbox, python):
    source = "import tempfile, os; print(tempfile.mkstemp()[1])"
    completed = sandbox.run(python(source))
    assert completed.is_success
    assert not Path(completed.stdout.strip()).exists()


def test_shared_memory_is_private(sandbox, python):
    name = Path(f"/dev/shm/warpsmith-test-{os.getpid()}")
    completed = sandbox.run(python("import sys; open(sys.argv[1], 'w')", name))
    leaked = name.exists()
    name.unlink(missing_ok=True)
    assert completed.is_success
    assert leaked == (Guarantee.HIDDEN_FILES in sandbox.not_covered)


def test_a_folder_in_shared_memory_that_was_named_is_shared(sandbox, python):
    folder = Path(f"/dev/shm/warpsmith-test-{os.getpid()}")
    folder.mkdir()
    try:
        completed = sandbox.run(
            python("import sys; open(sys.argv[1] + '/x', 'w').write('y')", folder, writable=(folder,))
        )
        assert completed.is_success
        assert (folder / "x").read_text() == "y"
    finally:
        (folder / "x").unlink(missing_ok=True)
        folder.rmdir()


def test_the_root_of_all_folders_cannot_be_filled(sandbox, python):
    if Guarantee.READ_ONLY not in sandbox.covers:
        pytest.skip("it would be the machine's")
    completed = sandbox.run(python("open('/extra', 'w')"))
    assert "Read-only file system" in completed.stderr


def test_our_processes_cannot_be_signalled(sandbox, python):
    completed = sandbox.run(python("import os, sys; os.kill(int(sys.argv[1]), 0)", os.getpid()))
    assert completed.is_success == (Guarantee.HIDDEN_PROCESSES in sandbox.not_covered)


def test_the_network_cannot_be_reached(sandbox, python):
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)"
        completed = sandbox.run(python(source, server.getsockname()[1]))
    assert completed.is_success == (Guarantee.NETWORK in sandbox.not_covered)


def test_no_capability_is_left_where_files_are_hidden(sandbox, python):
    source = (
        "print([l for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapBnd', 'NoNewPrivs'))])"
    )
    stdout = sandbox.run(python(source)).stdout
    assert "NoNewPrivs:\\t1" in stdout
    if Guarantee.HIDDEN_FILES in sandbox.covers:
        assert stdout.count("0000000000000000") == 2


def test_what_is_not_covered_is_said(sandbox):
    assert {*sandbox.covers, *sandbox.not_covered} == set(Guarantee)
    assert not {*sandbox.covers} & {*sandbox.not_covered}
    assert (sandbox.warning is not None) == (Guarantee.NETWORK in sandbox.not_covered)
