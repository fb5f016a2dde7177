"""A team's run that is killed anywhere ends as it would have, pays for no reply twice, and can be forked."""

import json
from dataclasses import replace

import pytest

from warpsmith.agent import (
    Budget,
    Examined,
    Finished,
    Handed,
    HandedIn,
    Judged,
    Planned,
    Routed,
    Said,
    TurnEnded,
    in_effect,
    read_events,
)
from warpsmith.agent.runs.past import past_of
from warpsmith.agent.team.nouns import Member
from warpsmith.core import Role, StopReason
from warpsmith.policy import PolicyConfig

DONE = "Done."
PLANS = [
    json.dumps({"summary": "one", "sub_tasks": [{"name": "clever", "what": "all"}]}),
    json.dumps({"summary": "two", "sub_tasks": [{"name": n, "what": n} for n in ("whole", "faster")]}),
]


@pytest.fixture
def script(write):
    """Two failures, another plan, two sub-tasks, with a verifier's word on each."""
    return {
        "planner": ["I think that", *PLANS],
        "coder": [write("wrong"), DONE, DONE, write("100"), DONE, write("80"), DONE],
        "verifier": ["Look at the tail.", "And there.", "Fuse.", "Enough."],
    }


def ending(run):
    """All that counts in the end, but for times and the numbers of calls."""
    end = run.events[-1]
    assert isinstance(end, Finished)
    replies = [e for e in run.events if isinstance(e, Said) and e.message.role is Role.ASSISTANT]
    return run.story(), [(e.by, e.message.text) for e in replies], end.best.candidate.digest, end.cost.usd


@pytest.fixture
def whole(team, script):
    team.of(**script).start()
    return ending(team)


def nth(number, kind=object):
    seen = []

    def is_it(event):
        if isinstance(event, kind):
            seen.append(event)
        return len(seen) == number

    return is_it


def num_told(folder):
    return len(read_events(folder))


@pytest.mark.slow
@pytest.mark.parametrize("place", range(8))
def test_killed_at_any_event_it_ends_the_same(tmp_path, team, script, whole, say, task, place):
    again = type(team)(tmp_path / "killed", say, task).of(**script)
    total = num_told(team.folder)
    for at in range(2 + place, total, 8):
        again.folder = tmp_path / f"killed-{at}"
        again.of(**script)
        assert again.start(dies_at=nth(at)) is None
        if not isinstance(in_effect(read_events(again.folder))[-1], Finished):
            again.resume()
        assert ending(again) == whole, at
        for part in again.parts.values():
            assert part.asked == sorted(set(part.asked)), "no reply was paid for twice"


MOMENTS = {
    "when a plan could not be read": (Planned, 1),
    "when the coder has handed in": (HandedIn, 1),
    "when its program is judged": (Judged, 1),
    "while the verifier is asked": (Handed, 3),
    "when the new plan is due": (Routed, 2),
    "in the final test": (Routed, 5),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_a_delicate_moment_it_ends_the_same(tmp_path, team, script, whole, say, task, moment):
    again = type(team)(tmp_path / "killed", say, task).of(**script)
    assert again.start(dies_at=nth(MOMENTS[moment][1], MOMENTS[moment][0])) is None
    again.resume()
    assert ending(again) == whole


def test_killed_again_and_again_it_ends_the_same(tmp_path, team, script, whole, say, task):
    again = type(team)(tmp_path / "killed", say, task).of(**script)
    assert again.start(dies_at=nth(9)) is None
    for number in range(3, 40, 4):
        if again.resume(dies_at=nth(number)) is not None:
            break
    else:
        again.resume()
    assert ending(again) == whole


def test_the_record_knows_the_team_and_no_secret(team, script):
    team.of(**script).start()
    spec = past_of(team.folder).spec
    assert spec.team.kind == "team"
    assert spec.team.rhythm == team.rhythm
    part = replace(spec.team.verifier, policy_config=PolicyConfig(base_url="http://me:word@host:1/v1?key=k"))
    config = replace(spec, team=replace(spec.team, verifier=part)).to_config()
    assert config["team"]["verifier"]["policy_config"]["base_url"] == "http://host:1/v1"


def test_a_budget_that_ended_amid_an_iteration_can_be_raised(team, script, whole, tmp_path, say, task):
    again = type(team)(tmp_path / "poor", say, task).of(**script)
    again.budget = Budget(max_usd=4.0)
    assert again.start().stop is StopReason.MONEY
    assert again.resume(budget=Budget(max_usd=100.0)).stop is StopReason.FINISHED
    assert ending(again) == whole


def test_a_fork_goes_on_from_a_turn_with_iterations_of_its_own(team, script, whole, tmp_path):
    out = tmp_path / "fork"
    trajectory = team.fork(4, out)  # the verifier's word is due
    assert trajectory.stop is StopReason.FINISHED
    assert trajectory.best.candidate.digest == whole[2]
    tested = [event for event in in_effect(read_events(out)) if isinstance(event, Examined)]
    assert len(tested) == len([line for line in whole[0] if line.startswith("tested")])


@pytest.mark.slow
def test_a_fork_amid_any_conversation_goes_on_there(tmp_path, team, write, say):
    look = say.reply(say.call("docs", query="bank conflicts", n=1))
    team.of(
        planner=[look, PLANS[1]],
        coder=[look, write("100"), DONE, look, write("80"), DONE],
        verifier=[look, "Fuse.", look, "Enough."],
    ).start()
    replies = [e for e in team.events if isinstance(e, Said) and e.message.role is Role.ASSISTANT]
    whole = ending(team)
    for turn in range(1, len(replies)):
        out = tmp_path / f"fork-{turn}"
        assert team.fork(turn, out).stop is StopReason.FINISHED
        told = in_effect(read_events(out))
        forked = [e for e in told if isinstance(e, Said) and e.message.role is Role.ASSISTANT]
        assert [(e.by, e.message.text) for e in forked] == whole[1], turn
        assert told[-1].best.candidate.digest == whole[2], turn


def test_a_fork_from_the_end_plans_anew(team, script, whole, tmp_path, write):
    num_turns = max(e.number for e in team.events if isinstance(e, TurnEnded))
    team.parts[Member.PLANNER].lines = [*script["planner"], PLANS[0]]
    team.parts[Member.CODER].lines = [*script["coder"], write("60"), DONE]
    trajectory = team.fork(num_turns, tmp_path / "fork")
    assert trajectory.best.verdict.timing.candidate.median_us == 60.0
    heard = team.parts[Member.PLANNER].heard[-1][1].text
    assert "Make another plan" in heard
