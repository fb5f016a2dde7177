"""`verify`, `build`, `doctor` and `runs`: exit codes and what they print."""

import pytest

from warpsmith.cli import checks
from warpsmith.cli.checks import Check, Examination, State
from warpsmith.core import (
    BuildFailed,
    Crashed,
    EnvironmentMissing,
    Implausible,
    NotRunnable,
    Rejected,
    TaskError,
    TimedOut,
    Wrong,
)

CPU = ("--device", "cpu", "--sandbox", "process")
FAILURES = [
    (Rejected(rule="no-torch", where="model_new.py:3", message="calls torch.matmul"), 3),
    (BuildFailed(log="kernels/a.cu(3): error"), 3),
    (Crashed(stage="forward", log="ValueError"), 3),
    (Wrong(what="values", message="at [0]"), 3),
    (TimedOut(stage="forward", limit_s=60), 3),
    (Implausible(message="under the floor"), 4),
    (NotRunnable(device="cpu", reason="inline PTX"), 6),
]


@pytest.mark.parametrize(("verdict", "code"), FAILURES)
def test_verify_ends_by_the_verdict(cli, task, program, judge, verdict, code):
    judge(verdict)
    assert cli("verify", task, program, *CPU).code == code


@pytest.mark.parametrize(("candidate_us", "code"), [(50.0, 0), (99.0, 4), (200.0, 4)])
def test_a_pass_ends_by_whether_it_is_faster(cli, task, program, judge, passed, candidate_us, code):
    judge(passed(candidate_us))
    assert cli("verify", task, program, *CPU).code == code


def test_right_is_enough_when_no_time_was_asked_for(cli, task, program, judge, passed):
    judge(type(passed())(accuracy=passed().accuracy))
    printed = cli("verify", task, program, "--no-timing", *CPU)
    assert printed.code == 0
    assert "largest error 1.0e-07" in printed.out


def test_verify_changes_nothing_in_the_folder(cli, task, program, judge, passed):
    before = sorted(program.rglob("*"))
    judge(passed())
    cli("verify", task, program, *CPU)
    assert sorted(program.rglob("*")) == before


def test_verify_as_json_is_one_document(cli, task, program, judge):
    judge(Wrong(what="values", message="at [0]", error=1.0, allowed=1e-6))
    document = cli("verify", task, program, "--json", *CPU).document
    assert document["exit_code"] == 3
    assert document["verdict"]["what"] == "values"
    assert document["is_correct"] is False


def test_an_unusable_reference_is_the_task_s_fault(cli, task, program, judge):
    judge(TaskError("task: differs between two runs"))
    assert cli("verify", task, program, *CPU).code == 2


def test_build_puts_the_extension_beside_the_sources(cli, program, compilers):
    compilers()
    printed = cli("build", program, *CPU)
    assert printed.code == 0
    assert (program / "cuda_extension.py").is_file()
    assert (program / "libcandidate.so").is_file()
    assert "libcandidate.so" in printed.out


@pytest.mark.parametrize(
    ("outcome", "code"), [(BuildFailed(log="expected ;"), 3), (NotRunnable(device="cpu", reason="PTX"), 6)]
)
def test_a_build_that_fails_says_why(cli, program, compilers, outcome, code):
    compilers(outcome)
    printed = cli("build", program, *CPU)
    assert printed.code == code
    assert "expected ;" in printed.out or "PTX" in printed.out
    assert cli("build", program, "--json", *CPU).document["exit_code"] == code


def machine(*missing):
    names = (*checks.CUDA_NEEDS, "ncu")
    return Examination(
        checks=tuple(
            Check(name=name, state=State.MISSING, found="", fix=f"install {name}", needed_for="x")
            if name in missing
            else Check(name=name, state=State.OK, found="/here", fix="", needed_for="x")
            for name in names
        )
    )


@pytest.mark.parametrize(
    ("missing", "code", "devices"),
    [
        ((), 0, ["cuda", "cpu"]),
        (("ncu",), 0, ["cuda", "cpu"]),
        (("GPU",), 0, ["cpu"]),
        (("nvcc",), 0, ["cpu"]),
        (("C++ compiler",), 6, []),
        (("torch",), 6, []),
    ],
)
def test_doctor_fails_only_if_nothing_can_run(cli, monkeypatch, missing, code, devices):
    monkeypatch.setattr(checks, "examine", lambda: machine(*missing))
    document = cli("doctor", "--json").document
    assert (document["exit_code"], document["devices"]) == (code, devices)
    printed = cli("doctor")
    assert printed.code == code
    assert all(f"install {name}" in printed.out for name in missing)


def test_doctor_looks_at_this_machine(cli):
    document = cli("doctor", "--json").document
    names = {check["name"] for check in document["checks"]}
    assert names >= {
        "GPU",
        "C++ compiler",
        "nvcc",
        "ncu",
        "nsys",
        "compute-sanitizer",
        "torch",
        "build cache",
    }
    assert all(check["fix"] for check in document["checks"] if check["state"] == "missing")


def test_doctor_names_a_cache_that_cannot_be_written(cli, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("WARPSMITH_CACHE", str(tmp_path / "file"))
    document = cli("doctor", "--json").document
    assert document["exit_code"] == 6
    (check,) = (check for check in document["checks"] if check["name"] == "build cache")
    assert "set WARPSMITH_CACHE" in check["fix"]


@pytest.fixture
def a_run(cli, task, script, episode, passed, compilers, tmp_path):
    compilers()
    episode(passed())
    cli("optimize", task, "--out", tmp_path / "runs" / "one", *script)
    return tmp_path / "runs" / "one"


def test_runs_are_listed_with_the_broken_ones(cli, a_run):
    (a_run.parent / "two").mkdir()
    (a_run.parent / "two" / "verdict.json").write_bytes(b"\x00\xff")
    printed = cli("runs", "list")
    assert printed.code == 0
    assert "50.0 µs" in printed.out
    assert "broken" in printed.out
    states = [run["state"] for run in cli("runs", "list", "--json").document["runs"]]
    assert states == ["finished", "broken"]


def test_a_run_is_shown_with_its_turns_and_files(cli, a_run):
    printed = cli("runs", "show", a_run)
    assert printed.code == 0
    for fact in ("correct, faster", "write kernels/a.cu", "model_new.py", "README.md", "state: finished"):
        assert fact in printed.out
    document = cli("runs", "show", a_run, "--json").document
    assert document["trajectory"]["turns"][0]["did"] == ["write kernels/a.cu"]


def test_no_runs_yet_is_no_error(cli):
    printed = cli("runs", "list")
    assert printed.code == 0
    assert "warpsmith optimize" in printed.out


def test_a_missing_compiler_is_the_machine_s_fault(cli, program, compilers, monkeypatch):
    compilers()

    def build(self, candidate):
        raise EnvironmentMissing("no C++ compiler; apt-get install g++")

    monkeypatch.setattr("warpsmith.toolchain.Toolchain.build", build)
    printed = cli("build", program, *CPU)
    assert printed.code == 6
    assert printed.err.splitlines()[-1] == "warpsmith: no C++ compiler; apt-get install g++"
