"""`warpsmith optimize --agent team|pair`: who plays which part, and what is refused before anything runs."""

import json

import pytest

from warpsmith.agent import Examined, HandedIn, Planned, Routed, Said
from warpsmith.agent.runs.past import past_of
from warpsmith.agent.team.nouns import Bottleneck, Diagnosis, Outcome, Plan, Route, SubTask
from warpsmith.cli.narrator import Narrator
from warpsmith.core import Cost, Message, Role, StopReason

CPU = ("--device", "cpu", "--sandbox", "process")


@pytest.fixture
def team_of(cli, task, episode, compilers, tmp_path):
    """Runs `optimize` with these options; gives what it printed and the recorded spec."""
    compilers()
    episode(None, StopReason.FINISHED)

    def invoke(*options):
        printed = cli("optimize", task, "--out", tmp_path / "run", *CPU, *options)
        spec = past_of(tmp_path / "run").spec if (tmp_path / "run").exists() else None
        return printed, spec

    return invoke


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.json"
    path.write_text("[]")
    return f"scripted:{path}"


def test_a_part_that_is_not_named_is_the_model_s(team_of, lines):
    _, spec = team_of("--agent", "team", "--model", lines)
    assert (spec.policy, spec.team.planner.policy, spec.team.verifier.policy) == (lines,) * 3
    assert (spec.team.kind, spec.team.rhythm.max_iterations) == ("team", 15)


def test_each_part_has_its_own_policy(team_of, lines):
    _, spec = team_of("--agent", "team", "--planner", lines, "--coder", "builtin", "--verifier", "rules")
    assert (spec.policy, spec.team.planner.policy, spec.team.verifier.policy) == ("builtin", lines, "rules")


def test_without_any_name_all_is_builtin_and_the_verifier_is_the_rules(team_of):
    _, spec = team_of("--agent", "team")
    assert (spec.policy, spec.team.planner.policy, spec.team.verifier.policy) == (
        "builtin",
        "builtin",
        "rules",
    )


def test_a_pair_has_ten_rounds_and_no_planner(team_of, lines):
    printed, spec = team_of("--agent", "pair", "--coder", lines, "--verifier", "rules")
    assert (spec.team.kind, spec.team.rhythm.max_iterations) == ("pair", 10)
    assert "planner" not in printed.err


def test_alone_is_how_it_works_if_nothing_is_said(team_of, lines):
    _, spec = team_of("--model", lines)
    assert spec.team is None


def test_each_part_is_asked_in_its_own_way_and_has_its_own_price(team_of, endpoint):
    endpoint(context_tokens=32_768)
    printed, spec = team_of(
        *("--agent", "team", "--planner", "openai:large", "--coder", "openai:small"),
        *("--price", "openai:large=10/30", "--price", "openai:small=1/2", "--max-usd", 5),
    )
    assert spec.team.planner.policy_config.price.prompt_usd == 10
    assert spec.policy_config.price.prompt_usd == 1
    assert spec.policy_config.context_tokens == 32_768
    assert "what planner and verifier say comes on top" in printed.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--agent genius", "choose one of skill, team, pair"),
        ("--planner builtin", "for --agent team"),
        ("--verifier rules", "the skill agent works alone"),
        ("--agent pair --planner builtin", "a pair has a coder and a verifier"),
        ("--agent team --model builtin --model openai:a", "takes one --model"),
        ("--agent team --planner rules", "the rules can only be the verifier"),
        ("--agent team --coder rules", "the rules can only be the verifier"),
        ("--agent team --coder genius:x", "unknown model 'genius:x'"),
        ("--agent team --planner genius", "unknown model 'genius'"),
        ("--agent team --verifier builtin:x", "takes no argument"),
        ("--agent team --coder replay:runs/x", "a recording is of one conversation"),
        ("--agent team --coder scripted:none.json", "none.json"),
        ("--agent team --price openai:a=1/2", "--price names"),
    ],
)
def test_a_part_that_there_is_not_is_usage_one_line_and_costs_no_run(team_of, options, said):
    printed, spec = team_of(*options.split())
    assert (printed.code, spec) == (2, None), printed.err
    assert said in printed.err.splitlines()[-1]


def test_a_cap_on_money_needs_every_part_s_price(team_of, endpoint):
    endpoint()
    printed, spec = team_of(
        *("--agent", "team", "--planner", "openai:mystery", "--coder", "builtin", "--max-usd", 5)
    )
    assert (printed.code, spec) == (2, None)
    assert "what openai:mystery charges is not known" in printed.err


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["team", "pair"])
def test_a_team_without_any_model_ends_with_a_correct_program(cli, task, tmp_path, agent):
    printed = cli("optimize", task, "--agent", agent, *CPU, "--out", tmp_path / "run", "--json")
    document = printed.document
    assert document["verdict"]["type"] == "Passed", printed.err
    assert document["stop"] == "finished"
    assert cli("runs", "resume", tmp_path / "run").code == 2, "it has finished"
    turns = cli("runs", "show", tmp_path / "run", "--json").document["trajectory"]["turns"]
    assert "coder: First the reference." in [turn["said"] for turn in turns]
    forked = cli("runs", "fork", tmp_path / "run", "--turn", 2, "--out", tmp_path / "fork", "--json").document
    assert forked["verdict"]["type"] == "Passed"
    compared = json.loads(cli("runs", "diff", tmp_path / "run", tmp_path / "fork", "--json").out)
    assert compared["files"] == []


@pytest.mark.slow
def test_a_team_is_cast_again_from_its_record(cli, task, tmp_path):
    """It ended amid the coder's conversation: another process takes that up."""
    cli("optimize", task, "--agent", "team", *CPU, "--out", tmp_path / "run", "--max-turns", 4)
    assert past_of(tmp_path / "run").num_turns == 4
    document = cli("runs", "resume", tmp_path / "run", "--max-turns", 50, "--json").document
    assert document["verdict"]["type"] == "Passed"
    assert document["stop"] == "finished"


def test_progress_tells_whose_turn_it_is_and_what_came_of_it():
    diagnosis = Diagnosis(
        bottleneck=Bottleneck.MEMORY, evidence=(), finding="two passes\nover it", suggestion="make it one"
    )
    plan = Plan(summary="s", sub_tasks=(SubTask(name="whole", what="all"), SubTask(name="fast", what="it")))
    events = (
        Said(message=Message(role=Role.ASSISTANT, text="I fuse."), cost=Cost(), by="coder"),
        Planned(plan=plan),
        Planned(plan=None, reason="no JSON"),
        Examined(outcome=Outcome.SLOW, time_us=3.0, digest="d", diagnosis=diagnosis),
        Routed(route=Route.REPLAN, rule="no longer changing"),
        HandedIn(reason="the coder says so"),
    )
    narrator = Narrator()
    assert [narrator.tell(event) for event in events] == [
        "turn 1 (coder): I fuse.",
        "  plan: whole, fast",
        "  plan: none (no JSON)",
        "  tested: slow, limited by memory: two passes",
        "  next: replan, since no longer changing",
        None,
    ]
