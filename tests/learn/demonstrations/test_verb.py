"""`warpsmith demonstrate` on a store: what is never taught, and the whole way once."""

import json
from dataclasses import replace

import pytest

from warpsmith.cli.demonstrate import demonstrate
from warpsmith.core import UsageError
from warpsmith.learn.trajectory import read_samples
from warpsmith.tasks.store import Store
from warpsmith.tasks.synth.base import Made


@pytest.fixture
def store(tmp_path, task_of):
    path = tmp_path / "store" / "tasks.parquet"
    made = [
        Made(task=task_of(name), operators=(), depth=1, structure=name, split=split)
        for name, split in (("flat", "train"), ("softmax", "test"))
    ]
    Store(path).write([*made, replace(made[1], task=task_of("norm"), split="validation")])
    return path


@pytest.mark.parametrize("split", ["test", "validation", "", "Train"])
def test_nothing_but_the_training_side_is_taught(store, tmp_path, split):
    with pytest.raises(UsageError, match="never taught"):
        demonstrate(suite=store, split=split, model=tmp_path, out=tmp_path / "out.jsonl", device="cpu")
    assert not (tmp_path / "out.jsonl.tried").exists()


def test_a_model_that_is_none_is_told(store, tmp_path):
    with pytest.raises(UsageError, match="no checkpoint"):
        demonstrate(suite=store, model=tmp_path, out=tmp_path / "out.jsonl", device="cpu")


@pytest.mark.slow
def test_the_whole_way_and_on_again(store, base, tmp_path, capsys):
    out = tmp_path / "lessons" / "samples.jsonl"

    def asked(**how):
        code = demonstrate(
            suite=store, model=base, out=out, device="cpu", max_reply_tokens=4_000, json=True, **how
        )
        return code, json.loads(capsys.readouterr().out)

    code, told = asked()
    assert code == 0
    assert told["num_samples"] == 2
    assert sum(told["taught"].values()) == 2
    samples = list(read_samples(out))
    assert {sample.task_id for sample in samples} == {"flat"}
    assert all(sample.reward >= 1.0 and sample.outcome.is_modelled for sample in samples)
    assert asked() == (code, told)
    with pytest.raises(UsageError, match="other options"):
        asked(seed=1)
