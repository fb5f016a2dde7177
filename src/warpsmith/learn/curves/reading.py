"""Training runs, read back from their folders while they go on or after they ended."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.core import UsageError
from warpsmith.learn.curves.calibration import CALIBRATION, Calibration, read_calibration

METRICS = "metrics.jsonl"
CONFIG = "config.json"
FINAL = "final"
STEP = "step"

Points = tuple[tuple[int, float], ...]  # (step, value), by step


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun:
    """A run's numbers. A metric that this version does not know is a series like any other."""

    name: str  # tells it from those beside it
    folder: Path
    stage: str  # "ppo", ...; empty where the folder does not say
    series: dict[str, Points]
    calibration: Calibration | None = None  # of a critic that was fitted to the end
    is_cut: bool = False  # the last line is half a line: it is being written, or was when the run was killed

    @property
    def num_steps(self) -> int:
        return max((points[-1][0] for points in self.series.values()), default=0)

    @property
    def is_modelled(self) -> bool:
        """Whether any reward rests on a time that was modelled instead of measured."""
        return any(value > 0 for _, value in self.series.get("modelled", ()))


def read_runs(folders: Iterable[Path]) -> tuple[TrainingRun, ...]:
    """Each folder's run, or those of the folders in it. Raises UsageError for a folder without any."""
    found = [place for folder in folders for place in _run_folders(folder)]
    unique = list(dict.fromkeys(place.resolve() for place in found))
    return tuple(read_run(place, name) for place, name in zip(unique, _short_names(unique), strict=True))


def read_run(folder: Path, name: str | None = None) -> TrainingRun:
    """Raises UsageError, naming the line, if what stands there cannot be read."""
    series, is_cut = _series(folder / METRICS)
    path = folder / FINAL / CALIBRATION
    return TrainingRun(
        name=name or folder.name,
        folder=folder,
        stage=_stage(folder / CONFIG),
        series=series,
        calibration=read_calibration(path) if path.exists() else None,
        is_cut=is_cut,
    )


def _run_folders(folder: Path) -> list[Path]:
    if (folder / METRICS).is_file():
        return [folder]
    inside = sorted(path.parent for path in folder.glob(f"*/{METRICS}"))
    if not inside:
        raise UsageError(f"{folder} is no training run and holds none: there is no {METRICS}")
    return inside


def _short_names(folders: list[Path]) -> list[str]:
    """As many of the last parts of each path as it takes to tell them apart."""
    for length in range(1, max((len(folder.parts) for folder in folders), default=1) + 1):
        names = ["/".join(folder.parts[-length:]) for folder in folders]
        if len(set(names)) == len(names):
            return names
    return [str(folder) for folder in folders]


def _series(path: Path) -> tuple[dict[str, Points], bool]:
    """Later lines of a step replace earlier ones, as a run that was taken up again writes them."""
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    is_cut = bool(lines.pop().strip())
    found: dict[str, dict[int, float]] = {}
    for number, line in enumerate(lines, 1):
        try:
            data = {str(name): float(value) for name, value in json.loads(line).items()}
            step = data.pop(STEP)
            if not (math.isfinite(step) and step >= 0):
                raise ValueError(f"{step} is no step")  # noqa: TRY301  (told with the line, as all others)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise UsageError(f"{path}, line {number}: {type(error).__name__}, {error!s:.100}") from error
        for name, value in data.items():
            found.setdefault(name, {})[int(step)] = value
    return {name: tuple(sorted(points.items())) for name, points in found.items()}, is_cut


def _stage(path: Path) -> str:
    """A folder without it is a run all the same: the curves are in the metrics."""
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        return str(data["stage"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return ""
