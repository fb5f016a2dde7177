"""A recorded run said again, and what is said of a record that cannot be."""

import json

import pytest

from warpsmith.core import Cost, InfraError, Message, Role, ToolCall, UsageError
from warpsmith.core.codec import to_data
from warpsmith.policy import make_policy
from warpsmith.policy.replay import ReplayPolicy

HELLO = Message(role=Role.USER, text="go")


def asks(name):
    return Message(role=Role.ASSISTANT, text=name, tool_calls=(ToolCall(call_id=name, tool="compile"),))


def answers(name, text="ok"):
    return Message(role=Role.TOOL, text=text, call_id=name)


def said(message):
    return json.dumps({"type": "Said", "message": to_data(message), "cost": to_data(Cost())})


def record(folder, *lines, end="\n"):
    folder.mkdir(exist_ok=True)
    (folder / "trajectory.jsonl").write_text("\n".join(lines) + end)
    return folder


def run_of(folder, *messages):
    return record(folder, '{"type": "Started"}', *map(said, messages))


def test_the_replies_come_in_order_without_cost_and_then_it_finishes(tmp_path):
    talk = [HELLO, asks("a"), answers("a"), asks("b"), answers("b")]
    policy = make_policy(f"replay:{run_of(tmp_path / 'run', *talk)}")
    first = policy.respond(tuple(talk[:1]), ())
    second = policy.respond(tuple(talk[:3]), ())
    last = policy.respond(tuple(talk), ())
    assert (first.message, second.message) == (talk[1], talk[3])
    assert not last.message.tool_calls
    assert first.cost == Cost()
    assert policy.num_differing == 0
    assert policy.context_tokens is None


def test_answers_that_differ_are_counted_and_do_not_stop_it(tmp_path):
    policy = ReplayPolicy((HELLO, asks("a"), answers("a", "12 us"), asks("b"), answers("b")))
    policy.respond((HELLO,), ())
    talk = (HELLO, asks("a"), answers("a", "14 us"))
    assert policy.respond(talk, ()).message == asks("b")
    policy.respond((*talk, asks("b")), ())  # an answer that is missing differs too
    assert policy.num_differing == 2


def test_a_conversation_that_has_begun_is_taken_up_where_it_stands():
    talk = (HELLO, asks("a"), answers("a"), asks("b"), answers("b"))
    assert ReplayPolicy(talk).respond(talk[:3], ()).message == asks("b")


def test_a_verdict_in_the_record_is_passed_over(tmp_path):
    answer = {**to_data(answers("a")), "verdict": {"type": "Passed", "what": "a version to come adds"}}
    line = json.dumps({"type": "Said", "message": answer})
    run = record(tmp_path / "run", said(HELLO), said(asks("a")), line)
    assert ReplayPolicy.from_run(str(run)).respond((HELLO,), ()).message == asks("a")


def test_what_was_said_before_a_kill_and_lost_is_not_said_again(tmp_path):
    resumed = json.dumps({"type": "Resumed", "turn": 1})
    lines = [*map(said, [HELLO, asks("a"), answers("a"), asks("lost")]), resumed, said(asks("b"))]
    policy = ReplayPolicy.from_run(str(record(tmp_path / "run", *lines)))
    talk = (HELLO, asks("a"), answers("a"))
    assert policy.respond(talk, ()).message == asks("b")


def test_a_last_line_that_a_kill_cut_off_was_never_said(tmp_path):
    run = record(tmp_path / "run", said(HELLO), said(asks("a")), said(asks("b"))[:40], end="")
    policy = ReplayPolicy.from_run(str(run))
    policy.respond((HELLO,), ())
    assert not policy.respond((HELLO, asks("a"), answers("a")), ()).message.tool_calls


def test_the_record_itself_may_be_named(tmp_path):
    run = run_of(tmp_path / "run", HELLO, asks("a"))
    assert ReplayPolicy.from_run(str(run / "trajectory.jsonl")).respond((HELLO,), ()).message == asks("a")


DAMAGED = {
    "no JSON": "{",
    "no object": "[]",
    "no message": '{"type": "Said"}',
    "a message of odd types": '{"type": "Said", "message": {"role": "assistant", "text": 7}}',
    "a role that is none": '{"type": "Said", "message": {"role": "friend", "text": "x"}}',
    "a call that is none": '{"type": "Said", "message": {"role": "tool", "text": "", "tool_calls": [7]}}',
    "a list for a message": '{"type": "Said", "message": []}',
    "too deep": '{"type": "Said", "message": ' + "[" * 100_000,
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_record_is_a_usage_error_that_names_the_line(tmp_path, name):
    run = record(tmp_path / "run", said(asks("a")), DAMAGED[name])
    with pytest.raises(UsageError, match=r"trajectory\.jsonl:2 is damaged") as raised:
        make_policy(f"replay:{run}")
    assert "\n" not in str(raised.value)


def test_a_record_that_is_missing_empty_or_no_text_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="write replay:RUN"):
        make_policy(f"replay:{tmp_path / 'none'}")
    with pytest.raises(UsageError, match="no reply"):
        make_policy(f"replay:{record(tmp_path / 'empty', said(HELLO))}")
    (tmp_path / "empty" / "trajectory.jsonl").write_bytes(b"\xff\xfe\n")
    with pytest.raises(UsageError, match="cannot be read"):
        make_policy(f"replay:{tmp_path / 'empty'}")


def test_an_empty_conversation_is_our_failure():
    with pytest.raises(InfraError):
        ReplayPolicy((HELLO, asks("a"))).respond((), ())


def test_a_teams_run_is_no_single_conversation_to_replay(tmp_path):
    folder = record(tmp_path / "run", '{"type": "Handed"}', said(HELLO), said(asks("a")))
    with pytest.raises(UsageError, match="team"):
        make_policy(f"replay:{folder}")
