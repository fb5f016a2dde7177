"""Are its answers the reference's?"""

from warpsmith.core import Accuracy, PrecisionClass, Wrong
from warpsmith.judge.trial import Answer, Trial

REUSED = (
    "what forward returns is overwritten by a later call, so return a new tensor each time; seen on an "
    "answer that was read again after the last call"
)
REPEATED = (
    "the first inputs, given again after the others and, on a GPU, arriving late, give another answer than "
    "before"
)
PLAIN = (
    "called as the clock calls it (on the tensors of the call before, which hold other numbers now, and in "
    "memory that was not filled with NaN) it gives another answer"
)


def check(trial: Trial) -> Wrong | None:
    # An answer as it was comes before what became of it.
    for answer in sorted(trial.answers, key=lambda answer: answer.is_held):
        if answer.compared.difference is not None:
            return _wrong(answer, trial.subject.num_inputs)
    compared = [answer.compared for answer in trial.answers]
    worst = max(compared, key=lambda item: item.error / item.allowed if item.allowed else item.error)
    trial.accuracy = Accuracy(
        error=worst.error,
        reference_error=worst.reference_error,
        allowed=worst.allowed,
        has_truth=trial.subject.facts.has_truth,
    )
    classes = [item.precision for item in compared if item.precision is not None]
    trial.precision = max(classes, key=list(PrecisionClass).index, default=None)
    return None


def _wrong(answer: Answer, num_inputs: int) -> Wrong:
    difference = answer.compared.difference
    assert difference is not None
    of_call = {num_inputs: REPEATED, num_inputs + 1: PLAIN}
    why = REUSED if answer.is_held else of_call.get(answer.call, "")
    message = f"{why}; {difference.message}" if why else difference.message
    return Wrong(what=difference.what, message=message, error=difference.error, allowed=difference.allowed)
