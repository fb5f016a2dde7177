"""Samples: what was drawn is what is learnt from."""

import math

import pytest

from warpsmith.agent import Sampled
from warpsmith.core import Message, Role, ToolCall, ToolSpec, UsageError
from warpsmith.learn.rewards import Missing, NoReward, Reward
from warpsmith.learn.trajectory import (
    Origin,
    Reading,
    Reason,
    Sample,
    Span,
    filtered,
    read_samples,
    sample_of,
    samples_of,
    turns_in,
    write_samples,
)
from warpsmith.policy import Tokens
from warpsmith.policy.actions import Style

ORIGIN = Origin(sample_id="run", task_id="softmax", end_ids=frozenset((2,)), weights="step 3")


def sampled(turn, prompt, ids, logprob=-0.5):
    return Sampled(
        turn=turn, tokens=Tokens(prompt_ids=tuple(prompt), ids=tuple(ids), logprobs=(logprob,) * len(ids))
    )


def sample(*spans, ids=(5, 6, 7, 2, 9, 8, 2), **how):
    return Sample(
        sample_id="s", task_id="t", ids=ids, spans=tuple(Span(start=a, end=b) for a, b in spans), **how
    )


def test_the_mask_is_1_on_drawn_tokens_alone():
    assert sample((2, 4), (5, 7)).mask == (0, 0, 1, 1, 0, 1, 1)
    assert sample((2, 4), (5, 7)).num_drawn == 4


@pytest.mark.parametrize(
    "spans",
    [
        (),
        ((2, 4),),  # ends with what nobody drew
        ((5, 7), (2, 4)),
        ((2, 6), (5, 7)),
        ((3, 3), (5, 7)),
        ((0, 7),),  # the first token has nothing before it
        ((5, 8),),
        ((-2, 7),),
    ],
)
def test_spans_that_cannot_be_are_refused(spans):
    with pytest.raises(UsageError, match="sample 's'"):
        sample(*spans)


@pytest.mark.parametrize("logprobs", [(-1.0,), (-1.0, 0.5), (-1.0, math.nan), (-1.0, -math.inf)])
def test_logprobs_that_are_none_are_refused(logprobs):
    with pytest.raises(UsageError, match="span 1"):
        Sample(sample_id="s", task_id="t", ids=(1, 2, 3), spans=(Span(start=1, end=3, logprobs=logprobs),))


def test_logprobs_stand_where_tokens_were_drawn():
    spans = (Span(start=1, end=2, logprobs=(-1.0,)), Span(start=3, end=4, logprobs=(-2.0,)))
    assert Sample(sample_id="s", task_id="t", ids=(1, 2, 3, 4), spans=spans).logprobs == (
        0.0,
        -1.0,
        0.0,
        -2.0,
    )
    assert sample((2, 4), (5, 7)).logprobs is None


# --- from what was drawn ---


def test_turns_that_continue_each_other_are_one_sample():
    turns = [sampled(1, [5, 6], [7, 2]), sampled(2, [5, 6, 7, 2, 9], [8, 2])]
    (found,) = samples_of(turns, ORIGIN)
    assert found.ids == (5, 6, 7, 2, 9, 8, 2)
    assert [(span.start, span.end) for span in found.spans] == [(2, 4), (5, 7)]
    assert found.sample_id == "run"
    assert {span.weights for span in found.spans} == {"step 3"}


def test_where_the_conversation_was_written_anew_another_sample_begins():
    turns = [sampled(1, [5, 6], [7, 2]), sampled(2, [5, 6, 7, 2, 9], [8, 2]), sampled(3, [5, 4], [3, 2])]
    one, other = samples_of(turns, ORIGIN)
    assert (one.sample_id, other.sample_id) == ("run/1", "run/2")
    assert other.ids == (5, 4, 3, 2)


def test_a_turn_that_was_drawn_again_counts_as_the_last():
    turns = [
        sampled(1, [5, 6], [7, 2]),
        sampled(2, [5, 6, 7, 2], [8, 2]),
        sampled(2, [5, 6, 7, 2], [9, 9, 2]),
    ]
    (found,) = samples_of(turns, ORIGIN)
    assert found.ids == (5, 6, 7, 2, 9, 9, 2)


def test_a_reply_without_its_end_was_cut():
    (found,) = samples_of([sampled(1, [5], [7, 2]), sampled(2, [5, 7, 2], [8, 8])], ORIGIN)
    assert [span.is_cut for span in found.spans] == [False, True]


