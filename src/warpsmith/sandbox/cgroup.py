"""Where the kernel itself can count a tree's threads, and bind root too: a control group for pids."""

import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

V1, V2 = "cgroup", "cgroup2"


def pids_cgroup(name: str) -> str:
    """The folder of a group of this name that can be made to limit tasks; empty if none can."""
    return f"{_base()}/warpsmith-{name}" if _base() else ""


@cache
def _base() -> str:
    """The folder of a group of ours below which groups that count tasks can be made; empty if there is none.

    In the second version that is a group whose own setting hands the counting down (a delegated one, or the
    root of a container's); settings of the machine are not changed for it.
    """
    return next((str(folder) for folder in _candidates() if _works(folder)), "")


def _candidates() -> Iterator[Path]:
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        groups = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return
    for line in mounts:
        fields, _, rest = line.partition(" - ")
        root, mounted = fields.split()[3:5]
        kind, _, options = rest.split(" ", 2)
        for _, controllers, path in groups:
            is_v1 = kind == V1 and "pids" in controllers.split(",") and "pids" in options.split(",")
            is_v2 = kind == V2 and controllers == ""
            if (is_v1 or is_v2) and path.startswith(root):
                yield Path(mounted, path.removeprefix(root).lstrip("/"))


def _works(folder: Path) -> bool:
    try:
        probe = Path(tempfile.mkdtemp(prefix="warpsmith-", dir=folder))
    except OSError:
        return False
    try:
        return os.access(probe / "pids.max", os.W_OK)
    finally:
        probe.rmdir()
