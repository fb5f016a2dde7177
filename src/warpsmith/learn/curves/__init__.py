"""A training run's curves: read from its folder, drawn, and told to other people's boards as it goes on.

Nothing here needs torch. `drawing.py` needs matplotlib (`warpsmith[plots]`), each tracker its package.
"""

from warpsmith.learn.curves.calibration import (
    Bin,
    Calibration,
    calibrated,
    read_calibration,
    write_calibration,
)
from warpsmith.learn.curves.page import write_page
from warpsmith.learn.curves.reading import TrainingRun, read_run, read_runs
from warpsmith.learn.curves.trackers import TRACKERS, Tracker, make_tracker

__all__ = [
    "TRACKERS",
    "Bin",
    "Calibration",
    "Tracker",
    "TrainingRun",
    "calibrated",
    "make_tracker",
    "read_calibration",
    "read_run",
    "read_runs",
    "write_calibration",
    "write_page",
]
