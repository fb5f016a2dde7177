"""Nsight Compute: how it is started, and a reader of its raw page as CSV.

Wide: a line of headings that begins with "ID","Process ID", a line of units, then a line a launch. Numbers
carry thousands separators; what a chip cannot count is "n/a". Lines of the tool's own (`==PROF==`,
`==ERROR==`) may stand before. Asked for base units, bytes are bytes and times nanoseconds.
"""

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path

from warpsmith.agent.diagnosis.metrics import all_metrics

TOOL = "Nsight Compute"
HEADINGS = '"ID","Process ID"'
NAME, GRID, BLOCK = "Kernel Name", "Grid Size", "Block Size"
LOG = "ncu.csv"
MAX_LAUNCHES = 4  # where no trace says which kernel matters

FORBIDDEN = "ERR_NVGPUCTRPERM"
FORBIDDEN_WHY = f"{FORBIDDEN}: this user may not read the GPU's performance counters"
FORBIDDEN_FIX = (
    "let the machine's administrator open the counters to all users (the driver's option "
    "NVreg_RestrictProfilingToAdminUsers=0, see https://developer.nvidia.com/ERR_NVGPUCTRPERM); a process "
    "with CAP_SYS_ADMIN may read them too, which the bubblewrap and docker sandboxes take away: for a "
    "program that you trust, --sandbox process"
)
_ERROR = re.compile(r"^==ERROR==\s*(?P<text>.+)$", re.MULTILINE)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")


class CounterError(ValueError):
    """A log without counters. What runs under the tool could have written it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """One launch of a kernel with the counters that the chip has, in base units."""

    kernel: str
    grid: str  # as the tool writes it: "(128, 1, 1)"
    block: str
    values: dict[str, float]

    def value(self, metric: str) -> float | None:
        return self.values.get(metric)


def options(home: Path, kernel: str | None, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What stands between the program's name and the command: one launch, of `kernel` if it is told.

    `without` are metrics that this version of the tool does not know.
    """
    chosen: tuple[str, ...] = ("--launch-count", str(MAX_LAUNCHES))
    if kernel is not None and _IDENTIFIER.match(kernel):
        chosen = ("--kernel-name", f"regex:(^|:){kernel}$", "--launch-count", "1")
    return (
        *("--csv", "--page", "raw", "--print-units", "base", "--log-file", str(home / LOG)),
        *("--clock-control", "none", "--profile-from-start", "off", "--target-processes", "all"),
        *("--metrics", ",".join(name for name in all_metrics() if name not in without)),
        *chosen,
    )


def read(text: str) -> tuple[Counted, ...]:
    """All launches in a log, in its order. Raises CounterError if there are none, with what the tool said."""
    start = text.find(HEADINGS)
    if start < 0:
        raise CounterError(_why_none(text))
    try:
        rows = list(csv.reader(text[start:].splitlines()))
    except csv.Error as error:
        raise CounterError(f"Nsight Compute's log is no CSV: {error}") from error
    headings, lines = rows[0], rows[1:]
    found = tuple(
        _counted(dict(zip(headings, line, strict=False))) for line in lines if line and line[0].isdigit()
    )
    if not found:
        raise CounterError(_why_none(text))
    return found


def unknown(text: str) -> tuple[str, ...]:
    """Metrics that the tool says it cannot find; over one of them it refuses all."""
    complaints = [said["text"] for said in _ERROR.finditer(text) if "metric" in said["text"]]
    return tuple(name for name in all_metrics() if any(name in complaint for complaint in complaints))


def longest(launches: tuple[Counted, ...], time_metric: str) -> Counted:
    """The launch that took most of the time."""
    return max(launches, key=lambda launch: launch.value(time_metric) or 0.0)


def number(text: str) -> float | None:
    """A cell's number; None for "n/a", for words, and for what is no finite number."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _counted(cells: dict[str, str]) -> Counted:
    asked = all_metrics()
    numbers = {metric: number(cells.get(metric, "")) for metric in asked}
    return Counted(
        kernel=cells.get(NAME, ""),
        grid=cells.get(GRID, ""),
        block=cells.get(BLOCK, ""),
        values={metric: value for metric, value in numbers.items() if value is not None},
    )


def _why_none(text: str) -> str:
    if FORBIDDEN in text:
        return FORBIDDEN_WHY
    said = _ERROR.search(text)
    if said is not None:
        return f"Nsight Compute says: {said['text']:.200}"
    return "Nsight Compute watched no kernel" if "==PROF==" in text else "Nsight Compute wrote no counters"
