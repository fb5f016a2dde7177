"""`warpsmith runs resume` and `runs fork`: what they keep of a run's own choices, and what is said anew."""

import shutil

import pytest

from warpsmith.agent.optimize import Optimized
from warpsmith.core import Cost, Solution, StopReason, Trajectory


@pytest.fixture
def a_run(cli, task, script, episode, compilers, passed, tmp_path):
    """A run with a cap and a seed."""
    compilers()
    episode(passed())
    options = ("--max-turns", 7, "--max-tokens", 5000, "--seed", 3, "--base-url", "http://localhost:1/v1")
    assert cli("optimize", task, "--out", tmp_path / "one", *options, *script).code == 0
    return tmp_path / "one"


@pytest.fixture
def a_killed_run(a_run):
    """The same, killed before it ended."""
    path = a_run / "trajectory.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    return a_run


@pytest.fixture
def asked(monkeypatch, a_run, passed):
    """Replaces what goes on with a run; gives the arguments that it was called with."""
    seen = {}

    def ended(folder):
        best = Solution(candidate=a_program(), verdict=passed(20.0))
        trajectory = Trajectory(
            task_id="task", turns=(), best=best, stop=StopReason.TIME, cost=Cost(wall_s=9)
        )
        return Optimized(folder=folder, trajectory=trajectory, environment={})

    def a_program():
        from warpsmith.core import Candidate

        return Candidate.from_folder(a_run)

    def resume(folder, listener, **rest):
        seen.update(folder=folder, **rest)
        return ended(folder)

    def fork(parent, turn, out, listener, spec):
        seen.update(parent=parent, turn=turn, out=out, spec=spec)
        return ended(a_run)

    monkeypatch.setattr("warpsmith.agent.runs.resume.resume", resume)
    monkeypatch.setattr("warpsmith.agent.runs.resume.fork", fork)
    return seen


def test_a_killed_run_goes_on_with_the_budget_that_it_has(cli, a_killed_run, asked):
    printed = cli("runs", "resume", a_killed_run)
    assert printed.code == 0
    assert "20.0 µs" in printed.out
    assert f"run folder: {a_killed_run}" in printed.out
    assert asked["budget"] is None  # its own


def test_a_cap_that_is_named_takes_the_place_of_the_run_s(cli, a_killed_run, asked):
    cli("runs", "resume", a_killed_run, "--max-turns", 70, "--max-minutes", 2)
    budget = asked["budget"]
    assert (budget.max_turns, budget.max_tokens, budget.max_wall_s) == (70, 5000, 120.0)


def test_a_resumed_run_is_one_document_too(cli, a_killed_run, asked):
    document = cli("runs", "resume", a_killed_run, "--json").document
    assert document["command"] == "runs resume"
    assert document["times_us"]["candidate"] == 20.0
    assert document["stop"] == "time"


def test_a_fork_is_asked_as_its_parent_unless_something_else_is_said(cli, a_run, asked):
    cli("runs", "fork", a_run, "--turn", 1, "--temperature", 0.5)
    spec = asked["spec"]
    assert spec.policy.startswith("scripted:")
    assert spec.policy_config.base_url == "http://localhost:1/v1"
    assert (spec.policy_config.sampling.seed, spec.policy_config.sampling.temperature) == (3, 0.5)
    assert (spec.budget.max_turns, spec.device) == (7, "cpu")


def test_another_model_gets_nothing_of_what_the_first_one_was_asked_with(cli, a_run, asked, endpoint):
    endpoint()
    cli("runs", "fork", a_run, "--turn", 1, "--model", "openai:larger", "--max-turns", 9, "--out", "there")
    spec = asked["spec"]
    assert spec.policy == "openai:larger"
    assert spec.policy_config.base_url is None  # else a key would go to another one's endpoint
    assert spec.policy_config.sampling.seed is None
    assert spec.budget.max_turns == 9
    assert str(asked["out"]) == "there"


def test_another_device_is_selected_anew(cli, a_run, asked):
    cli("runs", "fork", a_run, "--turn", 1, "--device", "cpu", "--gpu", "a100")
    assert (asked["spec"].device, asked["spec"].gpu) == ("cpu", "a100")
    assert "A100" in asked["spec"].policy_config.gpu.name


@pytest.mark.parametrize(
    "line",
    [
        "runs resume missing",
        "runs resume task.py",
        "runs resume one --max-turns 0",
        "runs resume one --max-usd nan",
        "runs fork one",
        "runs fork missing --turn 1",
        "runs fork one --turn 1 --style prose",
        "runs fork one --turn 1 --device tpu",
        "runs fork one --turn 1 --gpu voodoo2",
        "runs fork one --turn 1 --temperature nan",
    ],
)
def test_a_mistake_is_usage_and_one_line(cli, a_run, asked, line):
    printed = cli(*line.split())
    assert printed.code == 2, printed.err
    assert len(printed.err.splitlines()) == 1
    assert asked == {}


def test_a_run_that_has_finished_is_not_resumed_and_the_way_out_is_named(cli, a_run, asked):
    printed = cli("runs", "resume", a_run)
    assert printed.code == 2
    assert f"warpsmith runs fork {a_run} --turn 1" in printed.err
    assert len(printed.err.splitlines()) == 1
    assert asked == {}


@pytest.mark.parametrize("line", ["runs resume whole", "runs fork whole --turn 1"])
def test_of_several_attempts_one_has_to_be_named(cli, a_killed_run, asked, tmp_path, line):
    (tmp_path / "whole" / "attempts").mkdir(parents=True)
    for number in (2, 10):
        shutil.copytree(a_killed_run, tmp_path / "whole" / "attempts" / str(number))
    (tmp_path / "whole" / "attempts" / "2" / "verdict.json").unlink()
    printed = cli(*line.split())
    assert printed.code == 2
    assert "whole/attempts/2" in printed.err
    assert asked == {}
