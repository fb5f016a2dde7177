"""Whole episodes with scripted parts: who speaks when, what is tested, and where it leads."""

import json
from dataclasses import replace

import pytest

from warpsmith.agent import Budget, Diagnosed, Examined, Finished, Judged, Planned, Routed, Said
from warpsmith.agent.team.nouns import Kind, Rhythm
from warpsmith.agent.tools import SPECS
from warpsmith.core import EnvironmentMissing, InfraError, Passed, Role, StopReason

DONE = "The sub-task is done."


def plan(*names, **targets):
    items = [{"name": name, "what": f"make {name}", "target": targets.get(name)} for name in names]
    return json.dumps({"summary": "as planned", "sub_tasks": items})


def test_straight_a_sub_task_an_iteration_and_then_the_final_test(team, write):
    team.of(
        planner=[plan("whole", "faster")],
        coder=[write("150"), DONE, write("80"), DONE],
        verifier=['{"bottleneck": "memory", "finding": "two passes", "suggestion": "make it one"}'],
    )
    trajectory = team.start()
    assert team.story() == [
        "planner has the word",
        "plan: whole, faster",
        "coder has the word",
        "handed in",
        "tested: good",
        "verifier has the word",
        "diagnosed by lines of the verifier",
        "next: next_task",
        "coder has the word",
        "handed in",
        "tested: good",
        "verifier has the word",
        "diagnosed by lines of the verifier",
        "next: final_test",
        "next: stop",
    ]
    assert trajectory.stop is StopReason.FINISHED
    assert trajectory.best.verdict.timing.candidate.median_us == 80.0
    assert [question for question, _ in team.judge.asked] == ["build", "measure"] * 2 + ["measure"]


def test_two_programs_that_do_not_compile_bring_a_new_plan(team, write):
    team.of(
        planner=[plan("clever"), plan("plain")],
        coder=[write("broken"), DONE, DONE, write("100"), DONE],
    )
    team.start()
    assert team.story() == [
        "planner has the word",
        "plan: clever",
        "coder has the word",
        "handed in",
        "tested: not built",
        "diagnosed by rules",
        "next: coding",
        "coder has the word",
        "handed in",
        "tested: not built",
        "diagnosed by rules",
        "next: replan",
        "planner has the word",
        "plan: plain",
        "coder has the word",
        "handed in",
        "tested: good",
        "diagnosed by rules",
        "next: final_test",
        "next: stop",
    ]
    asked = [question for question, _ in team.judge.asked]
    assert asked == ["build", "build", "measure", "measure"], "a program that is the same is not judged again"


def test_a_coder_that_never_compiles_is_stopped_at_fifteen(team, write):
    team.of(planner=[plan("whole")], coder=[write("broken"), DONE])
    trajectory = team.start()
    story = team.story()
    assert story.count("tested: not built") == 15
    assert story.count("next: replan") == 2
    assert story[-1] == "next: stop"
    assert (trajectory.best, trajectory.stop) == (None, StopReason.FINISHED)


def test_a_pair_writes_and_comments_round_by_round(team, write, say):
    team.kind, team.rhythm = Kind.PAIR, Rhythm(max_iterations=3)
    team.of(
        coder=[write("wrong"), DONE, write("300"), DONE, write("90"), DONE],
        verifier=["Mind the tail.", "Fuse them.", "Leave it."],
    )
    trajectory = team.start()
    round_ = ["coder has the word", "handed in", "tested: {}", "verifier has the word"]
    rest = "diagnosed by lines of the verifier"
    expected = [
        line.format(outcome)
        for outcome in ("wrong", "slow", "good")
        for line in (*round_, rest, "next: coding")
    ]
    expected[-1] = "next: final_test"
    assert team.story() == ["plan: twice", *expected, "next: stop"]
    assert trajectory.best.verdict.timing.candidate.median_us == 90.0
    assert "suggestion: Mind the tail." in team.parts["coder"].heard[2][1].text


