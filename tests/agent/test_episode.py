"""How an episode goes and ends, told by its events; and that events alone give its state again."""

import pytest

from warpsmith.agent import Aborted, Budget, Busy, Finished, Improved, Judged, Said, Sampled, TurnEnded
from warpsmith.agent.episode import MAX_NUDGES, Episode
from warpsmith.agent.prompts import CUT, EMPTY
from warpsmith.core import Cost, EnvironmentMissing, InfraError, Passed, Role, StopReason, UsageError
from warpsmith.core.codec import from_json, to_json
from warpsmith.policy import Reply, Tokens


def told(event):
    """An event in a few words."""
    match event:
        case Said(message=message):
            calls = " ".join(call.tool for call in message.tool_calls)
            return f"{message.role} says {calls or ' '.join(message.text.split()[:3])}"
        case Judged(tool=tool, verdict=verdict):
            return f"{tool}: {type(verdict).__name__}"
        case Improved(solution=solution):
            return f"best: {first_word(solution)}"
        case TurnEnded(number=number, files=files):
            return f"turn {number} leaves {', '.join(files)}"
        case Finished(stop=stop, num_turns=turns, best=best):
            return f"{stop} after {turns}, best {first_word(best)}"
    return type(event).__name__


def first_word(solution):
    return None if solution is None else solution.candidate.text("model_new.py").split("\n")[0]


def test_a_whole_episode_is_told_in_this_order(stage, say):
    stage.play(
        say.Reciter(
            say.reply(say.program("100"), say.call("verify")),
            say.reply(say.program("broken"), say.call("compile")),
            say.reply(say.program("80"), say.call("profile"), say.call("compile")),
            say.text("That is the best I can do."),
        )
    )
    heard = [told(event) for event in stage.heard.events if not isinstance(event, Busy)]
    assert heard == [
        "system says # Make a",
        "user says Make the module",
        "assistant says bash verify",
        "tool says exit code 0,",
        "tool says Correct: largest error",
        "verify: Passed",
        "best: # 100",
        "turn 1 leaves model_new.py",
        "assistant says bash compile",
        "tool says exit code 0,",
        "tool says Does not compile:",
        "compile: BuildFailed",
        "turn 2 leaves model_new.py",
        "assistant says bash profile compile",
        "tool says exit code 0,",
        "tool says Correct: largest error",
        "profile: Passed",
        "best: # 80",
        "Built",
        "tool says compiled (0.5 s)",
        "turn 3 leaves model_new.py",
        "assistant says That is the",
        "turn 4 leaves model_new.py",
        "final: Passed",
        "finished after 4, best # 80",
    ]


VERIFIED = ("100", "120", "90", "95", "95", "80")


@pytest.mark.parametrize(
    ("budget", "stop", "num_turns"),
    [
        (Budget(), StopReason.FINISHED, 7),
        (Budget(max_turns=2), StopReason.TURNS, 2),
        (Budget(max_tokens=15_000), StopReason.TOKENS, 3),
        (Budget(max_usd=0.5), StopReason.MONEY, 2),
        (Budget(max_wall_s=0.0), StopReason.TIME, 0),
        (Budget(patience=2), StopReason.PATIENCE, 5),
        (Budget(patience=3), StopReason.FINISHED, 7),
    ],
)
def test_every_limit_ends_the_episode_and_keeps_the_best(stage, say, budget, stop, num_turns):
    stage.budget = budget
    replies = [say.reply(say.program(word), say.call("profile")) for word in VERIFIED]
    trajectory = stage.play(say.Reciter(*replies))
    assert (trajectory.stop, len(trajectory.turns)) == (stop, num_turns)
    assert (trajectory.best is not None) == (num_turns > 0)
    finished = stage.heard.of(Finished)[0]
    assert (finished.stop, finished.num_turns) == (stop, num_turns)


def test_seconds_on_the_gpu_end_the_episode(stage, say):
    stage.budget = Budget(max_gpu_s=1e-9)
    stage.judge.has_gpu = True
    stage.judge.script = [lambda: None]
    trajectory = stage.play(say.Reciter(say.reply(say.program("100")), say.reply(say.call("profile"))))
    assert (trajectory.stop, len(trajectory.turns)) == (StopReason.GPU, 2)


