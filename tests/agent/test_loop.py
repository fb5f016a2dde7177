"""One episode: what counts as best, when it ends, and what a failure of ours leaves behind."""

import os
import signal
import time

import pytest

from warpsmith.agent import SPECS, Aborted, Budget, Built, Busy, Finished, Improved, Judged, Said
from warpsmith.core import (
    Cost,
    Crashed,
    EnvironmentMissing,
    InfraError,
    Passed,
    Role,
    StopReason,
    Wrong,
)


def test_the_fastest_program_wins_wherever_it_stood(stage, say):
    trajectory = stage.run(
        *[(say.program(word), say.call("profile")) for word in ("100", "80", "wrong", "120", "broken")]
    )
    assert trajectory.stop is StopReason.FINISHED
    assert trajectory.best.candidate.text("model_new.py").startswith("# 80\n")
    assert trajectory.best.verdict.timing.candidate.median_us == 80.0


def test_the_best_is_measured_again_for_the_verdict_of_record(stage, say):
    stage.judge.script = [None, Passed(accuracy=say.accuracy, timing=say.timing(90.0))]
    trajectory = stage.run((say.program("100"), say.call("profile")))
    assert [question for question, _ in stage.judge.asked] == ["measure", "measure"]
    assert trajectory.best.verdict.timing.candidate.median_us == 90.0
    assert stage.heard.of(Judged)[-1].tool == "final"


def test_a_program_that_fails_when_measured_again_gives_way_to_the_next(stage, say):
    stage.judge.script = [None, None, Wrong(what="values", message="once in a while")]
    trajectory = stage.run(*[(say.program(word), say.call("profile")) for word in ("100", "80")])
    assert trajectory.best.verdict.timing.candidate.median_us == 100.0


def test_if_no_program_passes_again_the_verdict_says_so(stage, say):
    stage.judge.script = [None, Crashed(stage="forward", log="segmentation fault")]
    trajectory = stage.run((say.program("80"), say.call("profile")))
    assert isinstance(trajectory.best.verdict, Crashed)


def test_a_program_that_was_only_verified_counts_if_none_was_timed(stage, say):
    trajectory = stage.run(
        (say.program("100"), say.call("verify")),
        (say.program("70"), say.call("verify")),
        (say.program("wrong"), say.call("verify")),
    )
    assert trajectory.best.candidate.text("model_new.py").startswith("# 70\n")
    assert len(stage.heard.of(Improved)) == 2


def test_a_timed_program_beats_a_later_untimed_one(stage, say):
    trajectory = stage.run((say.program("100"), say.call("profile")), (say.program("70"), say.call("verify")))
    assert trajectory.best.candidate.text("model_new.py").startswith("# 100\n")


def test_a_program_that_passed_and_later_fails_is_dropped(stage, say):
    stage.judge.script = [None, Wrong(what="values", message="a race")]
    trajectory = stage.run((say.program("80"), say.call("profile"), say.call("verify")))
    assert trajectory.best is None


def test_an_episode_without_a_right_program_has_no_best(stage, say):
    trajectory = stage.run((say.program("wrong"), say.call("verify")))
    assert trajectory.best is None
    assert stage.heard.of(Finished)[0].best is None


def test_the_policy_hears_the_guide_the_task_and_every_answer(stage, say):
    stage.run((say.program("100"), say.call("compile")), (say.call("verify"),))
    first, *_, last = stage.policy.heard
    assert [message.role for message in first] == [Role.SYSTEM, Role.USER]
    assert stage.task.source.strip() in first[1].text
    assert [message.role for message in last[2:]] == [
        Role.ASSISTANT,
        Role.TOOL,
        Role.TOOL,
        Role.ASSISTANT,
        Role.TOOL,
    ]
    assert last[-1].text.startswith("Correct")
    assert isinstance(last[-1].verdict, Passed)


def test_a_successful_compile_is_no_verdict(stage, say):
    trajectory = stage.run(
        (say.program("100"), say.call("compile")), (say.program("broken"), say.call("compile"))
    )
    good, bad = (turn.answers[1] for turn in trajectory.turns[:2])
    assert good.text.startswith("compiled")
    assert good.verdict is None
    assert bad.text.startswith("Does not compile")
    assert bad.verdict.log in bad.text
    assert len(stage.heard.of(Built)) == 1


