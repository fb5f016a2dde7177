"""Are its answers the reference's?"""

from pathlib import Path

from warpsmith.core import Accuracy, Wrong
from warpsmith.judge.gates import forward
from warpsmith.judge.protocol import Compare, Compared
from warpsmith.judge.trial import Trial

REUSED = (
    "what forward returns is overwritten by its next call, so return a new tensor each time; seen on the "
    "first answer, read again after the second call"
)
REPEATED = "the first inputs, given again after the others, give another answer than before"


def check(trial: Trial) -> Wrong | None:
    compared: list[Compared] = []
    for call, case in enumerate(forward.calls(trial)):
        found = _compare(trial, forward.outputs(trial, call), case, forward.inputs(trial, call, case))
        if found.difference is not None:
            return _wrong(found, REPEATED if call == trial.subject.num_inputs else "")
        compared.append(found)
    found = _compare(trial, forward.held(trial), 0, None)
    if found.difference is not None:
        return _wrong(found, REUSED)
    worst = max(compared, key=lambda item: item.error / item.allowed if item.allowed else item.error)
    trial.accuracy = Accuracy(
        error=worst.error,
        reference_error=worst.reference_error,
        allowed=worst.allowed,
        has_truth=trial.subject.facts.has_truth,
    )
    return None


def _compare(trial: Trial, outputs: Path, case: int, inputs: Path | None) -> Compared:
    is_own = inputs is not None and inputs.parent == trial.guest.exchange
    request = Compare(outputs=outputs, case=case, inputs=inputs if is_own else None)
    return trial.subject.oracle.ask(request, Compared, limit_s=trial.config.limits.compare_s)


def _wrong(found: Compared, why: str) -> Wrong:
    assert found.difference is not None
    difference = found.difference
    message = f"{why}; {difference.message}" if why else difference.message
    return Wrong(what=difference.what, message=message, error=difference.error, allowed=difference.allowed)
