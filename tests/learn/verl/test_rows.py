"""Tables for verl: what goes in comes out, in the workers' hands."""

import math
from dataclasses import replace

import pytest

from warpsmith.core import Precision, Task, UsageError
from warpsmith.learn.engines.verl.rows import Drawn, sample_rows, task_rows, write_table
from warpsmith.learn.rewards.base import Reward

parquet = pytest.importorskip("pyarrow.parquet")

TASK = Task(task_id="twice", source="class Model: ...\n", provenance="test", precision=Precision.REFERENCE)


def fields(row, **changes):
    """As verl hands a row to a loop."""
    return {**row, "uid": "0123456789", "session_id": 2, "global_steps": 5} | changes


def test_a_task_travels_whole(tmp_path):
    write_table(task_rows([TASK]), tmp_path / "t.parquet", at_least=1)
    (row,) = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    drawn = Drawn.of(fields(row))
    assert drawn.task == TASK
    assert drawn.step == 5
    assert drawn.name == "00000-01234567-2"
    assert row["prompt"] == [{"role": "user", "content": "twice"}]


def test_a_sample_travels_whole(tmp_path, sample, engine):
    write_table(sample_rows([sample], engine, needs_reward=True), tmp_path / "t.parquet", at_least=1)
    (row,) = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert Drawn.of(fields(row)).sample == sample


def test_a_sample_without_a_reward_is_for_imitation_alone(sample, engine):
    for outcome in (None, Reward(value=math.nan, parts={})):
        unjudged = replace(sample, outcome=outcome)
        assert len(sample_rows([unjudged], engine, needs_reward=False)) == 1
        with pytest.raises(UsageError, match="has no reward that is a number"):
            sample_rows([unjudged], engine, needs_reward=True)


def test_a_sample_that_is_too_long_is_refused(sample, engine):
    short = replace(engine, prompt_tokens=4, response_tokens=3)
    with pytest.raises(UsageError, match="has 8 tokens, and the longest may have 7"):
        sample_rows([sample], short, needs_reward=True)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_rows_than_a_step_takes_are_refused(tmp_path, count):
    with pytest.raises(UsageError, match=f"there are {count} tasks or samples; verl wants 2"):
        write_table(task_rows([TASK] * count), tmp_path / "t.parquet", at_least=2)
