"""What a hostile program tries against its sandbox; where a kind cannot keep it from that, it says so."""

import os
import socket
import threading
import time

import pytest

from warpsmith.core import Ending, InfraError, Limits
from warpsmith.sandbox import Guarantee, cgroup
from warpsmith.sandbox.cgroup import pids_cgroup

MIB = 1 << 20


# System calls

CALLS = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
numbers = {"x86_64": 0, "aarch64": 1}
here = numbers[os.uname().machine]
def attempt(name, x86, arm, *arguments):
    result = libc.syscall((x86, arm)[here], *arguments)
    print(name, errno.errorcode[ctypes.get_errno()] if result < 0 else "done")
"""
# Numbers for x86_64 and aarch64, and arguments that would do it, or fail in another way than EPERM.
DENIED = {
    "unshare a namespace of users": (272, 97, 0x10000000),
    "unshare a network": (272, 97, 0x40000000),
    "clone into a namespace of users": (56, 220, 0x10000000 | 17, 0, 0, 0, 0),
    "enter a namespace": (308, 268, -1, 0),
    "trace": (101, 117, 0x4206, 1, 0, 0),
    "read another's memory": (310, 270, -1, 0, 0, 0, 0, 0),
    "write another's memory": (311, 271, -1, 0, 0, 0, 0, 0),
    "take another's file": (438, 438, -1, 0, 0),
    "make an io_uring": (425, 425, 1, 0),
    "use keys": (250, 219, 0, -3, 0),
    "load BPF": (321, 280, 99, 0, 0),
    "mount": (165, 40, 0, 0, 0, 0, 0),
    "unmount": (166, 39, 0, 0),
    "change the root": (161, 51, 0),
    "open a file system": (430, 430, 0, 0),
    "load another kernel": (246, 104, 0, 0, 0, 0),
    "load a module": (313, 273, -1, 0, 0),
    "count events": (298, 241, 0, 0, -1, -1, 0),
    "handle page faults": (323, 282, -1),
    "open by handle": (304, 265, -1, 0, 0),
}


def test_dangerous_system_calls_are_denied(sandbox, python):
    source = CALLS + "".join(f"attempt({name!r}, *{call})\n" for name, call in DENIED.items())
    completed = sandbox.run(python(source))
    assert completed.is_success, completed.stderr
    answers = dict(line.rsplit(" ", 1) for line in completed.stdout.splitlines())
    assert Guarantee.SYSTEM_CALLS in sandbox.covers
    assert answers == dict.fromkeys(DENIED, "EPERM")


FILTERS = """
import os, re
for pid in filter(str.isdigit, os.listdir("/proc")):
    print(*re.findall(r"Seccomp:\\s*(\\d)", open(f"/proc/{pid}/status").read()))
