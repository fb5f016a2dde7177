"""Verdicts as KernelBench's `eval_results.json` holds them, for its own analysis script to score.

The file maps a problem's number to a list of samples. A time is that of the candidate in milliseconds, and it
is there only if it was measured: KernelBench writes -1 for what was not timed, and so do we for a modelled
time, with a word on it in the sample's metadata.
"""

import json
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.core import (
    BuildFailed,
    Crashed,
    Implausible,
    NotRunnable,
    Passed,
    Provenance,
    Rejected,
    Series,
    TimedOut,
    Timing,
    UsageError,
    Verdict,
    Wrong,
)
from warpsmith.report.verdicts import evidence_text, verdict_text

NOT_TIMED = -1.0
DIGITS = 3  # KernelBench gives its times to three
REASONS: dict[type, str] = {
    TimedOut: "runtime_error",
    Wrong: "correctness_issue",
    Rejected: "rejected",
    Implausible: "time_refused",
    NotRunnable: "not_judged",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Which problem of a KernelBench level was answered, and which of its answers this is."""

    problem_id: int
    sample_id: int


def entry(verdict: Verdict, sample_id: int, device_name: str) -> dict[str, Any]:
    """One sample's record. An answer whose time is refused counts as no answer."""
    timing = _measured(verdict)
    return {
        "sample_id": sample_id,
        "compiled": _is_compiled(verdict),
        "correctness": isinstance(verdict, Passed),
        "metadata": _metadata(verdict, device_name),
        "runtime": NOT_TIMED if timing is None else _stats(timing.candidate, device_name)["mean"],
        "runtime_stats": {} if timing is None else _stats(timing.candidate, device_name),
    }


def add(file: Path, sample: Sample, verdict: Verdict, device_name: str) -> None:
    """Put the verdict into `file`, in the place of an earlier one on the same sample; the rest stays.

    Raises UsageError if there is a file that is none of KernelBench's, or if it cannot be written.
    """
    samples = _read(file)
    others = [one for one in samples.get(str(sample.problem_id), []) if one["sample_id"] != sample.sample_id]
    samples[str(sample.problem_id)] = [*others, entry(verdict, sample.sample_id, device_name)]
    text = json.dumps(dict(sorted(samples.items(), key=lambda item: int(item[0]))), indent=4)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as fresh:
            fresh.write(text + "\n")
        Path(fresh.name).replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error


def _read(file: Path) -> dict[str, list[dict[str, Any]]]:
    if not file.exists():
        return {}
    try:
        samples: dict[str, list[dict[str, Any]]] = json.loads(file.read_text())
        sound = all(
            key.isdigit() and all("sample_id" in one for one in ones) for key, ones in samples.items()
        )
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise UsageError(f"{file} cannot be read as KernelBench's eval_results.json: {error}") from error
    if not sound:
        raise UsageError(f"{file} is no eval_results.json of KernelBench: name another file")
    return samples


def _is_compiled(verdict: Verdict) -> bool:
    """Whether it was built and tried; what a rule refused may never have met a compiler."""
    return isinstance(verdict, Crashed | Wrong | TimedOut | Implausible | Passed)


def _measured(verdict: Verdict) -> Timing | None:
    timing = verdict.timing if isinstance(verdict, Passed) else None
    return timing if timing is not None and timing.provenance is Provenance.MEASURED else None


def _metadata(verdict: Verdict, device_name: str) -> dict[str, Any]:
    """The names that KernelBench uses where it has one, and ours."""
    said: dict[str, Any] = {
        "hardware": device_name,
        "judge": "warpsmith",
        "verdict": verdict_text(verdict),
        "evidence": evidence_text(verdict),
    }
    return said | _reason(verdict)


def _reason(verdict: Verdict) -> dict[str, Any]:
    match verdict:
        case BuildFailed(log=log):
            return {"compilation_error": log}
        case Crashed(log=log):
            return {"runtime_error": log}
        case Passed(timing=timing):
            return _timing_metadata(timing)
        case _:
            return {REASONS[type(verdict)]: evidence_text(verdict)}


def _timing_metadata(timing: Timing | None) -> dict[str, Any]:
    if timing is None:
        return {"timing": "not asked for"}
    if timing.provenance is Provenance.MODELLED:
        return {"timing": f"modelled for {timing.gpu}, not measured: no runtime is given"}
    baselines = {"eager": timing.eager, "compile": timing.compile}
    means = {f"{name}_runtime": _stats(one, "")["mean"] for name, one in baselines.items() if one is not None}
    return {"timing": "measured; cold cache, fresh inputs, in milliseconds", **means}


def _stats(series: Series, device_name: str) -> dict[str, Any]:
    """In milliseconds."""
    times = [one / 1e3 for one in series.samples_us]
    return {
        "mean": _rounded(statistics.fmean(times)),
        "std": _rounded(statistics.pstdev(times)),
        "min": _rounded(min(times)),
        "max": _rounded(max(times)),
        "num_trials": len(times),
        "hardware": device_name,
        "device": "cuda:0",
    }


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
