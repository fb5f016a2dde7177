"""What a task's own programs take on this GPU: measured once, kept, and re-checked at each verdict.

A kept baseline holds for one task, GPU, driver, version of Python, torch and CUDA, and one set of torch's
flags and of the clock's settings. A verdict never rests on it alone: eager is timed again beside each
candidate, and if that departs from what is kept, all of it is measured anew.
"""

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from warpsmith.core import Ratio, Series
from warpsmith.core.codec import from_json, to_json
from warpsmith.judge.config import JudgeConfig

DRIVER = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Eager and the best other baseline, measured in the same rounds, and eager against its own copy."""

    eager: Series
    null: Ratio
    best: Series | None  # None: torch.compile fails on the reference
    best_over_eager: Ratio | None  # its time over eager's


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much each round does, and from which input sets, by their seeds."""

    num_calls: int
    ahead: tuple[int, ...] = ()  # made before the rounds; each is used once, and then others are made
    pool: tuple[int, ...] = ()  # if not empty, rounds draw from these alone, since sets are slow to make


@dataclass(slots=True, kw_only=True)
class Baselines:
    """What is known of one task's baselines, and which of its input sets may be used again."""

    known: dict[str, Baseline] = field(default_factory=dict)
    pool: tuple[int, ...] = ()  # seeds of input sets, for a task whose sets are slow to make

    def find(self, key: str, folder: Path | None) -> Baseline | None:
        """The one that was measured before, here or by another process."""
        if key not in self.known and folder is not None:
            found = _read(folder / f"{key}.json")
            if found is not None:
                self.known[key] = found
        return self.known.get(key)

    def keep(self, key: str, baseline: Baseline, folder: Path | None) -> None:
        """Remember it. A folder that cannot be written is no trouble: it will be measured again."""
        self.known[key] = baseline
        if folder is not None:
            with suppress(OSError):
                _write(folder / f"{key}.json", to_json(baseline, indent=1))


def keeping_baselines(config: JudgeConfig, folder: Path) -> JudgeConfig:
    """A config whose baselines outlive the process, in `folder`."""
    return replace(config, clock=replace(config.clock, cache=folder))


def baseline_key(parts: dict[str, str]) -> str:
    """A key over all that a baseline's time depends on."""
    return hashlib.sha256(to_json(dict(sorted(parts.items()))).encode()).hexdigest()


def driver_version() -> str:
    """The NVIDIA driver's own line, or nothing where there is none."""
    try:
        return next(iter(DRIVER.read_text().splitlines()), "")
    except OSError:
        return ""


def _read(path: Path) -> Baseline | None:
    try:
        return from_json(Baseline, path.read_text())
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none there, or an older version's


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.stem}.")
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    Path(name).replace(path)
