"""`warpsmith runs`: lists, comparisons, and what they say to a script."""

import pytest

from warpsmith.core import Wrong


@pytest.fixture
def make_run(cli, task, script, episode, compilers, tmp_path):
    """Makes a run with such a verdict by the command itself."""
    compilers()

    def make(name, verdict):
        episode(verdict)
        cli("optimize", task, "--out", tmp_path / "runs" / name, *script)
        return tmp_path / "runs" / name

    return make


@pytest.fixture
def three(make_run, passed):
    """A slow one, a fast one and one that found nothing."""
    return make_run("a-slow", passed(80.0)), make_run("b-fast", passed(20.0)), make_run("c-none", None)


def listed(cli, *arguments):
    return [
        run["folder"].rpartition("/")[2] for run in cli("runs", "list", "--json", *arguments).document["runs"]
    ]


def test_runs_are_filtered_and_sorted(cli, three):
    assert listed(cli) == ["a-slow", "b-fast", "c-none"]
    assert listed(cli, "--sort", "time") == ["b-fast", "a-slow", "c-none"]
    assert listed(cli, "--not-correct") == ["c-none"]
    assert listed(cli, "--correct", "--sort", "ratio") == ["b-fast", "a-slow"]
    assert listed(cli, "--task", "task") == ["a-slow", "b-fast", "c-none"]
    assert listed(cli, "--task", "other") == []
    assert listed(cli, "--policy", "script*", "--state", "finished", "--correct") == ["a-slow", "b-fast"]
    assert listed(cli, "--state", "broken") == []


def test_a_filter_that_nothing_fits_says_so(cli, three):
    printed = cli("runs", "list", "--task", "other")
    assert printed.code == 0
    assert "none of the 3 runs" in printed.out


def test_a_script_gets_times_without_knowing_types(cli, three):
    run = cli("runs", "list", "--correct", "--json").document["runs"][1]
    assert run["candidate_us"] == 20.0
    assert run["ratio"]["centre"] == 5.0
    assert run["is_correct"] is True
    assert run["state"] == "finished"


def test_a_list_is_the_same_when_it_comes_from_the_index(cli, three):
    assert cli("runs", "list").out == cli("runs", "list").out
    assert cli("runs", "list", "--json").out == cli("runs", "list", "--json").out


def test_a_cache_that_is_a_file_does_not_keep_runs_from_being_listed(cli, three, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("WARPSMITH_CACHE", str(tmp_path / "file"))
    assert listed(cli) == ["a-slow", "b-fast", "c-none"]


def test_two_runs_are_compared(cli, three):
    slow, fast, _ = three
    printed = cli("runs", "diff", slow, fast)
    assert printed.code == 0
    for fact in ("a-slow", "b-fast", "80.0 µs", "20.0 µs", "1.25× [1.20, 1.30]", "the programs are the same"):
        assert fact in printed.out
    document = cli("runs", "diff", slow, fast, "--json").document
    assert document["is_same_task"] is True
    assert document["files"] == []
    assert document["b"]["times_us"]["candidate"] == 20.0
    assert document["a"]["cost"]["wall_s"] == 3


def test_a_run_that_found_nothing_is_compared_too(cli, three):
    printed = cli("runs", "diff", three[0], three[2])
    assert printed.code == 0
    assert "nothing correct found" in printed.out
    assert "+++ /dev/null" in printed.out
    files = cli("runs", "diff", three[0], three[2], "--json").document["files"]
    assert [file["path"] for file in files] == ["kernels/a.cu", "model_new.py"]


def test_runs_of_different_tasks_are_said_to_be_so_first(cli, three, make_run, passed, task):
    task.write_text(task.read_text().replace("33", "34"))
    other = make_run("d-other", passed())
    assert cli("runs", "diff", three[0], other).out.startswith("different tasks of one name (task)")
    assert cli("runs", "diff", three[0], other, "--json").document["is_same_task"] is False


def test_a_wrong_program_says_so_beside_a_right_one(cli, three, make_run):
    wrong = make_run("e-wrong", Wrong(what="values", message="at [0]", error=1.0, allowed=1e-6))
    printed = cli("runs", "diff", three[0], wrong)
    assert "wrong: values" in printed.out
    assert "80.0 µs" in printed.out


@pytest.mark.parametrize(
    "line",
    [
        "runs list --state lost",
        "runs list --sort colour",
        "runs diff a-slow",
        "runs diff a-slow missing",
        "runs diff task.py a-slow",
    ],
)
def test_a_mistake_is_usage_and_one_line(cli, three, line):
    printed = cli(*line.split())
    assert printed.code == 2
    assert len(printed.err.splitlines()) == 1
