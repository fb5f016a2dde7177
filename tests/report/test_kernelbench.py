"""The file that KernelBench's analysis reads, field by field."""

import json
from dataclasses import replace

import pytest

from warpsmith.core import (
    Accuracy,
    BuildFailed,
    Crashed,
    Implausible,
    NotRunnable,
    Passed,
    Provenance,
    Ratio,
    Rejected,
    Series,
    TimedOut,
    Timing,
    UsageError,
    Wrong,
)
from warpsmith.report.kernelbench import Sample, add, entry

EVEN = Ratio(centre=1.0, low=0.9, high=1.1)
MEASURED = Timing(
    provenance=Provenance.MEASURED,
    gpu="h200",
    candidate=Series(name="candidate", samples_us=(1000.0, 2000.0, 3000.0)),
    eager=Series(name="eager", samples_us=(4000.0,)),
    compile=None,
    against_eager=EVEN,
    against_compile=None,
    floor_us=10.0,
)
PASSED = Passed(
    accuracy=Accuracy(error=1e-7, reference_error=1e-7, allowed=1e-6), timing=MEASURED, gates=("build",)
)


def test_a_measured_verdict_has_every_field_that_the_analysis_reads():
    written = entry(PASSED, 3, "NVIDIA H200")
    assert list(written) == ["sample_id", "compiled", "correctness", "metadata", "runtime", "runtime_stats"]
    assert (written["sample_id"], written["compiled"], written["correctness"]) == (3, True, True)
    assert written["runtime"] == 2.0
    assert written["runtime_stats"] == {
        "mean": 2.0,
        "std": 0.816,
        "min": 1.0,
        "max": 3.0,
        "num_trials": 3,
        "hardware": "NVIDIA H200",
        "device": "cuda:0",
    }
    assert written["metadata"]["hardware"] == "NVIDIA H200"
    assert written["metadata"]["eager_runtime"] == 4.0


def test_a_modelled_time_is_no_time_and_says_so():
    modelled = replace(PASSED, timing=replace(MEASURED, provenance=Provenance.MODELLED))
    written = entry(modelled, 0, "CPU")
    assert (written["correctness"], written["runtime"], written["runtime_stats"]) == (True, -1.0, {})
    assert "modelled for h200" in written["metadata"]["timing"]


@pytest.mark.parametrize(
    ("verdict", "compiled", "key"),
    [
        (BuildFailed(log="x"), False, "compilation_error"),
        (Rejected(rule="r", where="w", message="m"), False, "rejected"),
        (NotRunnable(device="cpu", reason="PTX"), False, "not_judged"),
        (Crashed(stage="load", log="x"), True, "runtime_error"),
        (TimedOut(stage="forward", limit_s=1.0), True, "runtime_error"),
        (Wrong(what="values", message="m"), True, "correctness_issue"),
        (Implausible(message="m"), True, "time_refused"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str | bool) else str(value),
)
def test_no_other_verdict_is_correct_or_has_a_time(verdict, compiled, key):
    written = entry(verdict, 0, "CPU")
    assert (written["compiled"], written["correctness"], written["runtime"]) == (compiled, False, -1.0)
    assert written["metadata"][key]
    json.dumps(written, allow_nan=False)


def test_samples_are_sorted_by_problem_and_a_second_verdict_replaces_the_first(tmp_path):
    file = tmp_path / "runs" / "eval_results.json"
    for problem, sample, verdict in [
        (10, 0, PASSED),
        (2, 0, PASSED),
        (2, 1, PASSED),
        (2, 0, BuildFailed(log="")),
    ]:
        add(file, Sample(problem_id=problem, sample_id=sample), verdict, "CPU")
    samples = json.loads(file.read_text())
    assert list(samples) == ["2", "10"]
    assert [(one["sample_id"], one["correctness"]) for one in samples["2"]] == [(1, True), (0, False)]


@pytest.mark.parametrize("text", ["no json", "[]", '{"a": []}', '{"1": [{}]}'])
def test_a_file_that_is_something_else_is_left_alone(tmp_path, text):
    file = tmp_path / "notes.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"eval_results\.json"):
        add(file, Sample(problem_id=1, sample_id=0), PASSED, "CPU")
    assert file.read_text() == text
