"""How a task is to be judged: words become options, and a wrong word names the choices."""

import pytest

from warpsmith.core import Dtype, Precision, Task, UsageError
from warpsmith.tasks import judged_as

TASK = Task(task_id="t", source="", provenance="tests")


def test_options_become_part_of_the_task_and_of_its_key():
    task = judged_as(TASK, dtype="bf16", precision="tf32", is_training=True, has_backward=True)
    assert (task.dtype, task.precision) == (Dtype.BF16, Precision.TF32)
    assert (task.is_training, task.has_backward) == (True, True)
    keys = {
        TASK.digest,
        judged_as(TASK, dtype="fp16", precision="reference").digest,
        judged_as(TASK, dtype="own", precision="tf32").digest,
        judged_as(TASK, dtype="own", precision="reference", is_training=True).digest,
        judged_as(TASK, dtype="own", precision="reference", has_backward=True).digest,
    }
    assert len(keys) == 5


def test_the_defaults_change_nothing():
    assert judged_as(TASK, dtype="own", precision="reference") == TASK


@pytest.mark.parametrize(
    ("dtype", "precision", "says"),
    [
        ("fp64", "reference", r"unknown dtype 'fp64'; choose one of own, fp32, fp16, bf16"),
        ("own", "exact", r"unknown precision 'exact'; choose one of reference, tf32"),
        ("", "reference", "unknown dtype ''"),
    ],
)
def test_a_word_that_is_no_option_names_the_choices(dtype, precision, says):
    with pytest.raises(UsageError, match=says):
        judged_as(TASK, dtype=dtype, precision=precision)