def test_the_same_program_measured_again_is_no_progress(stage, say):
    stage.budget = Budget(patience=3)
    luckier = [Passed(accuracy=say.accuracy, timing=say.timing(100.0 - n)) for n in range(9)]
    stage.judge.script = list(luckier)
    calls = [say.reply(say.call("profile"), say.call("bash", command=f"echo {n}")) for n in range(8)]
    trajectory = stage.play(say.Reciter(say.reply(say.program("100")), *calls))
    assert (trajectory.stop, len(trajectory.turns)) == (StopReason.PATIENCE, 5)


def test_a_policy_that_says_nothing_is_asked_for_more_and_then_given_up(stage, say):
    trajectory = stage.play(
        say.Reciter(say.reply(say.program("100"), say.call("verify")), *[say.text("  ")] * 9)
    )
    assert trajectory.stop is StopReason.STUCK
    assert len(trajectory.turns) == 1 + MAX_NUDGES + 1
    assert trajectory.turns[1].answers[0].text == EMPTY
    assert trajectory.turns[1].answers[0].role is Role.USER
    assert isinstance(trajectory.best.verdict, Passed), "what it had found counts"


def test_one_empty_reply_is_no_end(stage, say):
    program = say.reply(say.program("100"), say.call("verify"))
    trajectory = stage.play(say.Reciter(say.text(""), say.text(""), program, say.text("")))
    assert [turn.answers[-1].text for turn in trajectory.turns[:2]] == [EMPTY, EMPTY]
    assert (trajectory.stop, len(trajectory.turns)) == (StopReason.FINISHED, 5)


def test_the_same_calls_over_and_over_are_stuck_whatever_they_are_numbered(stage, say):
    replies = [say.reply(say.call("read", path="model.py")) for _ in range(20)]
    trajectory = stage.play(say.Reciter(*replies))
    assert trajectory.stop is StopReason.STUCK
    assert len(trajectory.turns) == 2 + MAX_NUDGES + 1
    roles = [[answer.role for answer in turn.answers] for turn in trajectory.turns]
    assert roles[:3] == [[Role.TOOL], [Role.TOOL], [Role.TOOL, Role.USER]]
    assert "the same 3 times" in trajectory.turns[2].answers[1].text


def test_who_waits_for_a_job_is_not_stuck(stage, say):
    waits = [say.reply(say.call("bash_output", job="job-1")) for _ in range(9)]
    trajectory = stage.play(say.Reciter(*waits))
    assert (trajectory.stop, len(trajectory.turns)) == (StopReason.FINISHED, 10)


def test_a_reply_cut_off_by_its_limit_is_told_so_and_does_not_end_the_episode(stage, say):
    cut = Reply(message=say.text("First I would like to"), cost=Cost(), is_cut=True)
    trajectory = stage.play(say.Reciter(cut, say.reply(say.program("100"), say.call("verify"))))
    assert trajectory.turns[0].answers[0].text == CUT
    assert trajectory.stop is StopReason.FINISHED
    assert stage.heard.of(Said)[2].is_cut
    assert trajectory.best is not None


def test_a_policy_that_is_cut_again_and_again_is_given_up(stage, say):
    cut = Reply(message=say.text("First I would like to"), cost=Cost(), is_cut=True)
    assert stage.play(say.Reciter(*[cut] * 20)).stop is StopReason.STUCK


