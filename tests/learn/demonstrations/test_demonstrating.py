"""What is taught was judged, reads back, is short and is told once."""

import pytest

from warpsmith.core import Task, UsageError
from warpsmith.device.gpus import GPUS
from warpsmith.learn.answering import Program, question_of_task, read_reply
from warpsmith.learn.answering.court import Court
from warpsmith.learn.demonstrations import (
    Demonstrating,
    Demonstration,
    Left,
    Reason,
    counted,
    programs_of,
    reply_lengths,
)
from warpsmith.learn.grading import Grading
from warpsmith.learn.rewards import Milestone
from warpsmith.learn.trajectory import filtered


@pytest.fixture
def demonstrating(reading, courtroom):
    def of(refused="", **how):
        room = courtroom(refused)
        settings = {
            "template": reading.template,
            "court": Court(opened=room.opened, num_cores=1),
            "grading": Grading(rule=Milestone()),
            "gpu": GPUS["h200"],
            "tokenizer": reading.vocabulary,
            "max_reply_tokens": 20_000,
        }
        return Demonstrating(**(settings | how)), room.judge

    return of


def good(tried):
    return [outcome for one in tried for outcome in one.outcomes if isinstance(outcome, Demonstration)]


def left(tried):
    return [outcome for one in tried for outcome in one.outcomes if isinstance(outcome, Left)]


def test_a_demonstration_is_a_students_prompt_and_a_reply_that_reads_back(demonstrating, reading, task_of):
    maker, judge = demonstrating(num_per_task=3)
    found = good(maker.tried([task_of("flat")]))
    assert len(found) == 3 == len({one.writer for one in found})
    for one in found:
        (span,) = one.sample.spans
        assert one.sample.ids[: span.start] == question_of_task(task_of("flat")).ids(reading.template)
        assert one.sample.ids[-1] == reading.template.end_of_turn[0]
        text = reading.template.said(one.sample.ids[span.start : -1])
        read = read_reply(text, is_cut=False)
        assert isinstance(read, Program)
        assert read.candidate.digest == one.program
        assert read.candidate in judge.asked
    assert len(filtered([one.sample for one in found]).samples) == 3


def test_what_is_not_correct_is_not_taught_and_another_takes_its_place(demonstrating, task_of):
    maker, _ = demonstrating("float4", num_per_task=6)
    tried = maker.tried([task_of("flat")])
    assert "vector" not in {one.writer for one in good(tried)}
    assert [one.writer for one in left(tried) if one.reason is Reason.NOT_CORRECT] == ["vector"]
    assert len(good(tried)) >= 2


@pytest.mark.parametrize("source", ["import nothing_such", "raise SystemExit(3)", "def (", ""])
def test_a_task_that_breaks_is_left_out(demonstrating, source):
    broken = Task(task_id="broken", source=source, provenance="test")
    ((one,),) = [tried.outcomes for tried in demonstrating()[0].tried([broken])]
    assert one.reason is Reason.UNREAD
    assert one.message


def test_all_that_is_left_out_has_its_reason(demonstrating, task_of):
    maker, judge = demonstrating(num_per_task=9, max_reply_tokens=1)
    tried = maker.tried([task_of("flat")])
    assert good(tried) == []
    assert judge.asked == []
    reasons = {one.reason for one in left(tried)}
    assert reasons == {Reason.TOO_LONG, Reason.DECLINED}
    assert counted(tried)["left out"]["too long"] == 5


def test_a_program_is_told_once(demonstrating, task_of):
    maker, _ = demonstrating(num_per_task=9)
    first = maker.tried([task_of("flat")])
    again = maker.tried([task_of("flat")])
    assert good(again) == []
    assert {one.reason for one in left(again)} <= {Reason.DOUBLE, Reason.DECLINED}
    assert len(programs_of(first)) == len(good(first))
    lengths = reply_lengths(first)
    assert lengths["min"] <= lengths["median"] <= lengths["max"]


@pytest.mark.slow
def test_the_same_seed_makes_the_same(demonstrating, task_of):
    tasks = [task_of("flat")]
    assert demonstrating(seed=4)[0].tried(tasks) == demonstrating(seed=4)[0].tried(tasks)


@pytest.mark.parametrize("how", [{"num_per_task": 0}, {"max_reply_tokens": 0}])
def test_nothing_to_do_is_refused(demonstrating, how):
    with pytest.raises(UsageError, match="1 or more"):
        demonstrating(**how)
