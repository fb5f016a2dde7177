"""Pictures of curves, by matplotlib without a display."""

import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from warpsmith.core import EnvironmentMissing
from warpsmith.learn.curves.calibration import Calibration
from warpsmith.learn.curves.panels import Panel, all_series
from warpsmith.learn.curves.reading import TrainingRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (7.0, 3.6)  # inches
DPI = 110
MISSING = "curves are drawn by matplotlib, which is not installed; pip install 'warpsmith[plots]'"
STYLES = ("-", "--", ":", "-.")
COLOURS = ("#2f6fb0", "#c8762b", "#3c8f5a", "#8a4fa3", "#b3261e", "#4d7f86", "#a08a2c", "#666d75")
LARGEST = 1e30  # beyond it there is no axis
MANY_POINTS = 60  # fewer are marked one by one


def panel_png(panel: Panel, runs: Sequence[TrainingRun]) -> bytes:
    """Raises EnvironmentMissing without matplotlib."""
    figure, axes = _figure()
    is_single = len(runs) == 1
    for at, run in enumerate(runs):
        series = all_series(run)
        for number, metric in enumerate(panel.metrics):
            if metric not in series:
                continue
            colour = COLOURS[(number if is_single else at) % len(COLOURS)]
            several = len(panel.metrics) > 1
            label = str(metric) if is_single else f"{run.name}, {metric}" if several else run.name
            _line(axes, series[metric], label, (colour, "-" if is_single else STYLES[number % len(STYLES)]))
    axes.set_xlabel("step")
    axes.set_ylabel(panel.unit)
    if panel.is_log and _has_positive(panel, runs):
        axes.set_yscale("log", nonpositive="mask")
    if panel.limits is not None:
        low, high = panel.limits
        axes.set_ylim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    _legend(axes)
    return _png(figure)


def calibration_png(runs: Mapping[str, Calibration]) -> bytes:
    """Value against return, with the returns' deviation in each bin; on the diagonal a critic is right.

    Raises EnvironmentMissing without matplotlib.
    """
    figure, axes = _figure()
    ends = [value for found in runs.values() for one in found.bins for value in (one.foretold, one.returned)]
    axes.plot((min(ends), max(ends)), (min(ends), max(ends)), color="#8b949e", linestyle="--", linewidth=1)
    for at, (name, found) in enumerate(runs.items()):
        axes.errorbar(
            [one.foretold for one in found.bins],
            [one.returned for one in found.bins],
            yerr=[one.deviation for one in found.bins],
            label=f"{name}, off by {found.error:.3g}",
            color=COLOURS[at % len(COLOURS)],
            marker="o",
            markersize=4,
            linewidth=1.2,
            elinewidth=0.6,
        )
    axes.set_xlabel("value that was foretold")
    axes.set_ylabel("return")
    _legend(axes)
    return _png(figure)


def _figure() -> "tuple[Figure, Axes]":
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EnvironmentMissing(MISSING) from error
    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.grid(visible=True, color="#d5dbe1", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _line(axes: "Axes", points: Sequence[tuple[int, float]], label: str, how: tuple[str, str]) -> None:
    """What has no place on an axis breaks the line and is marked by a cross at the bottom."""
    colour, style = how
    steps = [step for step, _ in points]
    values = [value if abs(value) < LARGEST else math.nan for _, value in points]
    marker = "." if len(points) <= MANY_POINTS else ""
    axes.plot(steps, values, label=_plain(label), color=colour, linestyle=style, marker=marker, linewidth=1.3)
    broken = [step for step, value in points if not abs(value) < LARGEST]
    if broken:
        axes.plot(broken, [0.0] * len(broken), "x", color=colour, transform=axes.get_xaxis_transform())


def _plain(label: str) -> str:
    """Dollar signs would begin a formula to matplotlib, and it hides what begins with an underscore."""
    return label.replace("$", r"\$").lstrip("_") or "run"


def _has_positive(panel: Panel, runs: Sequence[TrainingRun]) -> bool:
    return any(
        0 < value < LARGEST
        for run in runs
        for metric, points in all_series(run).items()
        if metric in panel.metrics
        for _, value in points
    )


def _legend(axes: "Axes") -> None:
    axes.legend(fontsize=8, frameon=False)


def _png(figure: "Figure") -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
