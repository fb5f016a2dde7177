"""Work that is stopped is gone on with, and by the same plan alone."""

import pytest

from warpsmith.core import UsageError
from warpsmith.learn.demonstrations import Demonstration, Kept, Left, Reason, Tried
from warpsmith.learn.trajectory import Sample, Span, read_samples


def tried(task):
    sample = Sample(sample_id=f"{task}/fused", task_id=task, ids=(1, 2, 3), spans=(Span(start=1, end=3),))
    good = Demonstration(task=task, writer="fused", program=f"of {task}", sample=sample)
    bad = Left(task=task, writer="rows", reason=Reason.DECLINED, message="no \n rows")
    return Tried(task=task, outcomes=(good, bad))


@pytest.fixture
def kept(tmp_path):
    return Kept(path=tmp_path / "new" / "samples.jsonl", plan='{"seed": 0}')


def test_what_was_tried_is_there_after_a_stop(kept):
    assert kept.begin() == ()
    kept.add(tried("one"))
    kept.add(tried("two"))
    assert kept.begin() == (tried("one"), tried("two"))
    assert kept.export() == 2
    assert [sample.task_id for sample in read_samples(kept.path)] == ["one", "two"]


def test_a_line_that_was_being_written_is_written_again(kept):
    kept.begin()
    kept.add(tried("one"))
    with kept.tried.open("a") as file:
        file.write('{"type": "Tried", "task": "tw')
    assert kept.begin() == (tried("one"),)
    kept.add(tried("two"))
    assert kept.begin() == (tried("one"), tried("two"))


def test_another_plan_does_not_go_on(kept):
    kept.begin()
    with pytest.raises(UsageError, match="other options"):
        Kept(path=kept.path, plan='{"seed": 1}').begin()


def test_a_file_of_somebody_else_is_left_alone(kept):
    kept.path.parent.mkdir()
    kept.path.write_text("mine\n")
    with pytest.raises(UsageError, match="not begun by this"):
        kept.begin()
    assert kept.path.read_text() == "mine\n"


@pytest.mark.parametrize(
    "line", ["{}", "[]", "null", '{"type": "Tried", "task": 3, "outcomes": [{}]}', "\x00"]
)
def test_a_broken_line_is_named(kept, line):
    kept.begin()
    with kept.tried.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(UsageError, match="line 2"):
        kept.begin()


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        Kept(path=tmp_path / "file" / "samples.jsonl", plan="{}").begin()
