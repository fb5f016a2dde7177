"""What a candidate has to get through, in this order. Each gate is one file with `check(trial)`.

A gate answers with a failure verdict, or None to let the candidate on.
"""

from collections.abc import Callable

from warpsmith.judge.gates import build, clock, coverage, forward, load, numbers, rules, symbols
from warpsmith.judge.trial import Failure, Trial

Gate = Callable[[Trial], Failure | None]

BUILD: tuple[Gate, ...] = (rules.check, build.check, symbols.check)
CORRECTNESS: tuple[Gate, ...] = (load.check, forward.check, numbers.check, coverage.check)
PREPARATION: tuple[Gate, ...] = (clock.prepare,)  # for SPEED; the GPU need not be ours alone
SPEED: tuple[Gate, ...] = (clock.check,)


def first_failure(gates: tuple[Gate, ...], trial: Trial) -> Failure | None:
    """The first gate's No; later gates are not asked."""
    for gate in gates:
        failure = gate(trial)
        if failure is not None:
            return failure
        if (name := gate.__module__.rpartition(".")[2]) not in trial.gates:
            trial.gates.append(name)
    return None
