"""Rollouts of a suite: kept batch by batch, and gone on with."""

from dataclasses import dataclass, field

import pytest

from warpsmith.core import InfraError, Task, TaskError, UsageError
from warpsmith.learn.evaluation.attempts import Attempt
from warpsmith.learn.evaluation.rollouts import Plan, Rolled, attempts_in, roll
from warpsmith.learn.recipes import Suite, Work
from warpsmith.learn.trajectory import Sample, Span
from warpsmith.policy import Sampling

TASKS = [Task(task_id=name, source=f"# {name}\n", provenance="test") for name in "abcde"]


def plan(**how):
    work = Work(suite=Suite(store="suite.parquet"), tasks_per_step=2, samples_per_task=1)
    told = {"policy": "fake", "work": work, "sampling": Sampling(), "device": "cpu"}
    return Plan(**(told | {"tasks": tuple(task.digest for task in TASKS)} | how))


@dataclass
class Fake:
    """One sample and one attempt for each task; `failing` numbers raise once, `broken` tasks always."""

    failing: set = field(default_factory=set)
    broken: set = field(default_factory=set)
    ours: set = field(default_factory=set)
    asked: list = field(default_factory=list)

    def rolled(self, tasks, number, runs):
        names = [task.task_id for task in tasks]
        self.asked.append((number, names))
        if number in self.failing:
            self.failing.discard(number)
            raise KeyboardInterrupt
        if self.broken & set(names):
            raise TaskError(f"{names}: zeros pass")
        return Rolled(
            attempts=tuple(
                Attempt(task_id=task.task_id, digest=task.digest, is_ours=task.task_id in self.ours)
                for task in tasks
            ),
            samples=tuple(
                Sample(sample_id=name, task_id=name, ids=(1, 2), spans=(Span(start=1, end=2),))
                for name in names
            ),
        )


def test_every_task_is_worked_on_once(tmp_path):
    fake = Fake()
    done = roll(plan(), TASKS, fake, tmp_path / "out")
    assert fake.asked == [(1, ["a", "b"]), (2, ["c", "d"]), (3, ["e"])]
    assert [attempt.task_id for attempt in done.attempts] == list("abcde")
    assert [sample.sample_id for sample in done.samples] == list("abcde")
    assert done.throughput.num_attempts == 5
    assert attempts_in(tmp_path / "out") == done.attempts


def test_what_was_done_before_a_kill_is_not_done_again(tmp_path):
    fake = Fake(failing={2})
    with pytest.raises(KeyboardInterrupt):
        roll(plan(), TASKS, fake, tmp_path / "out")
    with pytest.raises(UsageError, match=r"attempts\.jsonl"):
        attempts_in(tmp_path / "out")
    fake.asked.clear()
    done = roll(plan(), TASKS, fake, tmp_path / "out")
    assert [number for number, _ in fake.asked] == [2, 3]
    assert len(done.attempts) == 5
    fake.asked.clear()
    assert roll(plan(), TASKS, fake, tmp_path / "out").throughput.num_attempts == 0
    assert fake.asked == []


def test_a_batch_that_was_half_written_is_made_again(tmp_path):
    roll(plan(), TASKS, Fake(), tmp_path / "out")
    (tmp_path / "out" / "parts" / "000002.attempts.jsonl").unlink()  # it is written after its samples
    fake = Fake()
    assert len(roll(plan(), TASKS, fake, tmp_path / "out").attempts) == 5
    assert [number for number, _ in fake.asked] == [2]


def test_a_task_that_cannot_be_judged_costs_no_other(tmp_path):
    done = roll(plan(), TASKS, Fake(broken={"c"}), tmp_path / "out")
    assert [(one.task_id, one.kind) for one in done.attempts if one.refused] == [("c", "refused")]
    assert len(done.attempts) == 5
    assert done.num_samples == 4


def test_a_batch_that_failed_for_us_is_not_kept(tmp_path):
    with pytest.raises(InfraError, match="batch 2"):
        roll(plan(), TASKS, Fake(ours={"c", "d"}), tmp_path / "out")
    assert len(roll(plan(), TASKS, Fake(ours={"c"}), tmp_path / "out").attempts) == 5


@pytest.mark.parametrize("changes", [{"policy": "other"}, {"tasks": ("x",)}, {"sampling": Sampling(seed=3)}])
def test_another_command_is_refused(tmp_path, changes):
    roll(plan(), TASKS, Fake(), tmp_path / "out")
    with pytest.raises(UsageError, match=next(iter(changes))):
        roll(plan(**changes), TASKS, Fake(), tmp_path / "out")


def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"notes\.txt"):
        roll(plan(), TASKS, Fake(), tmp_path)
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        roll(plan(), TASKS, Fake(), tmp_path)
