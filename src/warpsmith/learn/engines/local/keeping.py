"""A training run on disk: its configuration, a line of metrics a step, and the last checkpoints."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from warpsmith.agent.runs.lock import locked
from warpsmith.agent.runs.log import Lines, mend, writing
from warpsmith.agent.runs.record import LOCK
from warpsmith.core import InfraError, UsageError
from warpsmith.core.codec import to_json
from warpsmith.learn.engines.local.lora import base_digest
from warpsmith.learn.engines.local.stage import Stage
from warpsmith.learn.engines.local.student import put_back, write_model
from warpsmith.learn.metrics import Metric, Metrics

CONFIG = "config.json"
METRICS = "metrics.jsonl"
CHECKPOINTS = "checkpoints"
FINAL = "final"
STATE = "state.pt"
NUMBERED = re.compile(r"\d{6}\Z")


class RunFolder:
    """One run's folder: made by `begun`, and found again by the same call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lines: Lines | None = None
        self._lock: int | None = None
        self._digest = ""  # of the configuration: a checkpoint of another run is told by it

    def begun(self, stage: Stage) -> int:
        """The last step that is on disk, restored into `stage`; 0 for a new run.

        Metrics of later steps, which a kill left without their weights, are cut off: they are made again.

        Raises:
            UsageError: the folder holds another run or something else, or another process trains there.
            InfraError: it cannot be written.
        """
        told = to_json({"stage": stage.name, "data": stage.data, "config": stage.config}, indent=2) + "\n"
        path = self.folder / CONFIG
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = locked(self.folder / LOCK)
            if not path.exists():
                self._check_empty()
                path.write_text(told, encoding="utf-8")
        self._check_same(path, told)
        self._digest = hashlib.sha256(json.dumps(json.loads(told), sort_keys=True).encode()).hexdigest()[:16]
        last = self.last_step()
        if last:
            self._restore(stage, last)
        self._cut_metrics(last)
        with writing(self.folder):
            self._lines = Lines(self.folder / METRICS)
        return last

    def told(self, step: int, metrics: Metrics) -> None:
        """Raises InfraError if the disk refuses."""
        assert self._lines is not None
        self._lines.append(_line(step, metrics))

    def history(self) -> list[Metrics]:
        """All steps so far, the first one first. Raises UsageError, naming the line, if it cannot be read."""
        return [metrics for _, metrics in self._read()]

    def save(self, stage: Stage, step: int, num_kept: int) -> None:
        """A checkpoint that is whole or not there. Raises InfraError if the disk refuses."""
        place = self.folder / CHECKPOINTS / f"{step:06d}"
        fresh = self.folder / CHECKPOINTS / ".fresh"
        networks = stage.networks()
        bases = {name: base_digest(model) for name, model in networks.items()}
        with _filling(fresh, place):
            for name, model in networks.items():
                write_model(model, fresh / name)
            torch.save({"run": self._digest, "bases": bases, "stage": stage.state()}, fresh / STATE)
        with writing(place):
            shutil.rmtree(place, ignore_errors=True)
            fresh.rename(place)
            for old in self._steps()[:-num_kept]:
                shutil.rmtree(self.folder / CHECKPOINTS / f"{old:06d}")

    def finish(self, stage: Stage) -> Path:
        """What came of it, for others to begin with. Raises InfraError if the disk refuses."""
        place, fresh = self.folder / FINAL, self.folder / ".final"
        with _filling(fresh, place):
            stage.write(fresh)
        with writing(place):
            shutil.rmtree(place, ignore_errors=True)
            fresh.rename(place)
        return place

    def forget(self, since: int) -> None:
        """Remove checkpoints from step `since` on: they hold what an alarm is about."""
        with writing(self.folder / CHECKPOINTS):
            for step in self._steps():
                if step >= since:
                    shutil.rmtree(self.folder / CHECKPOINTS / f"{step:06d}")

    def last_step(self) -> int:
        return max(self._steps(), default=0)

    def close(self) -> None:
        if self._lines is not None:
            self._lines.close()
            self._lines = None
        if self._lock is not None:
            (self.folder / LOCK).unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    def _steps(self) -> list[int]:
        places = self.folder / CHECKPOINTS
        names = [place.name for place in places.iterdir()] if places.is_dir() else []
        return sorted(int(name) for name in names if NUMBERED.match(name))

    def _check_empty(self) -> None:
        others = sorted(path.name for path in self.folder.iterdir() if path.name != LOCK)
        if others:
            raise UsageError(f"{self.folder} holds {', '.join(others[:3])}; choose a new folder for the run")

    def _check_same(self, path: Path, told: str) -> None:
        try:
            before, now = json.loads(path.read_text(encoding="utf-8")), json.loads(told)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} cannot be read ({error}); choose a new folder for the run") from error
        if before != now:
            named = ", ".join(_differences(before, now)[:4])
            raise UsageError(
                f"{self.folder} holds a run with another configuration ({named}); choose a new folder"
            )

    def _restore(self, stage: Stage, step: int) -> None:
        place = self.folder / CHECKPOINTS / f"{step:06d}"
        networks = stage.networks()
        try:
            saved = torch.load(place / STATE, weights_only=True)
            run, bases, state = saved["run"], saved["bases"], saved["stage"]
        except Exception as error:  # whatever pickle and zip say of such a file
            raise _damaged(place, error) from error
        if run != self._digest:
            raise UsageError(f"{place} is a checkpoint of another run; remove it, or choose a new folder")
        for name, model in networks.items():
            if bases.get(name) != base_digest(model):
                raise UsageError(f"{place}: its {name} is an adapter for another base model than this run's")
        try:
            for name, model in networks.items():
                put_back(model, place / name)
            stage.load(state)
        except (UsageError, ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:
            raise _damaged(place, error) from error

    def _cut_metrics(self, last: int) -> None:
        path = self.folder / METRICS
        if not path.exists():
            return
        mend(path)
        kept = [_line(step, metrics) + "\n" for step, metrics in self._read() if step <= last]
        fresh = path.with_name(f".{METRICS}.fresh")
        with writing(path):
            fresh.write_text("".join(kept), encoding="utf-8")
            fresh.replace(path)

    def _read(self) -> list[tuple[int, Metrics]]:
        found = []
        path = self.folder / METRICS
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} cannot be read: {error}") from error
        for number, line in enumerate(lines, 1):
            try:
                data = json.loads(line)
                step = int(data.pop("step"))
                found.append((step, {Metric(name): float(value) for name, value in data.items()}))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise UsageError(f"{path}, line {number}: {error!s:.200}") from error
        return found


