"""What keeps a program from being done or faster, as a team passes it on.

Of a right program it is what the classifier says (`agent.diagnosis`), from the verdict's clock alone or with
what profilers found; of any other its verdict's words with one remedy. Each number says how it is known.
"""

from warpsmith.agent.diagnosis.classifier import classify
from warpsmith.agent.diagnosis.figures import Figure, Sheet, Source
from warpsmith.agent.diagnosis.timing import Bounds, of_verdict
from warpsmith.agent.feedback import verdict_text
from warpsmith.agent.team.nouns import Bottleneck, Diagnosis
from warpsmith.core import (
    BuildFailed,
    Implausible,
    NotRunnable,
    Passed,
    Rejected,
    TimedOut,
    Verdict,
    Wrong,
)

__all__ = ["Bounds", "diagnosed", "no_program"]

MAX_LOG = 1_500


def diagnosed(verdict: Verdict, bounds: Bounds, seen: Sheet | None = None) -> Diagnosis:
    """What limits a program, and the one thing to do about it. `seen` is what profilers found of it."""
    if isinstance(verdict, Passed):
        return _of_speed(verdict, bounds, seen or Sheet())
    text, _, hint = verdict_text(verdict).partition("\nhint: ")
    is_build = isinstance(verdict, BuildFailed)
    return Diagnosis(
        bottleneck=Bottleneck.BUILD if is_build else Bottleneck.CORRECTNESS,
        evidence=tuple(_errors(verdict)),
        finding=text[:MAX_LOG],
        suggestion=hint or _remedy(verdict),
    )


def no_program(why: str) -> Diagnosis:
    """There is nothing to be built."""
    return Diagnosis(
        bottleneck=Bottleneck.BUILD,
        evidence=(),
        finding=why,
        suggestion="Write model_new.py with class ModelNew, and the kernels that it calls into kernels/.",
    )


def _of_speed(passed: Passed, bounds: Bounds, seen: Sheet) -> Diagnosis:
    timing = passed.timing
    if timing is None:
        return Diagnosis(
            bottleneck=Bottleneck.NONE,
            evidence=(Figure(name="program's time", value=None, unit="us", source=Source.UNAVAILABLE),),
            finding="it is right; how fast it is was not told",
            suggestion="Have it timed with profile.",
        )
    sheet = Sheet(of_verdict(passed, timing, bounds)) | seen
    found = classify(sheet)
    return Diagnosis(
        bottleneck=Bottleneck(found.kind),
        evidence=tuple(sheet),
        finding=found.finding,
        suggestion=found.suggestion,
    )


def _errors(verdict: Verdict) -> list[Figure]:
    match verdict:
        case Wrong(error=error, allowed=allowed) if error is not None:
            allowing = Source.UNAVAILABLE if allowed is None else Source.DERIVED
            return [
                Figure(name="error", value=error, unit="", source=Source.MEASURED),
                Figure(name="error allowed", value=allowed, unit="", source=allowing),
            ]
        case TimedOut(limit_s=limit_s):
            return [Figure(name="time limit", value=limit_s, unit="s", source=Source.MEASURED)]
        case _:
            return []


def _remedy(verdict: Verdict) -> str:
    """What to do where the verdict brings no hint of its own."""
    match verdict:
        case BuildFailed():
            return "Mend the first error that the compiler names; the others often follow from it."
        case Rejected():
            return "Do in kernels/ what the rule forbids outside them."
        case Implausible():
            return "Compute everything that the reference computes, in each call."
        case NotRunnable():
            return "Write it in plain CUDA C++, without what this device cannot execute."
        case _:
            return "Compare the smallest case by hand with the reference, operator by operator."