def test_two_wrong_programs_in_a_row_bring_a_new_plan_and_one_does_not(team, write):
    team.of(
        planner=[plan("clever"), plan("plain")],
        coder=[write("wrong"), DONE, write("100"), DONE],
    )
    team.start()
    assert "next: replan" not in team.story()


def test_standing_still_below_the_target_brings_a_new_plan(team, write):
    team.of(
        planner=[plan("clever"), plan("plain")],
        coder=[write("300"), DONE, write("290"), DONE, write("100"), DONE],
    )
    team.start()
    story = team.story()
    assert story.index("next: replan") > story.index("next: coding")
    assert story[-2:] == ["next: final_test", "next: stop"]


def test_a_sub_task_has_a_target_of_its_own(team, write):
    team.of(planner=[plan("whole", "faster", whole=0.5)], coder=[write("390"), DONE, write("100"), DONE])
    team.start()
    assert [event.outcome for event in team.events if isinstance(event, Examined)] == ["good", "good"]


def test_a_final_test_slower_than_the_reference_brings_a_new_plan(team, write, say):
    slow = Passed(accuracy=say.accuracy, timing=say.timing(400.0))
    team.judge.script = [None, None, slow]  # build, measure, and then the final test
    team.of(planner=[plan("whole"), plan("again")], coder=[write("100"), DONE, write("90"), DONE])
    team.start()
    story = team.story()
    first = story.index("next: final_test")
    assert story[first : first + 4] == [
        "next: final_test",
        "next: replan",
        "planner has the word",
        "plan: again",
    ]
    rules = [event.rule for event in team.events if isinstance(event, Routed)]
    assert "the final test failed, or found it slower than the reference" in rules
    assert [e.tool for e in team.events if isinstance(e, Judged)].count("final") == 2


@pytest.mark.parametrize("prose", ["I would fuse everything.", "{}", "[]", '{"sub_tasks": []}', ""])
def test_a_planner_that_gives_no_plan_is_asked_once_more_and_then_done_without(team, write, prose):
    team.of(planner=[prose], coder=[write("100"), DONE])
    trajectory = team.start()
    plans = [event for event in team.events if isinstance(event, Planned)]
    assert [event.plan is None for event in plans] == [True, False]
    assert len(plans[1].plan.sub_tasks) == 1
    assert "could not be read" in plans[1].reason
    assert "could not be read as a plan" in team.parts["planner"].heard[1][-1].text
    assert trajectory.best is not None


def test_a_plan_of_a_hundred_sub_tasks_is_sent_back(team, write):
    team.of(planner=[plan(*(f"step{n}" for n in range(100))), plan("one")], coder=[write("100"), DONE])
    team.start()
    told = team.parts["planner"].heard[1][-1].text
    assert "100 sub-tasks; 15 are accepted" in told
    assert "plan: one" in team.story()


def test_a_coder_that_only_talks_has_no_program(team):
    team.rhythm = replace(team.rhythm, max_iterations=3)
    team.of(planner=[plan("whole")], coder=["I have thought about it."])
    trajectory = team.start()
    assert team.story().count("tested: no program") == 3
    assert trajectory.best is None
    assert not team.judge.asked


def test_a_coder_that_goes_on_and_on_is_tested_all_the_same(team, write):
    team.rhythm = replace(team.rhythm, coder_turns=3)
    team.of(planner=[plan("whole")], coder=[write("100")])
    trajectory = team.start()
    assert len(trajectory.turns) == 4
    assert "tested: good" in team.story()


def test_a_coder_that_says_nothing_is_told_so_and_then_tested(team):
    team.rhythm = replace(team.rhythm, max_iterations=1)
    team.of(planner=[plan("whole")], coder=[""])
    team.start()
    assert team.story()[-3:] == ["tested: no program", "diagnosed by rules", "next: stop"]
    assert len(team.parts["coder"].asked) == 4