@pytest.mark.parametrize(
    ("budget", "stop", "num_turns"),
    [
        (Budget(max_turns=2), StopReason.TURNS, 2),
        (Budget(max_tokens=15_000), StopReason.TOKENS, 3),
        (Budget(max_usd=0.5), StopReason.MONEY, 2),
        (Budget(max_wall_s=0.0), StopReason.TIME, 0),
    ],
)
def test_a_limit_ends_the_episode(stage, say, budget, stop, num_turns):
    stage.budget = budget
    turns = [(say.program("100"), say.call("verify"))] * 5
    trajectory = stage.run(*turns, cost=Cost(prompt_tokens=5_000, completion_tokens=3, usd=0.25))
    assert (trajectory.stop, len(trajectory.turns)) == (stop, num_turns)
    assert (trajectory.best is not None) == (num_turns > 0), "what was found before the limit is kept"


def test_costs_add_up(stage, say):
    trajectory = stage.run((say.program("100"),), (say.call("verify"),), cost=Cost(prompt_tokens=7, usd=0.25))
    assert trajectory.cost.prompt_tokens == 21
    assert trajectory.cost.usd == 0.75
    assert sum(turn.cost.wall_s for turn in trajectory.turns) <= trajectory.cost.wall_s
    assert trajectory.cost.gpu_s == 0.0


def test_the_rest_of_a_reply_is_answered_but_not_run_once_time_is_up(stage, say):
    stage.budget = Budget(max_wall_s=1.0)
    trajectory = stage.run((say.call("bash", command="sleep 1.1"), say.call("bash", command="touch late")))
    assert trajectory.stop is StopReason.TIME
    assert trajectory.turns[0].answers[1].text == "not run: the episode ends (time)"
    assert not (stage.workspace.root / "late").exists()


def test_a_reply_with_absurdly_many_calls_is_cut(stage, say):
    texts = stage.answer(*[say.call("read", path="SKILL.md") for _ in range(40)])
    assert len(texts) == 40
    assert texts[31].startswith("# Make")
    assert texts[32] == "not run: a reply may have 32 tool calls"


def test_ctrl_c_finishes_the_step_and_keeps_the_best(stage, say):
    stage.judge.script = [None, lambda: os.kill(os.getpid(), signal.SIGINT)]
    trajectory = stage.run(
        (say.program("100"), say.call("profile")),
        (say.program("80"), say.call("profile"), say.call("bash", command="touch late")),
        (say.program("60"), say.call("profile")),
    )
    assert trajectory.stop is StopReason.INTERRUPTED
    assert trajectory.best.verdict.timing.candidate.median_us == 80.0
    assert len(trajectory.turns) == 2
    assert trajectory.turns[1].answers[2].text == "not run: the episode ends (interrupted)"
    assert any("Ctrl-C again" in busy.what for busy in stage.heard.of(Busy))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_stops_at_once_with_the_best_as_last_judged(stage, say):
    def press_twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

    stage.judge.script = [None, press_twice]
    trajectory = stage.run(
        (say.program("100"), say.call("profile")), (say.program("80"), say.call("profile"))
    )
    assert trajectory.stop is StopReason.INTERRUPTED
    assert trajectory.best.verdict.timing.candidate.median_us == 100.0
    assert [question for question, _ in stage.judge.asked] == ["measure", "measure"], "no final measurement"
    assert stage.heard.of(Finished)[0].best is trajectory.best


def test_a_failure_of_ours_is_tried_once_more(stage, say):
    stage.judge.script = [say.infra_error]
    trajectory = stage.run((say.program("100"), say.call("profile")))
    assert isinstance(trajectory.best.verdict, Passed)


def test_a_failure_of_ours_that_stays_is_raised_after_the_best_was_told(stage, say):
    stage.judge.script = [None, say.infra_error, say.infra_error]
    with pytest.raises(InfraError, match="driver is gone"):
        stage.run((say.program("100"), say.call("profile")), (say.program("80"), say.call("profile")))
    assert stage.heard.of(Improved)[-1].solution.verdict.timing.candidate.median_us == 100.0
    assert stage.heard.of(Aborted)[0].reason == "the driver is gone"
    assert not stage.heard.of(Finished)


def test_what_the_machine_lacks_is_not_tried_again(stage, say):
    stage.judge.script = [EnvironmentMissing("no compiler; apt-get install g++")]
    with pytest.raises(EnvironmentMissing):
        stage.run((say.program("100"), say.call("verify")))
    assert len(stage.judge.asked) == 1


def test_every_message_is_told_in_order(stage, say):
    trajectory = stage.run((say.program("100"), say.call("verify")))
    said = [event.message for event in stage.heard.of(Said)]
    flat = [message for turn in trajectory.turns for message in (turn.reply, *turn.answers)]
    assert said[2:] == flat


def test_all_tools_are_offered(stage):
    stage.run()
    assert stage.policy.offered == SPECS
