"""Other people's boards: TensorBoard by its own files, the others by fakes of what we call."""

import math
import sys
from types import ModuleType

import pytest

from warpsmith.core import EnvironmentMissing, UsageError
from warpsmith.learn.curves import TRACKERS, make_tracker
from warpsmith.learn.metrics import Metric

STEP = {Metric.REWARD: 1.5, Metric.LOSS: 0.25}


class Board(ModuleType):
    """Remembers what it is asked."""

    def __init__(self, name):
        super().__init__(name)
        self.heard = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def hear(*args, **how):
            self.heard.append((name, args, how))
            return self

        return hear


@pytest.fixture
def board(monkeypatch):
    def make(name):
        made = Board(name)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    return make


def test_wandb_hears_of_each_step(board, tmp_path):
    heard = board("wandb").heard
    tracker = make_tracker("wandb", tmp_path / "run7", "ppo")
    tracker(3, STEP)
    tracker.close()
    assert heard == [
        ("init", (), {"project": "warpsmith", "name": "run7-ppo", "dir": str(tmp_path / "run7")}),
        ("log", ({"reward": 1.5, "loss": 0.25},), {"step": 3}),
        ("finish", (), {}),
    ]


def test_mlflow_hears_of_each_step_what_it_can_keep(board, tmp_path):
    heard = board("mlflow").heard
    tracker = make_tracker("mlflow", tmp_path / "run7", "ppo")
    tracker(3, {**STEP, Metric.KL: math.nan})
    tracker.close()
    assert heard == [
        ("start_run", (), {"run_name": "run7-ppo"}),
        ("log_metrics", ({"reward": 1.5, "loss": 0.25},), {"step": 3}),
        ("end_run", (), {}),
    ]


def test_tensorboard_reads_what_was_written_for_it(tmp_path):
    pytest.importorskip("tensorboard", reason="needs warpsmith[tensorboard]")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    tracker = make_tracker("tensorboard", tmp_path, "ppo")
    tracker(1, STEP)
    tracker(2, {Metric.REWARD: 2.0})
    tracker.close()
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert set(events.Tags()["tensors"]) == {"ppo/reward", "ppo/loss"}
    told = [(event.step, float(make_ndarray(event.tensor_proto))) for event in events.Tensors("ppo/reward")]
    assert told == [(1, 1.5), (2, 2.0)]


@pytest.mark.parametrize(
    ("kind", "module"), [("tensorboard", "tensorboard.summary"), ("wandb", "wandb"), ("mlflow", "mlflow")]
)
def test_a_board_that_is_not_installed_names_its_extra(kind, module, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(EnvironmentMissing, match=rf"warpsmith\[{kind}\]"):
        make_tracker(kind, tmp_path, "ppo")


def test_an_unknown_board_is_refused_with_those_that_there_are(tmp_path):
    with pytest.raises(UsageError, match=", ".join(TRACKERS)):
        make_tracker("comet", tmp_path, "ppo")