def test_a_turn_without_tokens_is_refused():
    with pytest.raises(UsageError, match="turn 1 has no tokens"):
        samples_of([sampled(1, [], [7])], ORIGIN)
    assert samples_of([], ORIGIN) == ()


# --- from plain text ---


@pytest.fixture
def template(student):
    return student.template


def said(role, text, **how):
    return Message(role=role, text=text, **how)


TALK = (
    said(Role.USER, "tune softmax"),
    said(Role.ASSISTANT, "a"),
    said(Role.USER, "slow"),
    said(Role.ASSISTANT, "c\nfast", thinking="hm"),
    said(Role.USER, "good"),
)


def test_each_reply_has_its_span_with_the_end_of_its_turn(template):
    found = sample_of(TALK, Reading(template=template, style=Style.TOOLS), ORIGIN)
    texts = [template.said(found.ids[span.start : span.end]) for span in found.spans]
    assert texts == ["a<|im_end|>", "c\nfast<|im_end|>"]
    assert found.ids[-1] == template.end_of_turn[0]
    assert found.logprobs is None


def test_what_stands_before_a_reply_is_what_a_student_would_read(template):
    from warpsmith.policy.local.conversation import Conversation

    found = sample_of(TALK, Reading(template=template, style=Style.TOOLS), ORIGIN)
    conversation = Conversation(template, Style.TOOLS, feeds_thinking=False)
    for place, span in zip((1, 3), found.spans, strict=True):
        prompt = conversation.prompt(TALK[:place], ())
        assert prompt.ids == found.ids[: span.start]
        conversation.remember(TALK[:place], (), TALK[place], found.ids[: span.end])
    assert prompt.num_kept > 0  # the second prompt was appended, as in a conversation that goes on


def test_an_end_of_turn_in_a_text_ends_no_turn(template):
    talk = (TALK[0], said(Role.ASSISTANT, "a<|im_end|>b"), TALK[2], said(Role.ASSISTANT, "c"))
    found = sample_of(talk, Reading(template=template, style=Style.TOOLS), ORIGIN)
    assert template.said(found.ids[found.spans[0].start : found.spans[0].end]) == "a< |im_end|>b<|im_end|>"


def test_tool_calls_are_written_as_the_student_would_write_them(template):
    read = ToolSpec(name="read", description="Read.", parameters={"type": "object", "properties": {}})
    talk = (
        TALK[0],
        said(Role.ASSISTANT, "I read it.", tool_calls=(ToolCall(call_id="1", tool="read", arguments={}),)),
        said(Role.TOOL, "class Model", call_id="1"),
        said(Role.ASSISTANT, "Done."),
    )
    found = sample_of(talk, Reading.of(template, (read,)), ORIGIN)
    assert len(found.spans) == 2
    assert "class Model" not in "".join(template.said(found.ids[s.start : s.end]) for s in found.spans)


@pytest.mark.parametrize("talk", [(), TALK[:1], TALK[1:]], ids=["nothing", "no reply", "nothing before it"])
def test_what_is_no_conversation_is_refused(template, talk):
    with pytest.raises(UsageError, match="needs a reply"):
        sample_of(talk, Reading(template=template, style=Style.TOOLS), ORIGIN)


def test_a_template_that_rewrites_earlier_messages_is_refused(template):
    class Numbering:
        """Tells at the top how many messages there are."""

        end_of_turn = template.end_of_turn

        def text(self, wire, tools, *, is_open):
            return f"{len(wire)}\n" + template.text(wire, tools, is_open=is_open)

        def ids(self, text):
            return template.ids(text)

    with pytest.raises(UsageError, match="differently"):
        sample_of(TALK, Reading(template=Numbering(), style=Style.TOOLS), ORIGIN)


# --- on disk ---

HEAD = '{"sample_id": "s", "task_id": "t", '
REWARD = Reward(value=2.0, parts={"correct": 1.0}, is_modelled=True)


def test_a_sample_comes_back_as_it_was(tmp_path):
    spans = (Span(start=1, end=3, weights="7", is_cut=True, logprobs=(-0.125, -3.0)),)
    first = Sample(
        sample_id="ü", task_id="t", ids=(1, 2, 3), spans=spans, group="g", outcome=REWARD, is_truncated=True
    )
    lost = sample((5, 7), outcome=NoReward(reason=Missing.INFRA, message="no GPU"))
    path = tmp_path / "new" / "samples.jsonl"
    assert write_samples([first, lost], path) == 2
    assert tuple(read_samples(path)) == (first, lost)
    assert first.reward == 2.0
    assert (lost.reward, lost.is_unrewarded) == (None, True)


