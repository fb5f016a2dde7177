"""`warpsmith rollout` and `eval`, by their functions; nothing is judged here."""

import json

import pytest

from warpsmith.cli import evaluate, rollout
from warpsmith.core import UsageError
from warpsmith.learn.evaluation.attempts import Attempt, attempts_text
from warpsmith.learn.toy.store import write_store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return write_store(tmp_path_factory.mktemp("store") / "tasks.parquet")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": "magic"}, "unknown model 'magic'"),
        ({"policy": "local:"}, "write local:DIR"),
        ({"policy": "local:nowhere"}, "does not exist"),
        ({"reward": "gold"}, "unknown reward 'gold'"),
        ({"split": "nope"}, "by split it holds"),
        ({"manner": "song"}, "choose one of agent, answer"),
        ({"temperature": float("nan")}, "takes a number"),
    ],
)
@pytest.mark.parametrize("verb", [rollout.rollout, evaluate.evaluate])
def test_what_makes_no_sense_leaves_nothing_behind(store, tmp_path, verb, changes, message):
    told = {"suite": store, "split": "train", "policy": "builtin", "out": tmp_path / "out", "device": "cpu"}
    with pytest.raises(UsageError, match=message):
        verb(**(told | changes))
    assert not (tmp_path / "out").exists()


def kept(folder, attempts):
    folder.mkdir()
    (folder / "attempts.jsonl").write_text(attempts_text(attempts))
    return folder


def test_two_evaluations_are_compared_task_by_task(made, tmp_path, capsys):
    tasks = "abcdefghij"
    before = [Attempt(task_id=name, digest=name, verdict=made.failed) for name in tasks]
    after = [Attempt(task_id=name, digest=name, verdict=made.passed(2.0)) for name in tasks[:8]]
    after += [Attempt(task_id=name, digest=name, verdict=made.failed) for name in tasks[8:]]
    sides = {"before": kept(tmp_path / "a", before), "after": kept(tmp_path / "b", after)}
    assert evaluate.compare(**sides, json=True) == 0
    found = json.loads(capsys.readouterr().out)["comparison"]
    assert found["passed"]["value"] == pytest.approx(0.8)
    assert found["passed"]["low"] > 0.3
    assert evaluate.compare(**sides) == 0
    assert "+80.0%" in capsys.readouterr().out


def test_an_evaluation_that_is_not_done_is_not_compared(tmp_path):
    with pytest.raises(UsageError, match="writes it at its end"):
        evaluate.compare(before=tmp_path, after=tmp_path)