@contextmanager
def _filling(fresh: Path, place: Path) -> Iterator[None]:
    """An empty folder, that becomes `place` once all is in it; nothing is left of it if that fails.

    torch and safetensors have errors of their own for a disk that is full.
    """
    from safetensors import SafetensorError

    try:
        with writing(place):
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            yield
    except BaseException as error:
        shutil.rmtree(fresh, ignore_errors=True)  # it may be what takes the room
        if isinstance(error, SafetensorError | RuntimeError) and not isinstance(error, InfraError):
            raise InfraError(
                f"{place} cannot be written ({error!s:.200}); make room or choose another folder; "
                f"what was written before is kept"
            ) from error
        raise


def _damaged(place: Path, error: Exception) -> UsageError:
    return UsageError(f"{place} is damaged ({error!s:.300}); remove it to go on from the one before")


def _line(step: int, metrics: Metrics) -> str:
    return to_json({"step": float(step), **{metric.value: value for metric, value in metrics.items()}})


def _differences(before: Any, now: Any, where: str = "") -> list[str]:
    """The dotted names of what differs."""
    if isinstance(before, dict) and isinstance(now, dict):
        names = sorted({*before, *now})
        return [
            found
            for name in names
            for found in _differences(before.get(name), now.get(name), f"{where}.{name}" if where else name)
        ]
    return [] if before == now else [where]
