"""What a candidate has to get through, in this order. Each gate is one file with `check(trial)`.

A gate answers with a failure verdict, or None to let the candidate on.
"""

from collections.abc import Callable

from warpsmith.judge.gates import build, clock, forward, load, numbers, rules
from warpsmith.judge.trial import Failure, Trial

Gate = Callable[[Trial], Failure | None]

BUILD: tuple[Gate, ...] = (rules.check, build.check)
CORRECTNESS: tuple[Gate, ...] = (load.check, forward.check, numbers.check)
SPEED: tuple[Gate, ...] = (clock.check,)


def first_failure(gates: tuple[Gate, ...], trial: Trial) -> Failure | None:
    """The first gate's No; later gates are not asked."""
    for gate in gates:
        failure = gate(trial)
        if failure is not None:
            return failure
    return None