@pytest.mark.parametrize(
    ("start", "rest"),
    [
        ("{", ""),
        ("[]", ""),
        ("null", ""),
        ("3", ""),
        ('{"ids": [1, 2]}', ""),
        (HEAD, '"ids": [1, 2.5], "spans": [{"start": 1, "end": 2}]}'),
        (HEAD, '"ids": [1, -2], "spans": [{"start": 1, "end": 2}]}'),
        (HEAD, '"ids": [1, true], "spans": [{"start": 1, "end": 2}]}'),
        (HEAD, '"ids": [1, 2], "spans": [{"start": 1, "end": 9}]}'),
        (HEAD, '"ids": [1, 2], "spans": 5}'),
        (HEAD, '"ids": [1, 2], "spans": [{"start": 1.5, "end": 2}]}'),
        (HEAD, '"ids": [1, 2], "spans": [{"start": 1}]}'),
        (HEAD, '"ids": [1, 2], "spans": [[1, 2]]}'),
        (HEAD, '"ids": [1, 2], "spans": [{"start": 1, "end": 2, "logprobs": ["nan"]}]}'),
        (HEAD, '"ids": [1, 2], "spans": [{"start": 1, "end": 2}], "outcome": {"type": "Prize"}}'),
        ("[" * 50_000, ""),
    ],
    ids=range(16),
)
def test_a_line_that_is_no_sample_is_named(tmp_path, start, rest):
    path = tmp_path / "samples.jsonl"
    write_samples([sample((5, 7))], path)
    path.write_text(path.read_text() + "\n" + start + rest + "\n")
    with pytest.raises(UsageError, match=r"samples\.jsonl, line 3"):
        list(read_samples(path))


def test_a_file_that_cannot_be_read_or_written_is_said(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_samples(tmp_path / "none.jsonl"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_samples(tmp_path / "binary"))
    with pytest.raises(UsageError, match="cannot be written"):
        write_samples([], tmp_path / "binary" / "x.jsonl")


def test_a_writer_that_fails_half_way_leaves_the_old_file(tmp_path):
    path = tmp_path / "samples.jsonl"
    write_samples([sample((5, 7))], path)

    def breaking():
        yield sample((2, 7))
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_samples(breaking(), path)
    assert tuple(read_samples(path)) == (sample((5, 7)),)
    assert list(tmp_path.iterdir()) == [path]


def test_a_run_without_tokens_says_so(tmp_path):
    with pytest.raises(UsageError, match="local model"):
        turns_in(tmp_path)
    (tmp_path / "tokens.jsonl").write_text('{"turn": 1}\n')
    with pytest.raises(UsageError, match="line 1"):
        turns_in(tmp_path)


# --- worth imitating ---


def test_only_what_earned_something_is_kept():
    kept = sample((2, 4), (5, 7), outcome=REWARD)
    poor = sample((5, 7), outcome=Reward(value=0.0, parts={}))
    nan = sample((5, 7), outcome=Reward(value=math.nan, parts={}))
    lost = sample((5, 7), outcome=NoReward(reason=Missing.INFRA, message=""))
    cut = Sample(
        sample_id="c", task_id="t", ids=(1, 2), spans=(Span(start=1, end=2, is_cut=True),), outcome=REWARD
    )
    found = filtered([kept, poor, nan, lost, sample((5, 7)), cut])
    assert found.samples == (kept,)
    assert found.dropped == {Reason.POOR: 2, Reason.NO_REWARD: 1, Reason.UNJUDGED: 1, Reason.CUT: 1}


def test_who_says_the_same_thrice_in_a_row_is_no_example():
    again = sample((1, 2), (3, 4), (5, 6), ids=(0, 9, 0, 9, 0, 9), outcome=REWARD)
    between = sample((1, 2), (3, 4), (5, 6), (7, 8), ids=(0, 9, 0, 9, 0, 8, 0, 9), outcome=REWARD)
    assert filtered([again]).dropped == {Reason.LOOP: 1}
    assert filtered([between]).samples == (between,)