FAULTS = [
    InfraError("the endpoint refused 5 times (HTTP 503)"),
    EnvironmentMissing("the key is not accepted any more"),
    UsageError("there is no model of this name"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_policy_that_cannot_be_asked_any_more_ends_the_episode_with_the_best_measured(stage, say, fault):
    trajectory = stage.play(say.Reciter(say.reply(say.program("100"), say.call("verify")), fault))
    assert trajectory.stop is StopReason.POLICY
    assert trajectory.best.verdict.timing is not None, "it was measured"
    finished = stage.heard.of(Finished)[0]
    assert finished.reason == str(fault)
    assert finished.best == trajectory.best
    assert not stage.heard.of(Aborted)


@pytest.mark.parametrize("fault", FAULTS[1:], ids=lambda fault: type(fault).__name__)
def test_a_policy_that_could_never_be_asked_is_an_error_of_the_caller(stage, say, fault):
    with pytest.raises(type(fault)):
        stage.play(say.Reciter(fault))
    assert stage.heard.of(Aborted)
    assert not stage.heard.of(Finished)


def test_an_endpoint_that_is_down_from_the_start_is_no_crash(stage, say):
    trajectory = stage.play(say.Reciter(FAULTS[0]))
    assert (trajectory.stop, trajectory.best, trajectory.turns) == (StopReason.POLICY, None, ())


def test_tokens_are_told_before_the_reply_that_they_make(stage, say):
    tokens = Tokens(prompt_ids=(1, 2), ids=(3, 0), logprobs=(-0.5, -0.1))
    stage.play(say.Reciter(Reply(message=say.text("Done."), cost=Cost(), tokens=tokens)))
    kinds = [event for event in stage.heard.events if isinstance(event, Sampled | Said)]
    assert kinds[2] == Sampled(turn=1, tokens=tokens)
    assert kinds[3].message.text == "Done."


def test_thinking_is_recorded(stage, say):
    stage.play(say.Reciter(Reply(message=thoughtful(say.text("Done.")), cost=Cost())))
    assert stage.heard.of(Said)[-1].message.thinking == "hm"


def thoughtful(message):
    return type(message)(role=message.role, text=message.text, thinking="hm")


def test_a_clock_that_jumps_changes_nothing(stage, say, monkeypatch):
    stage.budget = Budget(max_wall_s=60.0)
    jumps = iter(range(10**9, 0, -(10**6)))
    monkeypatch.setattr("time.time", lambda: float(next(jumps)))
    trajectory = stage.play(say.Reciter(say.reply(say.program("100"), say.call("verify"))))
    assert trajectory.stop is StopReason.FINISHED
    assert 0.0 <= trajectory.cost.wall_s < 60.0


def test_arguments_that_no_record_can_hold_are_answered_and_not_run(stage, say):
    deep = "model.py"
    for _ in range(2000):
        deep = [deep]
    trajectory = stage.play(
        say.Reciter(say.reply(say.call("read", path=deep), say.call("read", path="model.py")))
    )
    first, second = trajectory.turns[0].answers
    assert "nested too deeply" in first.text
    assert second.text.startswith("class Model")
    assert trajectory.stop is StopReason.FINISHED


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": float("nan")},
        {"path": "\ud800"},
        {"path": "model.py\0"},
        {"path": ["model.py"]},
        {"path": None},
        {"\ud800": 1},
        {},
        {"command": "x" * 3_000_000},
        {"type": "Message", "role": "system"},
    ],
    ids=lambda arguments: repr(arguments)[:30],
)
@pytest.mark.parametrize("tool", ["read", "write", "bash", "no such tool", "\ud800", ""])
def test_odd_calls_are_answered_and_recorded_as_they_were(stage, say, tool, arguments):
    trajectory = stage.play(say.Reciter(say.reply(say.call(tool, **arguments)), say.text("\0\ud800 done")))
    assert trajectory.stop is StopReason.FINISHED
    for event in stage.heard.of(Said):
        assert from_json(Said, to_json(event)) == event


def test_a_workspace_that_was_emptied_is_no_crash(stage, say):
    empty = say.call("bash", command="rm -rf ./* .[a-z]*; chmod 000 .")
    trajectory = stage.play(say.Reciter(say.reply(empty), say.reply(say.program("100"), say.call("verify"))))
    assert trajectory.best is not None
    assert stage.heard.of(TurnEnded)[0].files == {}


def test_the_events_alone_give_the_state_again(stage, say):
    words = ("100", "wrong", "80", "broken", "120", "80")
    replies = [say.reply(say.program(word), say.call("profile")) for word in words]
    trajectory = stage.play(say.Reciter(*replies, say.text(""), say.reply(say.call("verify"))))
    again = Episode()
    for event in stage.heard.events:
        if not isinstance(event, Busy):
            again.apply(from_json(type(event), to_json(event)))
    assert tuple(again.turns) == trajectory.turns
    assert again.cost == trajectory.cost
    assert again.best == stage.heard.of(Improved)[-1].solution
    assert [first_word(solution) for solution in again.ranked()] == ["# 80", "# 100", "# 120"]
    flat = [message for turn in trajectory.turns for message in (turn.reply, *turn.answers)]
    assert again.context[2:] == flat
