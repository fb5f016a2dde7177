"""Rows of stages: what fits together, what is kept apart, and what is not done again."""

from dataclasses import replace

import pytest

from warpsmith.core import Task, UsageError
from warpsmith.learn.acting.suites import tasks_of
from warpsmith.learn.evaluation.attempts import Attempt
from warpsmith.learn.evaluation.standing import standing
from warpsmith.learn.metrics import Metric
from warpsmith.learn.pipeline import parts
from warpsmith.learn.pipeline.choosing import best_of, candidates_of
from warpsmith.learn.pipeline.course import Listener
from warpsmith.learn.pipeline.parts import BASE, Chosen, Drawn, Imitated, Pipeline, Taught, Trial
from warpsmith.learn.pipeline.separation import separated
from warpsmith.learn.recipes import Suite, rft_tiny_cpu
from warpsmith.learn.recipes.pipelines import PIPELINES, pipeline_called
from warpsmith.learn.toy.pipeline import Steps, pipeline
from warpsmith.learn.toy.store import tasks, write_store
from warpsmith.tasks.store import Store
from warpsmith.tasks.synth.base import Made

TAUGHT = Taught(name="lessons", trial=Trial())
RFT = Imitated(name="rft", recipe=rft_tiny_cpu.recipe(), data=("lessons",))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return write_store(tmp_path_factory.mktemp("store") / "tasks.parquet")


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_every_pipeline_fits_together_and_ends_with_the_test_split(name):
    row = pipeline_called(name).parts
    assert [type(part) for part in row[-2:]] == [Chosen, parts.Tested]
    assert sum(isinstance(part, parts.Tested) for part in row) == 1


def test_an_unknown_pipeline_is_told_the_names():
    with pytest.raises(UsageError, match="cuda_agent_tiny, stitch_tiny, smoke"):
        pipeline_called("nope")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((RFT,), "needs 'lessons'"),
        ((TAUGHT, TAUGHT), "two parts"),
        ((TAUGHT, replace(RFT, name=BASE)), "two parts"),
        ((TAUGHT, Drawn(name="own", actor="lessons", trial=Trial())), "what comes before it is none"),
        ((TAUGHT, RFT, parts.Tested(name="test", actors=("ppo",), trial=Trial())), "before it is rft"),
    ],
)
def test_a_part_that_needs_what_is_not_there_is_refused(row, message):
    with pytest.raises(UsageError, match=message):
        Pipeline(parts=row)


def made_of(*tasks):
    return [Made(task=task, operators=(), depth=1, structure="") for task in tasks]


def test_sides_of_a_split_store_are_kept_apart(store):
    rows = list(Store(store).rows())
    sides = {side: [row for row in rows if row.split == side] for side in ("train", "validation", "test")}
    assert min(map(len, sides.values())) >= 1
    told = separated(sides)
    assert told.num_tasks == {side: len(tasks) for side, tasks in sides.items()}
    assert "no reference is on two sides" in str(told)


def test_a_test_task_under_another_name_and_size_is_found():
    task = tasks()[0]
    renamed = replace(
        task, task_id="new", source=task.source.replace("(64, 512)", "(32, 99)").replace("x", "q")
    )
    with pytest.raises(UsageError, match="relu_shift of train and new of test have the same reference"):
        separated({"train": made_of(*tasks()), "test": made_of(renamed)})


def test_tasks_that_are_nearly_the_same_are_found():
    task = tasks()[1]
    source = task.source.replace("2.0 * torch.sigmoid(x)", "torch.sigmoid(x) * 2.0")
    near = replace(task, task_id="near", source=source)
    with pytest.raises(UsageError, match="sigmoid_scale of train and near of test"):
        separated({"train": made_of(task), "test": made_of(near)})


def test_what_cannot_be_compared_is_no_proof():
    broken = Task(task_id="broken", source="def (", provenance="test")
    with pytest.raises(UsageError, match="broken cannot be compared"):
        separated({"train": made_of(tasks()[0]), "test": made_of(broken)})


def test_a_suite_is_one_side_of_a_store(store):
    train = tasks_of(Suite(store=store), "cpu")
    test = tasks_of(Suite(store=store, split="test"), "cpu")
    assert not {task.digest for task in train} & {task.digest for task in test}
    assert len(tasks_of(Suite(store=store, limit=2), "cpu")) == 2
    with pytest.raises(UsageError, match=r"it holds test \(2\), train \(8\), validation \(2\)"):
        tasks_of(Suite(store=store, split="tests"), "cpu")


def test_who_passes_most_is_chosen_then_who_earns_most(made):
    def figures(*attempts):
        return standing([Attempt(task_id=str(n), digest=str(n), **one) for n, one in enumerate(attempts)])

    none = figures({"reward": -1.0}, {"reward": -1.0})
    one = figures({"verdict": made.passed(1.0, 1.0), "reward": 1.0}, {"reward": -1.0})
    fast = figures({"verdict": made.passed(2.0, 1.0), "reward": 2.0}, {"reward": -1.0})
    assert best_of({"none": none, "one": one, "again": one}) == "one"
    assert best_of({"one": one, "fast": fast}) == "fast"


def test_earlier_checkpoints_are_made_whole(tmp_path):
    run = tmp_path / "ppo"
    for place, weights in (("checkpoints/000002/actor", "two"), ("checkpoints/000004/actor", "four")):
        (run / place).mkdir(parents=True)
        (run / place / "model.safetensors").write_text(weights)
    (run / "final" / "actor").mkdir(parents=True)
    (run / "final" / "actor" / "model.safetensors").write_text("four")
    (run / "final" / "actor" / "tokenizer.json").write_text("words")
    found = dict(candidates_of("ppo", run))
    assert list(found) == ["ppo/2", "ppo"]
    assert (found["ppo/2"] / "model.safetensors").read_text() == "two"
    assert (found["ppo/2"] / "tokenizer.json").read_text() == "words"
    assert dict(candidates_of("ppo", run)) == found


@pytest.mark.slow
def test_a_pipeline_that_was_killed_comes_to_the_same_end(tmp_path):
    steps = Steps(sft=2, value=2, ppo=2, grpo=1)

    def interrupt(part, step, _metrics):
        if (part, step) == ("ppo", 1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pipeline(tmp_path / "killed", steps, listener=Listener(step=interrupt))
    told = []
    again = pipeline(
        tmp_path / "killed", steps, listener=Listener(step=lambda part, step, _: told.append((part, step)))
    )
    assert told == [("ppo", 1), ("ppo", 2), ("grpo", 1)]
    whole = pipeline(tmp_path / "whole", steps)
    for name in ("sft", "value", "ppo", "grpo"):
        assert numbers(again[name]) == numbers(whole[name])
    assert (tmp_path / "killed" / "chosen" / "final" / "actor" / "tokenizer.json").is_file()
    with pytest.raises(UsageError, match="another pipeline"):
        pipeline(tmp_path / "whole", replace(steps, grpo=2))


def numbers(trained):
    told = (Metric.LOSS, Metric.VALUE_LOSS, Metric.REWARD, Metric.ENTROPY, Metric.GRAD_NORM)
    return [{name: step.get(name) for name in told} for step in trained.history]
