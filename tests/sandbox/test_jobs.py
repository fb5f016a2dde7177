"""Commands that run beside us: what they say meanwhile, and that nothing of them stays."""

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from warpsmith.core import Command, Ending, InfraError, Limits
from warpsmith.sandbox import SANDBOXES, Guarantee

MIB = 1 << 20


@pytest.fixture(params=SANDBOXES)
def sandbox(request):
    kind = SANDBOXES[request.param]
    reason = kind.why_unavailable()
    if reason is not None:
        pytest.skip(reason)
    return kind()


@pytest.fixture
def begin(sandbox, python):
    """Begins jobs, and closes them when the test is over."""
    jobs = []

    def start(source, **rest):
        jobs.append(sandbox.begin(python(source, **rest)))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()


def wait_until(is_so):
    give_up = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_a_job_is_heard_while_it_runs(begin, folder):
    job = begin(
        "import os, sys, time\nprint('one', flush=True)\nprint('oops', file=sys.stderr, flush=True)\n"
        "while not os.path.exists('go'): time.sleep(0.02)\nprint('two')\nsys.exit(3)"
    )
    heard = [job.spoken()]
    wait_until(lambda: heard.append(job.spoken()) or "oops" in "".join(one.stderr for one in heard))
    assert job.ended() is None
    (folder / "go").touch()
    wait_until(job.ended)
    heard.append(job.spoken())
    assert "".join(one.stdout for one in heard) == "one\ntwo\n"
    assert (job.ended().ending, job.ended().exit_code) == (Ending.EXITED, 3)
    assert job.ended().stdout == "one\ntwo\n"
    assert job.spoken().stdout == job.spoken().stderr == ""


def test_a_character_that_comes_in_two_halves_is_whole(begin, folder):
    job = begin(
        "import os, time\nos.write(1, b'\\xc3')\nopen('half', 'w').close()\n"
        "while not os.path.exists('go'): time.sleep(0.02)\nos.write(1, b'\\xa4\\xc3')"
    )
    wait_until((folder / "half").exists)
    time.sleep(0.2)
    heard = job.spoken().stdout
    (folder / "go").touch()
    wait_until(job.ended)
    assert heard + job.spoken().stdout == "ä\ufffd"


def test_of_a_flood_a_listener_hears_the_beginning_and_the_end(begin):
    job = begin(
        "import os\nprint('first', flush=True)\n"
        "for _ in range(100): os.write(1, b'x' * (1 << 20))\nprint('last')",
        limits=Limits(wall_s=30, output_bytes=MIB),
    )
    wait_until(job.ended)
    heard = job.spoken().stdout
    assert heard.startswith("first\n")
    assert heard.endswith("last\n")
    assert "bytes left out here" in heard
    assert len(heard) < 4 * MIB


def test_nobody_needs_to_look_for_a_job_to_end_at_its_limit(sandbox, python, living):
    job = sandbox.begin(python("import time; time.sleep(60)  # late-1c3d", limits=Limits(wall_s=0.5)))
    wait_until(lambda: not living("late-1c3d"))
    ended = job.close()
    assert ended.ending is Ending.TIMED_OUT
    assert 0.4 < ended.wall_s < 20
    assert "killed after 0.5 s" in job.spoken().stderr


def test_a_job_keeps_the_limits_of_a_command(begin):
    job = begin(
        "import time\nhoard = bytearray(400 << 20)\ntime.sleep(60)",
        limits=Limits(wall_s=20, memory_bytes=100 * MIB),
    )
    wait_until(job.ended)
    assert job.ended().ending is Ending.OUT_OF_MEMORY
    assert "bytes of memory" in job.spoken().stderr


DAEMON = (
    "import os, time\nif os.fork() == 0: os.setsid(); os.fork(); time.sleep(60)\ntime.sleep({s})  # job-77ab"
)


def test_closing_a_job_kills_its_whole_tree(sandbox, python, living):
    job = sandbox.begin(python(DAEMON.format(s=60)))
    wait_until(lambda: len(living("job-77ab")) >= 3)
    assert job.close().ending is Ending.SIGNALLED
    assert job.close() == job.ended()
    assert not living("job-77ab")


def test_a_daemon_does_not_outlive_its_job(begin, living):
    job = begin(DAEMON.format(s=0))
    wait_until(job.ended)
    assert job.ended().is_success
    assert not living("job-77ab")


def test_no_job_survives_our_own_death(sandbox, tmp_path, living):
    source = f"""
import time
from pathlib import Path
from warpsmith.core import Command
from warpsmith.sandbox import SANDBOXES
job = SANDBOXES[{sandbox.name!r}]().begin(Command(argv=("sleep", "63.75"), cwd=Path("/usr")))
time.sleep(60)
"""
    ours = psutil.Popen([sys.executable, "-c", source], env=os.environ | {"TMPDIR": str(tmp_path)})
    wait_until(lambda: living("sleep 63.75"))
    ours.kill()
    ours.wait()
    wait_until(lambda: not living("sleep 63.75"))


def test_commands_run_while_a_job_does(sandbox, begin, python):
    job = begin("import time; time.sleep(60)")
    assert sandbox.run(python("print('fine')")).stdout == "fine\n"
    assert job.ended() is None


def test_a_job_that_cannot_start_is_our_error_and_leaks_nothing(sandbox, python, folder):
    def num_open_files():
        return len(list(Path("/proc/self/fd").iterdir()))

    before = num_open_files()
    for _ in range(3):
        with pytest.raises(InfraError):
            sandbox.begin(python("", cwd=folder / "gone"))
        sandbox.begin(python("")).close()
    assert num_open_files() == before


def test_a_hidden_folder_is_empty_where_files_are_hidden(sandbox, folder):
    package = Path(sys.modules["warpsmith"].__path__[0])
    script = f"ls {package}/judge; touch {package}/x && rm {package}/x && echo written"
    limits = Limits(wall_s=20)
    seen = sandbox.run(Command(argv=("/bin/sh", "-c", f"ls {package}"), cwd=folder, limits=limits))
    hidden = sandbox.run(
        Command(argv=("/bin/sh", "-c", script), cwd=folder, hidden=(package, folder / "none"), limits=limits)
    )
    assert "judge" in seen.stdout
    assert ("judge.py" in hidden.stdout) == (Guarantee.HIDDEN_FILES in sandbox.not_covered)
    assert not (package / "x").exists()
    if sandbox.name == "bubblewrap":
        assert hidden.stdout == ""
        assert "Read-only file system" in hidden.stderr
