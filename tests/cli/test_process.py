"""The command as a process: its start, its streams, its signals."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from warpsmith.cli.exit_codes import MEANINGS

WARPSMITH = (sys.executable, "-m", "warpsmith")
VERBS = (
    "optimize",
    "verify",
    "audit",
    "redteam",
    "build",
    "doctor",
    "runs list",
    "runs show",
    "runs diff",
    "runs resume",
    "runs fork",
    "synth crawl",
    "synth compose",
    "synth filter",
    "synth decontaminate",
    "synth report",
    "synth skills",
    "tasks import",
    "tasks export",
    "tasks sample",
    "bench run",
    "bench compare",
    "docs add",
    "docs search",
    "docs list",
    "docs remove",
    "train toy",
    "train collect",
    "train sft",
    "train value",
    "train ppo",
    "train grpo",
)


def call(*arguments, **env):
    environment = {**os.environ, "COLUMNS": "100", **env}
    return subprocess.run(
        [*WARPSMITH, *arguments], capture_output=True, text=True, env=environment, check=False
    )


def shell(line, **env):
    environment = {**os.environ, **env}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environment, check=False)


@pytest.fixture
def broken_run(tmp_path):
    """A folder of many broken runs: a listing longer than a pipe holds."""
    for number in range(600):
        folder = tmp_path / "runs" / f"a-run-with-a-long-name-{number:05}"
        folder.mkdir(parents=True)
        (folder / "verdict.json").write_text("{")
    return tmp_path / "runs"


def test_help_is_quick_and_imports_nothing_heavy():
    probe = (
        "import sys, time; begun = time.process_time()\n"
        "from warpsmith.cli.app import run\n"
        "code = run(['--help'])\n"
        "heavy = {'torch', 'numpy', 'scipy', 'openai', 'tree_sitter'} & sys.modules.keys()\n"
        "print(code, sorted(heavy), time.process_time() - begun)"
    )
    taken = []
    for _ in range(3):  # the least counts: others may be using the machine
        done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
        code, heavy, seconds = re.fullmatch(r"(\d) (\[.*\]) ([\d.]+)", done.stdout.splitlines()[-1]).groups()
        assert (code, heavy) == ("0", "[]")
        taken.append(float(seconds))
    assert min(taken) < 0.5


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_s_help_has_examples_and_every_exit_code(cli, verb):
    printed = cli(*verb.split(), "--help")
    assert printed.code == 0
    assert f"warpsmith {verb}" in printed.out
    assert "--json" in printed.out
    for code, meaning in MEANINGS.items():
        assert re.search(rf"\b{code.value}\s+{re.escape(meaning[:40])}", printed.out)


def test_the_version_is_printed():
    assert call("--version").stdout.startswith("warpsmith ")


def test_a_reader_who_leaves_is_no_error(broken_run):
    line = f"{' '.join(WARPSMITH)} runs list {broken_run} | head -1; echo ${{PIPESTATUS[0]}}"
    done = shell(line)
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


def test_a_closed_stdout_is_no_error(broken_run):
    done = shell(f"{' '.join(WARPSMITH)} runs list {broken_run} >&-")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_under_stdout_is_one_line(broken_run):
    done = shell(f"{' '.join(WARPSMITH)} runs list {broken_run} > /dev/full")
    assert done.returncode == 6
    assert len(done.stderr.splitlines()) == 1
    assert "No space left" in done.stderr


def test_a_stream_that_knows_only_ascii_is_no_error(broken_run):
    done = call("runs", "list", str(broken_run), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bug_is_one_line_and_one_document():
    probe = (
        "import sys; from warpsmith.cli import app, entry\n"
        "def bug(arguments): raise KeyError('x')\n"
        "entry.run = bug\nsys.argv[1:] = ['doctor', '--json']\nsys.exit(entry.enter())"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["exit_code"] == 1
    assert len(done.stderr.splitlines()) == 1


SLEEPER = """
import signal, sys, time
from warpsmith.cli import app, entry
from warpsmith.cli.console import Console
from warpsmith.cli.errors import report
def long(arguments):
    try:
        print("ready", flush=True)
        time.sleep(60)
    except KeyboardInterrupt as error:
        return report(error, Console(is_json=False))
entry.run = long
sys.exit(entry.enter())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whoever_ends_it_politely_gets_what_ctrl_c_gets(number):
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "warpsmith: interrupted\n")


def test_a_scripts_background_job_can_be_ended_too():
    ignoring = (
        f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{SLEEPER}"  # as a shell starts it
    )
    process = subprocess.Popen(
        [sys.executable, "-c", ignoring], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "warpsmith: interrupted\n")


EPISODE = """
import sys
from warpsmith.agent.events import Busy, Finished, Said
from warpsmith.cli.console import Console
from warpsmith.cli.progress import Progress
from warpsmith.core import Cost, Message, Role, StopReason
console = Console(is_json=False)
with Progress(console) as progress:
    progress.on_event(Said(message=Message(role=Role.ASSISTANT, text="first"), cost=Cost()))
    progress.on_event(Busy(what="verify"))
    console.complain("a complaint is red")
    progress.on_event(Finished(stop=StopReason.FINISHED, cost=Cost(), num_turns=1, best=None))
"""


def on_terminal(**env):
    """What the episode draws on a terminal."""
    parent, child = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [sys.executable, "-c", EPISODE],
        stdout=child,
        stderr=child,
        env={**environment, "TERM": "xterm", **env},
    )
    os.close(child)
    drawn = b""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            part = os.read(parent, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        drawn += part
    os.close(parent)
    assert process.wait(timeout=30) == 0
    return drawn.decode()


def test_on_a_terminal_a_status_line_moves_below_the_lines():
    drawn = on_terminal()
    assert "turn 1: first" in drawn
    assert "\x1b[?25l" in drawn  # the cursor hides while the line moves
    assert "\x1b[?25h" in drawn
    assert "Ctrl-C" in drawn


def test_no_color_is_honoured():
    colour = re.compile(r"\x1b\[[\d;]*3\d")
    assert colour.search(on_terminal())
    assert not colour.search(on_terminal(NO_COLOR="1"))


def test_a_dumb_terminal_gets_lines():
    assert "\x1b" not in on_terminal(TERM="dumb")
