"""Boards of other people's that hear of each step: TensorBoard, Weights & Biases, MLflow.

Each is a package that is asked for only when its tracker is made. None of them is the record: that is the run
folder, whose curves `page.py` draws.
"""

import importlib
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from warpsmith.core import EnvironmentMissing, UsageError
from warpsmith.learn.metrics import Metrics


class Tracker(Protocol):
    """Told of every step; a callback for `engines.local.loop.train`."""

    def __call__(self, step: int, metrics: Metrics) -> None: ...

    def close(self) -> None: ...


class TensorBoard:
    """Event files in the run's folder, for `tensorboard --logdir`."""

    def __init__(self, folder: Path, stage: str) -> None:
        writer = _package("tensorboard.summary", "tensorboard").Writer
        self._stage = stage
        self._writer: Any = writer(str(folder / "tensorboard"))

    def __call__(self, step: int, metrics: Metrics) -> None:
        for metric, value in metrics.items():
            self._writer.add_scalar(f"{self._stage}/{metric.value}", value, step)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class Wandb:
    """A run of Weights & Biases; where and whether it is sent is said by that package's own variables."""

    def __init__(self, folder: Path, stage: str) -> None:
        package = _package("wandb", "wandb")
        self._run: Any = package.init(project="warpsmith", name=f"{folder.name}-{stage}", dir=str(folder))

    def __call__(self, step: int, metrics: Metrics) -> None:
        self._run.log({metric.value: value for metric, value in metrics.items()}, step=step)

    def close(self) -> None:
        self._run.finish()


class MLflow:
    """A run of MLflow, in the store that its own variables name."""

    def __init__(self, folder: Path, stage: str) -> None:
        self._mlflow = _package("mlflow", "mlflow")
        self._mlflow.start_run(run_name=f"{folder.name}-{stage}")

    def __call__(self, step: int, metrics: Metrics) -> None:
        known = {metric.value: value for metric, value in metrics.items() if math.isfinite(value)}
        self._mlflow.log_metrics(known, step=step)

    def close(self) -> None:
        self._mlflow.end_run()


TRACKERS: dict[str, Callable[[Path, str], Tracker]] = {
    "tensorboard": TensorBoard,
    "wandb": Wandb,
    "mlflow": MLflow,
}


def make_tracker(kind: str, folder: Path, stage: str) -> Tracker:
    """Raises UsageError if there is no such kind, EnvironmentMissing if its package is not installed."""
    if kind not in TRACKERS:
        raise UsageError(f"unknown tracker {kind!r}; choose one of {', '.join(TRACKERS)}")
    return TRACKERS[kind](folder, stage)


def _package(module: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise EnvironmentMissing(f"{extra} is not installed; pip install 'warpsmith[{extra}]'") from error
