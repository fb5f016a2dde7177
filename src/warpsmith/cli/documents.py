"""What --json says of a verdict and of a run in a list, the same in every command."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from warpsmith.core import Passed, Provenance, Verdict

if TYPE_CHECKING:
    from warpsmith.report.listing import Entry


def verdict_data(verdict: Verdict | None) -> dict[str, Any]:
    """The verdict whole, and what a script most often wants of it without knowing its types."""
    timing = verdict.timing if isinstance(verdict, Passed) else None
    return {
        "is_correct": isinstance(verdict, Passed),
        "is_faster": None if timing is None or timing.provenance is Provenance.MODELLED else timing.is_fast,
        "provenance": None if timing is None else timing.provenance,
        "times_us": None
        if timing is None
        else {
            "eager": timing.eager.median_us,
            "compile": None if timing.compile is None else timing.compile.median_us,
            "candidate": timing.candidate.median_us,
            "floor": timing.floor_us,
        },
        "verdict": verdict,
    }


def entry_data(entry: "Entry") -> dict[str, Any]:
    """A run in a list; a broken one has a reason and nothing else."""
    if entry.is_broken:
        return {"folder": entry.folder, "state": entry.state_text, "reason": entry.reason}
    data = {field.name: getattr(entry, field.name) for field in fields(entry) if field.name != "reason"}
    return data | {"is_correct": entry.is_correct}
