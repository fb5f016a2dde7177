"""Replies of one turn as samples: token by token, rewarded, in groups."""

from contextlib import contextmanager

import pytest

from warpsmith.core import Crashed, InfraError, UsageError, Wrong
from warpsmith.learn.answering import Answering, Court, Fate, question_of_task
from warpsmith.learn.grading import Grading
from warpsmith.learn.rewards import Milestone, NoReward, Shaped
from warpsmith.learn.rubric import StaticRubric
from warpsmith.policy.base import Sampling

SAMPLING = Sampling(temperature=1.0, max_tokens=4_000, seed=3)


@pytest.fixture
def answering(talk, template, judged):
    def of(verdicts, *names, **how):
        opened, _ = judged(verdicts)
        settings = {
            "questions": [question_of_task(talk.task(name)) for name in names or ("one",)],
            "template": template,
            "context_tokens": 8_192,
            "court": Court(opened=opened),
            "grading": Grading(rule=Milestone()),
            "samples_per_question": 4,
        }
        return Answering(**(settings | how))

    return of


def test_each_reply_is_a_sample_of_what_was_read_and_drawn(answering, template, made, talk):
    rounds = []
    source = answering(
        {"add": made.passed(2.0, 1.5), "mul": Wrong(what="values", message="off")}, told=rounds.append
    )
    policy = talk.says(
        template, talk.reply("add"), talk.reply("mul"), "no idea", "model_new.py\n```python\ncl..."
    )
    samples = source.rollouts(policy, SAMPLING, 5)
    assert [sample.reward for sample in samples] == [3.0, -1.0, -1.0, -1.0]
    assert len({sample.group for sample in samples}) == 1
    assert [sample.is_truncated for sample in samples] == [False, False, False, True]
    asked = question_of_task(talk.task("one")).ids(template)
    for sample in samples:
        (span,) = sample.spans
        assert sample.ids[: span.start] == asked
        assert span.logprobs == (-0.5,) * (span.end - span.start)
        assert span.weights == "4 updates"
    (done,) = rounds
    assert done.histogram == {Fate.NO_FILE: 1, Fate.CUT: 1, Fate.WRONG: 1, Fate.FASTER: 1}
    assert done.num_programs == 2
    assert done.throughput["replies_per_minute"] == 2 * done.throughput["verdicts_per_minute"]


def test_what_we_failed_to_judge_has_no_reward(answering, template, made, talk):
    source = answering({"add": made.passed(), "mul": InfraError("the disk is full")})
    one, other, *_ = source.rollouts(talk.says(template, talk.reply("add"), talk.reply("mul")), SAMPLING, 1)
    assert one.reward is not None
    assert isinstance(other.outcome, NoReward)
    assert "disk is full" in other.outcome.message


def test_if_nothing_can_be_judged_the_step_fails(answering, template, talk):
    source = answering({"add": InfraError("no oracle")})
    with pytest.raises(InfraError, match="no oracle"):
        source.rollouts(talk.says(template, talk.reply("add")), SAMPLING, 1)


def test_replies_without_a_program_need_no_judge(answering, template, talk):
    source = answering({"one": InfraError("must not be opened")})
    assert {sample.reward for sample in source.rollouts(talk.says(template, "no"), SAMPLING, 1)} == {-1.0}


def test_questions_make_groups_and_steps_make_seeds(answering, template, talk):
    source = answering({}, "one", "two", questions_per_step=2, samples_per_question=2)
    policy = talk.says(template, "no")
    first, again, second = (source.rollouts(policy, SAMPLING, step) for step in (1, 1, 2))
    assert len({sample.group for sample in first}) == 2
    assert [sample.ids for sample in first] == [sample.ids for sample in again]
    assert policy.seeds[0] == policy.seeds[1] != policy.seeds[2]
    assert {sample.group for sample in first}.isdisjoint(sample.group for sample in second)


def test_a_question_too_long_to_read_is_left_out(answering, template, talk):
    rounds = []
    short, long = (question_of_task(talk.task(name)) for name in ("one", "x" * 3_000))
    room = len(short.ids(template)) + 10
    source = answering({}, questions=[short, long], context_tokens=room, told=rounds.append)
    assert len(source.rollouts(talk.says(template, "no"), SAMPLING, 1)) == 4
    assert rounds[0].num_left_out == 1
    with pytest.raises(UsageError, match="no question fits"):
        answering({}, questions=[long], context_tokens=room).rollouts(talk.says(template, "no"), SAMPLING, 1)


def test_a_rubric_is_asked_of_what_passed_alone(answering, template, made, talk):
    grading = Grading(rule=Shaped(), rubric=StaticRubric())
    source = answering(
        {"add": made.passed(2.0), "mul": Crashed(stage="load", log="")},
        grading=grading,
        samples_per_question=2,
    )
    good, bad = source.rollouts(talk.says(template, talk.reply("add"), talk.reply("mul")), SAMPLING, 1)
    assert good.outcome.parts["speedup"] == 2.0
    assert bad.reward == 0.0


def test_the_gpu_is_held_while_the_model_draws(answering, template, talk):
    held = []

    @contextmanager
    def turn():
        held.append("taken")
        yield
        held.append("given back")

    answering({}, turn=turn).rollouts(talk.says(template, "no"), SAMPLING, 1)
    assert held == ["taken", "given back"]


@pytest.mark.parametrize("how", [{"questions": []}, {"questions_per_step": 0}, {"samples_per_question": 0}])
def test_a_source_without_work_is_refused(answering, how):
    with pytest.raises(UsageError, match="answering needs"):
        answering({}, **how)
