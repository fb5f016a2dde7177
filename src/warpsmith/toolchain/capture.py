"""What a single-file candidate hands to `load_inline`: its module is imported once, in the sandbox, to see.

The program that imports it (CAPTURE) writes the calls to a file. All in that file is the candidate's claim of
what it wants compiled; only calls that were built can be had in the judge's guest, by the same key.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import BuildFailed, Candidate, Command, Ending, InlineCall, Limits, Runner
from warpsmith.core.codec import from_json
from warpsmith.toolchain.store import NotKept

CAPTURE = "warpsmith.judge.guest.capture"  # python -m CAPTURE folder calls.json
MAX_CALLS = 16
MAX_BYTES = 8 << 20
LIMITS = Limits(wall_s=120.0, memory_bytes=8 << 30, file_bytes=MAX_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """The calls, and what the program said if it did not get to its end."""

    calls: tuple[InlineCall, ...]
    log: str
    was_stopped: bool = False  # from outside: another time it may get further


def capture(candidate: Candidate, folder: Path, runner: Runner) -> Captured | BuildFailed:
    """The calls of `candidate`, which is written below `folder`.

    Raises:
        NotKept: its import did not end in time.
    """
    source, work = folder / "candidate", folder / "work"
    work.mkdir(parents=True)
    candidate.write(source)
    calls = work / "calls.json"
    completed = runner.run(
        Command(
            argv=(sys.executable, "-P", "-m", CAPTURE, str(source), str(calls)),
            cwd=work,
            env={"HOME": str(work), "TMPDIR": str(work)},
            readable=(source,),
            writable=(work,),
            limits=LIMITS,
        )
    )
    if completed.ending is Ending.TIMED_OUT:
        raise NotKept(f"model_new.py: error: importing it did not end within {LIMITS.wall_s:.0f} s")
    try:
        found = _read(calls)
    except ValueError as error:
        return BuildFailed(log=f"model_new.py: error: what it hands to load_inline cannot be read: {error}")
    was_stopped = completed.ending is not Ending.EXITED
    return Captured(calls=found, log=completed.stderr[-2000:], was_stopped=was_stopped)


def _read(path: Path) -> tuple[InlineCall, ...]:
    """Raises ValueError; a program that wrote nothing made no call."""
    if path.is_symlink() or not path.is_file():
        return ()
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES} bytes")
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > MAX_CALLS:
        raise ValueError(f"more than {MAX_CALLS} calls")
    try:
        return tuple(from_json(InlineCall, line) for line in lines)
    except (json.JSONDecodeError, RecursionError, TypeError, KeyError) as error:
        raise ValueError(str(error)) from error