def test_each_reply_and_each_conversation_has_its_own_part(team, write):
    team.of(planner=[plan("whole")], coder=[write("300"), DONE, write("90"), DONE], verifier=["Fuse."])
    team.start()
    replies = [e for e in team.events if isinstance(e, Said) and e.message.role is Role.ASSISTANT]
    assert [e.by for e in replies] == ["planner", "coder", "coder", "verifier", "coder", "coder", "verifier"]
    coder, planner = team.parts["coder"], team.parts["planner"]
    assert [len(heard) for heard in coder.heard] == [2, 4, 2, 4], "each iteration begins anew"
    assert "# 300" in coder.heard[2][1].text, "the program so far is told"
    assert coder.offered[0] == [spec.name for spec in SPECS]
    assert planner.offered == [["read", "glob", "grep", "docs"]]


def test_who_is_no_coder_changes_nothing(team, write, say):
    team.of(planner=[write("100"), plan("whole")], coder=[DONE], verifier=["Write it."])
    team.rhythm = replace(team.rhythm, max_iterations=1)
    trajectory = team.start()
    assert trajectory.turns[0].answers[0].text.startswith("not run: the planner has the tools read,")
    assert "tested: no program" in team.story()


def test_exactly_one_suggestion_reaches_the_coder(team, write):
    several = '{"suggestion": ["Fuse the two.", "And pad."], "bottleneck": "launch-bound"}'
    team.of(planner=[plan("whole")], coder=[write("300"), DONE, write("90"), DONE], verifier=[several])
    team.start()
    said = next(event.diagnosis for event in team.events if isinstance(event, Diagnosed))
    assert (said.suggestion, said.bottleneck) == ("Fuse the two.", "launch")
    assert "And pad" not in team.parts["coder"].heard[2][1].text


def test_the_budget_is_that_of_every_run(team, write):
    team.budget = Budget(max_usd=3.0)
    team.of(planner=[plan("whole")], coder=[write("300"), DONE])
    trajectory = team.start()
    assert (trajectory.stop, len(trajectory.turns)) == (StopReason.MONEY, 3)
    assert trajectory.best is None, "no step follows a limit"
    assert trajectory.cost.usd == 3.0


def test_a_part_that_cannot_be_asked_ends_it_with_what_there_is(team, write):
    team.of(planner=[plan("whole")], coder=[write("300"), DONE], verifier=["Fuse."])

    def gone(messages, tools):
        raise InfraError("the endpoint is gone")

    team.parts["verifier"].respond = gone
    trajectory = team.start()
    assert trajectory.stop is StopReason.POLICY
    assert trajectory.best.verdict.timing.candidate.median_us == 300.0
    assert team.events[-1].reason == "the endpoint is gone"


def test_what_the_machine_lacks_is_raised(team, write):
    team.judge.script = [EnvironmentMissing("no compiler")]
    team.of(planner=[plan("whole")], coder=[write("300"), DONE])
    with pytest.raises(EnvironmentMissing):
        team.start()


def test_the_test_s_time_is_in_the_turn_s_cost(team, write):
    team.judge.has_gpu = True
    team.of(planner=[plan("whole")], coder=[write("100"), DONE])
    trajectory = team.start()
    assert trajectory.turns[-1].cost.gpu_s == 1.0
    end = team.events[-1]
    assert isinstance(end, Finished)
    assert end.cost.gpu_s == 2.0, "the final test's beside it"


def test_what_was_right_is_put_back_before_a_new_plan(team, write):
    team.of(
        planner=[plan("whole", "faster", whole=0.5), plan("again")],
        coder=[write("390"), DONE, write("wrong"), DONE, DONE, write("100"), DONE],
    )
    team.start()
    assert team.story().count("next: replan") == 1
    heard = team.parts["planner"].heard[-1][1].text
    assert "The program in the workspace is right and takes 390.0 us" in heard
    assert "reached their target: whole." in heard
    assert "# 390" in team.parts["coder"].heard[5][1].text, "the coder goes on from it"


def test_without_any_right_program_a_new_plan_is_told_so(team, write):
    team.of(planner=[plan("clever"), plan("plain")], coder=[write("wrong"), DONE, DONE, write("100"), DONE])
    team.start()
    assert "There is no right program in the workspace" in team.parts["planner"].heard[-1][1].text
