"""What --json says of a verdict, the same in every command."""

from typing import Any

from warpsmith.core import Passed, Provenance, Verdict


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