"""


def test_no_process_that_a_program_could_take_over_is_without_the_filter(sandbox, python):
    if Guarantee.HIDDEN_PROCESSES in sandbox.not_covered:
        pytest.skip("there it could take over others anyway")
    completed = sandbox.run(python(FILTERS))
    assert set(completed.stdout.split()) == {"2"}, completed.stdout + completed.stderr


def test_a_system_call_of_another_numbering_is_denied(sandbox, python):
    completed = sandbox.run(python(CALLS + "attempt('getpid', 0x40000000 + 39, 172)"))
    expected = "EPERM" if os.uname().machine == "x86_64" else "done"
    assert completed.stdout == f"getpid {expected}\n"


ALLOWED = """
import os, socket, subprocess, threading, mmap, multiprocessing
os.memfd_create("x")
thread = threading.Thread(target=print, args=("thread",))
thread.start(); thread.join()
print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout, end="")
left, right = socket.socketpair()
left.send(b"unix"); print(right.recv(4).decode())
open("/proc/self/comm", "w").write("renamed")
print(open("/proc/self/comm").read(), end="")
"""


def test_what_compilers_and_drivers_need_is_allowed(sandbox, python):
    completed = sandbox.run(python(ALLOWED))
    assert completed.stdout == "thread\nchild\nunix\nrenamed\n", completed.stderr


# Network


def test_a_socket_in_the_abstract_namespace_cannot_be_reached(sandbox, python):
    name = f"\0warpsmith-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        completed = sandbox.run(
            python("import socket, sys; socket.socket(socket.AF_UNIX).connect('\\0' + sys.argv[1])", name[1:])
        )
    assert completed.is_success == (Guarantee.NETWORK in sandbox.not_covered)


def test_a_guest_has_no_use_for_the_internet(start):
    guest = start(
        "import socket\ntry:\n    socket.socket()\n    found = b'socket'\n"
        "except OSError:\n    found = b'none'\nrequests.readline(); answers.write(found + b'\\n')"
    )
    assert guest.ask(b"", limit_s=20) in (b"none", b"socket")


# Other processes


def test_other_processes_are_invisible(sandbox, python):
    completed = sandbox.run(
        python("import os, sys; print(os.path.exists(f'/proc/{sys.argv[1]}/stat'))", os.getpid())
    )
    is_visible = completed.stdout == "True\n" and os.getpid() > 100  # a small number may be one of its own
    assert is_visible == (Guarantee.HIDDEN_PROCESSES in sandbox.not_covered)


SIGNALS = {
    "stops itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "stops its parent": "os.getppid() and os.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(60)",
    "ignores all": ("for n in {*range(1, 32)} - {9, 19}: signal.signal(n, signal.SIG_IGN)\ntime.sleep(60)"),
    "kills all that it may": (
        "[os.kill(int(p), 9) for p in os.listdir('/proc') if p in theirs]\ntime.sleep(60)"
    ),
}


@pytest.mark.parametrize("attack", SIGNALS)
def test_no_signal_delays_the_end(sandbox, python, living, attack):
    # "All" is what a test can afford where nothing hides: its parent and its own children.
    source = (
        "import os, signal, time\nchild = os.fork() or time.sleep(60)\n"
        f"theirs = (str(os.getppid()), str(child))\n{SIGNALS[attack]}  # signal-77a1"
    )
    began = time.monotonic()
    completed = sandbox.run(python(source, limits=Limits(wall_s=1)))
    assert not completed.is_success
    assert time.monotonic() - began < 30
    assert not living("signal-77a1")


def test_a_group_that_kills_itself_is_a_signalled_program(sandbox, python):
    completed = sandbox.run(python("import os; os.fork(); os.killpg(0, 9)", limits=Limits(wall_s=10)))
    assert completed.ending is Ending.SIGNALLED


def test_a_bomb_that_never_stops_is_put_out_soon(sandbox, python, living):
    began = time.monotonic()
    completed = sandbox.run(
        python(
            "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n# fork-0b0b",
            limits=Limits(wall_s=30, processes=40),
        )
    )
    assert completed.ending is Ending.SIGNALLED
    assert "more than 40 processes" in completed.stderr
    assert time.monotonic() - began < 20
    assert not living("fork-0b0b")


def test_threads_without_end_are_bounded(sandbox, python):
    source = (
        "import threading, time\nnumber = 0\ntry:\n    while number < 5000:\n"
        "        threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); number += 1\n"
        "except RuntimeError: pass\nprint(number, flush=True)\nimport os; os._exit(0)"
    )
    completed = sandbox.run(python(source, limits=Limits(wall_s=30, processes=20)))
    if os.getuid() != 0 or pids_cgroup("test"):
        assert int(completed.stdout) < 1000


# Limits


def test_a_program_cannot_raise_its_own_limits(sandbox, python, folder):
    source = (
        "from resource import *\nfor kind in (RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CORE):\n"
        "    try: setrlimit(kind, (RLIM_INFINITY, RLIM_INFINITY))\n"
        "    except (OSError, ValueError): pass\n"
        "f = open('big', 'wb')\nwhile True: f.write(b'x' * (1 << 20)); f.flush()"
    )
    limits = Limits(wall_s=30, file_bytes=8 * MIB, disk_bytes=32 * MIB)
    completed = sandbox.run(python(source, limits=limits))
    assert not completed.is_success
    if Guarantee.HIDDEN_FILES in sandbox.covers:  # there it has no privilege to raise them with
        assert (folder / "big").stat().st_size <= 8 * MIB


FILLING = {
    "many files": "open(f'file-{n}', 'wb').write(b'x' * (1 << 20))",
    "deep folders": "os.makedirs(f'{n}/a/b/c'); open(f'{n}/a/b/c/file', 'wb').write(b'x' * (1 << 20))",
    "files without a name": (
        "kept = globals().setdefault('kept', []); kept.append(open('x', 'wb')); os.unlink('x'); "
        "kept[-1].write(b'x' * (1 << 20)); kept[-1].flush()"
    ),
}


@pytest.mark.parametrize("way", FILLING)
def test_the_disk_cannot_be_filled(sandbox, python, way):
    source = (
        f"import os, time\nfor n in range(2000):\n    {FILLING[way]}\n    time.sleep(0.002)\ntime.sleep(60)"
    )
    completed = sandbox.run(python(source, limits=Limits(wall_s=30, disk_bytes=16 * MIB)))
    assert Guarantee.DISK in sandbox.covers
    assert completed.ending is Ending.SIGNALLED
    assert f"more than {16 * MIB} bytes written" in completed.stderr


def test_what_lay_in_a_folder_before_is_not_counted(sandbox, python, folder):
    (folder / "before").write_bytes(b"x" * 32 * MIB)
    source = "open('after', 'wb').write(b'x' * (1 << 20)); import time; time.sleep(0.6)"
    assert sandbox.run(python(source, limits=Limits(wall_s=30, disk_bytes=16 * MIB))).is_success


# Names


@pytest.mark.parametrize(
    "name", ["a b", "--dev-bind", "new\nline", "quote'\"$(x)", "ünï", "a:b", "{status}", "{filter}"]
)
def test_a_folder_may_have_any_name(sandbox, python, tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    command = python("open('out', 'w').write('here')", cwd=folder, writable=(folder,))
    try:
        completed = sandbox.run(command)
    except InfraError as error:
        if sandbox.name != "docker" or "500 Server Error" not in str(error):
            raise
        pytest.skip("this engine mounts no folder of such a name, and says so")
    assert completed.is_success, completed.stderr
    assert (folder / "out").read_text() == "here"


def test_a_way_up_out_of_a_writable_folder_leads_nowhere(sandbox, python, tmp_path):
    sandbox.run(python("open('../escaped', 'w').write('x')"))
    assert (tmp_path / "escaped").exists() == (Guarantee.READ_ONLY in sandbox.not_covered)


def test_a_link_that_a_program_made_leads_only_the_program_astray(sandbox, python, folder, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("ours")
    completed = sandbox.run(
        python("import os, sys; os.symlink(sys.argv[1], 'link'); print(open('link').read())", secret)
    )
    assert completed.is_success == (Guarantee.HIDDEN_FILES in sandbox.not_covered)


# Many at once


def test_hostile_programs_beside_each_other_do_not_disturb_an_honest_one(sandbox, python, living):
    hostile = {
        "crash": "import os; os.abort()",
        "hang": "while True: pass",
        "hoard": "x = []\nwhile True: x.append(bytearray(1 << 24))",
        "daemon": "import os, time\nif os.fork() == 0: os.setsid(); time.sleep(60)  # many-d1e0",
    }
    limits = Limits(wall_s=3, memory_bytes=200 * MIB, processes=30)
    done = {}

    def run(name, source):
        done[name] = sandbox.run(python(source, limits=limits))

    honest = "import time; time.sleep(1); print('fine')"
    programs = hostile | {"honest": honest}
    threads = [threading.Thread(target=run, args=program) for program in programs.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done["honest"].stdout == "fine\n"
    assert done["hang"].ending is Ending.TIMED_OUT
    assert done["crash"].ending is Ending.SIGNALLED
    assert not living("many-d1e0")


def test_a_bomb_is_put_out_in_a_namespace_where_nothing_else_limits_it(sandbox, python, living, monkeypatch):
    if Guarantee.HIDDEN_PROCESSES not in sandbox.covers:
        pytest.skip("it might take the machine along")
    monkeypatch.setattr(cgroup, "_base", lambda: "")
    source = (
        "import os, signal\nwhile True:\n    signal.alarm(15)\n    try: os.fork()\n"
        "    except OSError: pass\n# fork-0c0c"
    )
    began = time.monotonic()
    completed = sandbox.run(python(source, limits=Limits(wall_s=30, processes=40)))
    assert completed.ending is Ending.SIGNALLED
    assert time.monotonic() - began < 15
    assert not living("fork-0c0c")
