"""Several attempts on one task: who makes which, what is told of each, and what is left of them."""

import json

import pytest

from warpsmith.agent.attempts.parallel import Attempt, Attempts
from warpsmith.agent.events import Finished, Said
from warpsmith.core import Candidate, Cost, Message, Role, Solution, StopReason, Trajectory

CPU = ("--device", "cpu", "--sandbox", "process")


@pytest.fixture
def asked(monkeypatch, endpoint, compilers, passed, task, cli, script, episode, tmp_path):
    """Replaces the race; gives who was asked to take part. Its run folder is one that the command made."""
    endpoint(context_tokens=32_768)
    compilers()
    episode(passed())
    for name in ("whole", "whole/attempts/2", "whole/attempts/10"):
        cli("optimize", task, "--out", tmp_path / "made" / name.replace("/", "-"), *script)
    (tmp_path / "made" / "whole" / "attempts").mkdir()
    for number in (2, 10):
        made = tmp_path / "made" / f"whole-attempts-{number}"
        made.rename(tmp_path / "made" / "whole" / "attempts" / str(number))
    seen = []

    def optimize_many(task, makers, config, audience):
        seen.extend(makers)
        folder = tmp_path / "made" / "whole"
        for number in (2, 10):
            reply = Message(role=Role.ASSISTANT, text=f"I am {number}.")
            audience.on_attempt(number, Said(message=reply, cost=Cost(usd=0.5)))
        stop = StopReason.FINISHED
        audience.on_event(Finished(stop=stop, cost=Cost(usd=1.0), num_turns=2, best=None))
        best = Solution(candidate=Candidate.from_folder(folder), verdict=passed())
        attempts = (
            Attempt(number=2, folder=folder / "attempts" / "2", policy="a", stop=stop, best=best),
            Attempt(number=10, folder=folder / "attempts" / "10", policy="b", reason="no endpoint"),
        )
        trajectory = Trajectory(task_id="task", turns=(), best=best, stop=stop, cost=Cost(usd=1.0, wall_s=9))
        return Attempts(folder=folder, trajectory=trajectory, environment={}, attempts=attempts, winner=2)

    monkeypatch.setattr("warpsmith.agent.attempts.parallel.optimize_many", optimize_many)
    return seen


def test_models_take_the_attempts_in_turn_each_with_a_seed_of_its_own(cli, task, asked):
    models = ("--model", "openai:a", "--model", "openai:b")
    assert cli("optimize", task, *models, "--n", 3, "--seed", 5, *CPU).code == 0
    assert [maker.policy for maker in asked] == ["openai:a", "openai:b", "openai:a"]
    assert [maker.policy_config.sampling.seed for maker in asked] == [5, 6, 7]
    assert len({id(maker.make()) for maker in asked}) == 3


def test_several_models_have_an_attempt_each(cli, task, asked):
    cli("optimize", task, "--model", "openai:a", "--model", "openai:b", *CPU)
    assert [maker.policy for maker in asked] == ["openai:a", "openai:b"]


def test_an_endpoint_is_probed_once_for_all_its_attempts(cli, task, asked):
    printed = cli("optimize", task, "--model", "openai:a", "--n", 4, *CPU)
    assert printed.err.count("tool calls") == 1
    assert printed.err.count("Estimate for 4 x openai:a") == 1


def test_lines_bear_the_attempt_s_number_and_the_table_all_of_them(cli, task, asked):
    printed = cli("optimize", task, "--n", 2, *CPU)
    assert "[2] turn 1: I am 2." in printed.err
    assert "[10] turn 1: I am 10." in printed.err
    lines = [line.split() for line in printed.out.splitlines()]
    assert [line[0] for line in lines if line and line[0].isdecimal()] == ["2", "10"]
    assert "attempt 10: no endpoint" in printed.out
    assert "spent: 2 attempts, 1.00 USD, 9.0 s" in printed.out


def test_every_attempt_s_folder_is_made_ready_too(cli, task, asked, tmp_path):
    for readme in tmp_path.rglob("README.md"):
        readme.unlink()
    cli("optimize", task, "--n", 2, *CPU)
    folders = {str(path.parent.relative_to(tmp_path / "made")) for path in tmp_path.rglob("README.md")}
    assert folders == {"whole", "whole/attempts/2", "whole/attempts/10"}


def test_a_script_finds_the_attempts_in_the_document(cli, task, asked):
    document = cli("optimize", task, "--n", 2, "--json", *CPU).document
    assert [attempt["folder"].rpartition("/")[2] for attempt in document["attempts"]] == ["2", "10"]
    assert document["cost"]["usd"] == 1.0


def test_a_run_shows_its_attempts(cli, asked, tmp_path):
    printed = cli("runs", "show", tmp_path / "made" / "whole")
    assert "attempt  policy" in printed.out
    document = cli("runs", "show", tmp_path / "made" / "whole", "--json").document
    assert len(document["attempts"]) == 2
    folders = cli("runs", "list", tmp_path / "made" / "whole" / "attempts", "--json").document["runs"]
    assert len(folders) == 2
    assert json.dumps(document)


def test_fewer_attempts_than_models_is_a_mistake(cli, task, asked):
    printed = cli("optimize", task, "--model", "openai:a", "--model", "openai:b", "--n", 1, *CPU)
    assert printed.code == 2
    assert asked == []
