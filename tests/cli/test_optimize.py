"""`warpsmith optimize`: exit codes, what it prints, what it leaves."""

import json

import pytest

from warpsmith.core import (
    BuildFailed,
    EnvironmentMissing,
    Implausible,
    InfraError,
    StopReason,
    TaskError,
    Wrong,
)

WRONG = Wrong(what="values", message="at [0]")


@pytest.fixture(autouse=True)
def _fast_compilers(compilers):
    compilers()


@pytest.mark.parametrize(
    ("candidate_us", "measured", "code"),
    [
        (50.0, True, 0),
        (98.0, True, 4),
        (200.0, True, 4),
        (50.0, False, 0),
        (100.0, False, 4),
        (200.0, False, 4),
    ],
)
def test_a_pass_ends_by_whether_it_is_faster(
    cli, task, script, episode, passed, candidate_us, measured, code
):
    episode(passed(candidate_us, measured=measured))
    assert cli("optimize", task, *script).code == code


@pytest.mark.parametrize(
    ("verdict", "stop", "code"),
    [
        (None, StopReason.FINISHED, 3),
        (WRONG, StopReason.FINISHED, 3),
        (Implausible(message="under the floor"), StopReason.FINISHED, 4),
        (None, StopReason.TURNS, 5),
        (None, StopReason.TOKENS, 5),
        (None, StopReason.TIME, 5),
        (None, StopReason.MONEY, 5),
        (None, StopReason.GPU, 5),
        (None, StopReason.PATIENCE, 5),
        (None, StopReason.STUCK, 5),
        (None, StopReason.POLICY, 5),
        (WRONG, StopReason.TIME, 5),
        (None, StopReason.INTERRUPTED, 130),
    ],
)
def test_no_pass_ends_by_why(cli, task, script, episode, verdict, stop, code):
    episode(verdict, stop)
    assert cli("optimize", task, *script).code == code


@pytest.mark.parametrize("stop", list(StopReason))
def test_what_was_found_counts_before_why_it_ended(cli, task, script, episode, passed, stop):
    episode(passed(), stop)
    assert cli("optimize", task, *script).code == 0


def test_a_program_that_was_never_timed_is_not_called_faster(cli, task, script, episode, passed):
    episode(type(passed())(accuracy=passed().accuracy), StopReason.INTERRUPTED)
    assert cli("optimize", task, *script).code == 4


def test_it_ends_with_the_table_and_the_folder(cli, task, script, episode, passed, tmp_path):
    episode(passed())
    printed = cli("optimize", task, "--out", tmp_path / "run", *script)
    for fact in ("task", "correct, faster", "100 µs", "50.0 µs", "2.00× [1.95, 2.05]", "2.00×"):
        assert fact in printed.out
    assert f"run folder: {tmp_path / 'run'}" in printed.out
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names >= {
        "README.md",
        "cuda_extension.py",
        "kernels",
        "libcandidate.so",
        "model_new.py",
        "task.py",
        "trajectory.jsonl",
        "verdict.json",
    }


def test_modelled_times_are_called_so_and_give_no_ratio(cli, task, script, episode, passed):
    episode(passed(measured=False))
    printed = cli("optimize", task, *script)
    assert "50.0 µs (modelled)" in printed.out
    assert "× [" not in printed.out + printed.err


def test_progress_goes_to_stderr_in_lines(cli, task, script, episode, passed):
    episode(passed())
    printed = cli("optimize", task, *script)
    assert "turn 1" in printed.err
    assert "no recipe [bold]yet[/] → write kernels/a.cu" in printed.err
    assert "profile: correct, faster: 50.0 µs, 2.00× [1.95, 2.05]" in printed.err
    assert "turn 1:" not in printed.out
    assert "\x1b" not in printed.out + printed.err


def test_a_policy_that_declines_is_quoted(cli, task, script, episode):
    episode(None)
    assert "I decline: no recipe [bold]yet[/]" in cli("optimize", task, *script).out


def test_json_is_one_document_and_nothing_else(cli, task, script, episode, passed):
    episode(passed())
    printed = cli("optimize", task, "--json", *script)
    document = printed.document
    assert document["exit_code"] == printed.code == 0
    assert document["verdict"]["type"] == "Passed"
    assert document["is_faster"] is True
    assert document["provenance"] == "measured"
    assert document["times_us"]["candidate"] == 50.0
    assert json.loads((task.parent / document["folder"] / "verdict.json").read_text())["is_final"]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (TaskError("task: random"), 2, "warpsmith: task: random"),
        (EnvironmentMissing("no g++"), 6, "warpsmith: no g++"),
        (InfraError("oracle died"), 6, "warpsmith: oracle died"),
        (KeyboardInterrupt(), 130, "warpsmith: interrupted"),
        (OSError(28, "No space left on device", "/x"), 6, "/x: No space left on device; make room"),
    ],
)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_an_error_is_one_line_and_a_code(cli, task, script, episode, error, code, said, form):
    episode(None, raises=error)
    printed = cli("optimize", task, *script, *form)
    assert printed.code == code
    assert said in printed.err.splitlines()[-1]
    assert "Traceback" not in printed.err
    if form:
        assert printed.document["exit_code"] == code
        assert printed.document["error"]
    else:
        assert printed.out == ""


def test_a_folder_that_cannot_be_finished_is_told_after_the_result(
    cli, task, script, episode, passed, tmp_path, monkeypatch
):
    def full(folder, toolchain):
        raise OSError(28, "No space left on device", str(folder / "README.md"))

    monkeypatch.setattr("warpsmith.report.package.finish", full)
    episode(passed())
    printed = cli("optimize", task, *script)
    assert printed.code == 6
    assert "2.00× [1.95, 2.05]" in printed.out
    assert "README.md: No space left" in printed.err


def test_a_program_that_no_longer_builds_is_kept_with_its_readme(
    cli, task, script, episode, passed, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "warpsmith.toolchain.Toolchain.build", lambda self, candidate: BuildFailed(log="changed")
    )
    episode(passed())
    assert cli("optimize", task, "--out", tmp_path / "run", *script).code == 0
    assert (tmp_path / "run" / "README.md").is_file()


def test_a_folder_in_use_is_refused_and_left_alone(cli, task, script, episode, passed, tmp_path):
    episode(passed())
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("mine")
    printed = cli("optimize", task, "--out", tmp_path / "run", *script)
    assert printed.code == 2
    assert "not empty" in printed.err
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine.txt"]
