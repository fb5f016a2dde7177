"""`warpsmith bench`: what it prints, its exit codes, and what it says to bad input."""

import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from warpsmith.bench.folder import held
from warpsmith.bench.suite import Mode

EXAMPLES = Path(__file__).parents[2] / "examples"
CPU = ("--device", "cpu", "--sandbox", "process", "--audit-seconds", "0")


@pytest.fixture
def script(tmp_path):
    """A policy that is never asked: the workers' own speaks."""
    path = tmp_path / "script.json"
    path.write_text("[]")
    return ("--policy", f"scripted:{path}")


def test_a_bench_ends_with_its_table_and_files(cli, suite_folder, script, tmp_path):
    root = suite_folder({1: ["passes 50", "wrong"]})
    printed = cli("bench", "kernelbench", "--dir", root, "--run", "b", *script, *CPU, "--eval-results", "kb")
    assert printed.code == 0, printed.err
    assert "1/2 50%" in printed.out
    assert "1/2  level1-001 1_passes: correct, faster, 2.00× [1.96, 2.04] eager" in printed.err
    assert "2/2  level1-002 2_wrong: wrong: values" in printed.err
    assert "\x1b" not in printed.out + printed.err
    assert (tmp_path / "b" / "bench.html").exists()
    assert (tmp_path / "b" / "results.json").exists()
    assert (tmp_path / "kb" / "level1" / "eval_results.json").exists()


@pytest.mark.slow
def test_json_is_one_document(cli, suite_folder, script):
    root = suite_folder({1: ["passes 50"]})
    printed = cli("bench", "kernelbench", "--dir", root, "--run", "b", *script, *CPU, "--json")
    document = json.loads(printed.out)
    assert document["exit_code"] == printed.code == 0
    assert document["tasks"][0]["has_passed"] is True
    assert document["plan"]["mode"] == "eval"


@pytest.mark.slow
def test_where_all_fails_for_us_the_code_says_so(cli, suite_folder, script):
    root = suite_folder({1: ["fails"]})
    assert cli("bench", "kernelbench", "--dir", root, "--run", "b", *script, *CPU).code == 6


def test_two_benches_are_compared(cli, made, tmp_path):
    verdicts = {"a": made.wrong, "b": made.passed()}
    for folder, verdict in verdicts.items():
        record = made.record(1, 1, verdict)
        with held(tmp_path / folder, made.plan(record.name)) as taken:
            taken.keep(record)
    printed = cli("bench", "compare", "a", "b")
    assert printed.code == 0
    assert "1 gained, 0 lost, 0 faster, 0 slower, 0 level, 0 failed in both" in printed.out
    assert json.loads(cli("bench", "compare", "a", "b", "--json").out)["gained"][0]["key"] == "level1-001"


def test_benches_of_other_modes_are_not_compared(cli, made, tmp_path):
    for folder, mode in (("a", Mode.EVAL), ("b", Mode.TRAIN)):
        record = made.record(1, 1, made.wrong, mode=mode)
        with held(tmp_path / folder, replace(made.plan(record.name), mode=mode)) as taken:
            taken.keep(record)
    printed = cli("bench", "compare", "a", "b")
    assert printed.code == 2
    assert "warpsmith: these do not compare: a has the mode eval, b train" in printed.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("kernelbench",), "add --dir PATH"),
        (("kernelbench", "--dir", "nowhere"), "nowhere is no folder"),
        (("kernelbench", "--dir", "empty"), "no folder level1"),
        (("kernelbench", "--dir", "suite", "--levels", "4"), "has no level 4; its levels are 1"),
        (("kernelbench", "--dir", "suite", "--levels", "one"), "--levels takes numbers"),
        (("kernelbench", "--dir", "suite", "--tasks", "zzz"), "none of the 1 tasks"),
        (
            ("kernelbench", "--dir", "suite", "--mode", "both"),
            "unknown mode 'both'; choose one of",
        ),
        (("kernelbench", "--dir", "suite", "--mode", "train", "--policy", "builtin"), "in eval mode"),
        (("kernelbench", "--dir", "suite", "--policy", "gpt"), "unknown model 'gpt'"),
        (("kernelbench", "--dir", "suite", "--policy", "scripted:nowhere"), "no JSON list of messages"),
        (("kernelbench", "--dir", "suite", "--cap", "x"), "--cap takes names"),
        (("kernelbench", "--dir", "suite", "--scale", "0"), "a scale is a positive number"),
        (("kernelbench", "--dir", "suite", "--max-minutes", "inf"), "--max-minutes takes a number"),
        (("kernelbench", "--dir", "suite", "--limit", "0"), "--limit"),
        (("kernelbench", "--dir", "suite", "--device", "tpu"), "unknown device 'tpu'"),
        (("kernelbench", "--dir", "suite", "--run", "suite"), "holds no bench; choose a new folder"),
        (("kernelbench", "--dir", "suite", "--run", "suite/level1/1_passes.py"), "cannot be written"),
        (("nonsense", "--dir", "suite"), "unknown suite 'nonsense'"),
        (("store:nowhere.parquet",), "no such file"),
        (("compare", "suite", "suite"), "suite holds no bench"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(cli, suite_folder, script, tmp_path, arguments, said):
    suite_folder({1: ["passes 50"]})
    (tmp_path / "empty").mkdir()
    more = () if "compare" in arguments else CPU if "--device" not in arguments else ()
    policy = () if "--policy" in arguments or "compare" in arguments else script
    printed = cli("bench", *arguments, *policy, *more)
    assert printed.code in (2, 6)
    assert said in printed.err
    assert len([line for line in printed.err.splitlines() if line.startswith("warpsmith: ")]) >= 1
    assert "Traceback" not in printed.err
    assert not (tmp_path / "runs").exists()


def kernelbench_like(root, *examples):
    folder = root / "level1"
    folder.mkdir(parents=True)
    for number, name in enumerate(examples, start=1):
        shutil.copyfile(EXAMPLES / f"{name}.py", folder / f"{number}_{name}.py")
    return root


@pytest.mark.slow
def test_two_examples_go_the_whole_way_with_the_builtin(tmp_path):
    """Real workers, policy, compilers and judge; killed amid the second task and gone on with."""
    root = kernelbench_like(tmp_path / "kb", "masked_softmax", "gated_silu")
    run = tmp_path / "run"
    command = [sys.executable, "-m", "warpsmith", "bench", "kernelbench"]
    command += ["--dir", str(root), "--device", "cpu", "--run", str(run)]
    command += ["--audit-seconds", "2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline_s = time.monotonic() + 600
    while not (run / "records" / "level1-001.json").exists() and time.monotonic() < deadline_s:
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    stamp = (run / "records" / "level1-001.json").stat().st_mtime_ns
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, check=True, timeout=900)
    document = json.loads(done.stdout)
    assert (run / "records" / "level1-001.json").stat().st_mtime_ns == stamp
    assert [task["has_passed"] for task in document["tasks"]] == [True, True]
    for task in document["tasks"]:
        assert task["provenance"] == "modelled"
        assert task["audit"].startswith(("clean", "notes"))
        assert task["techniques"][0]["recipe"]
        assert "against_eager" not in task
    assert document["totals"][0]["passed"]["count"] == 2
    assert (run / "tasks" / "level1-002" / "model_new.py").exists()
