"""Does it run, by itself, and leave alone what is not its own?

All input sets are run in order, each in fresh tensors, and then the first once more: an answer that was kept
from an earlier call shows. What the first call returned is written out again after the second: a buffer that
every call reuses shows. Fresh memory is poisoned, so what is never written shows.
"""

import shutil
from pathlib import Path

from warpsmith.core import Crashed, InfraError, Rejected, TimedOut, Wrong
from warpsmith.judge.protocol import Computed, Forward, Ran, TooLarge
from warpsmith.judge.trial import Trial

ROOM = 4  # times the reference's output, beyond which an answer is not worth writing down
ROOM_BYTES = 1 << 20

Failed = Crashed | TimedOut | Rejected | Wrong


def check(trial: Trial) -> Failed | None:
    for call, case in enumerate(calls(trial)):
        failure = _run(trial, call, case)
        if failure is not None:
            return failure
    return None


def calls(trial: Trial) -> tuple[int, ...]:
    """The input set of each call."""
    return (*range(trial.subject.num_inputs), 0)


def inputs(trial: Trial, call: int, case: int) -> Path:
    """The file whose tensors the call is given. On the CPU they are mapped, so each call has its own."""
    pristine = trial.subject.inputs[case]
    return trial.guest.exchange / f"inputs-{call}" if trial.device.kind == "cpu" else pristine


def outputs(trial: Trial, call: int) -> Path:
    return trial.guest.exchange / f"outputs-{call}"


def held(trial: Trial) -> Path:
    """What the first call returned, as it was after the second."""
    return trial.guest.exchange / "outputs-held"


def _run(trial: Trial, call: int, case: int) -> Failed | None:
    given = inputs(trial, call, case)
    if given != trial.subject.inputs[case]:
        _copy(trial.subject.inputs[case], given)
    request = Forward(
        inputs=given,
        outputs=outputs(trial, call),
        held=held(trial) if call == 1 else None,
        max_bytes=ROOM * trial.subject.facts.output_bytes + ROOM_BYTES,
    )
    answer = trial.guest.ask(request, (Ran, TooLarge), stage="forward", limit_s=trial.config.limits.forward_s)
    match answer:
        case Ran():
            return _trespass(answer)
        case TooLarge(num_bytes=size):
            expected = trial.subject.facts.output_bytes
            return Wrong(
                what="structure", message=f"the output holds {size} bytes; the reference's {expected}"
            )
        case failure:
            return failure


def _trespass(ran: Ran) -> Rejected | Wrong | None:
    if ran.computed:
        return _torch_computes(ran.computed)
    if ran.changed_inputs:
        which = ", ".join(map(str, ran.changed_inputs))
        message = f"tensor {which} of the inputs was written to; forward must leave its inputs as they are"
        return Wrong(what="inputs changed", message=message)
    if ran.changed_parameters:
        message = (
            f"forward wrote to {', '.join(ran.changed_parameters)}; it must leave the weights as they are"
        )
        return Wrong(what="parameters changed", message=message)
    return None


def _torch_computes(computed: tuple[Computed, ...]) -> Rejected:
    what = ", ".join(f"{item.operator} ({item.where})" for item in computed)
    return Rejected(
        rule="torch-compute",
        where=computed[0].where,
        message=f"forward lets torch compute: {what}. Torch may make tensors, view, copy and cast them; "
        "arithmetic belongs into your kernels",
    )


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise InfraError(f"cannot copy inputs to {target}: {error.strerror or error}") from error
