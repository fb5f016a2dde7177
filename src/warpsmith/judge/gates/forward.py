"""Does it run, by itself, and leave alone what is not its own?

All input sets are run in order, each in fresh tensors, and then the first once more: an answer that was kept
from an earlier call shows. Fresh memory is poisoned, so what is never written shows. In that last of the
watched calls the inputs arrive late, so work that does not wait for them shows.

One more call is as the clock's are: on the very tensors of the call before, which hold another input set by
then, in memory that nobody poisoned, with nobody listening. A program that knows a tensor again, or by the
poison that it is examined, shows.

What the calls returned is written out again after the last: buffers that calls reuse in turn show.

Each answer is compared as soon as it is there, since the arena has room for few; gate `numbers` judges them.
"""

import os
import shutil
from pathlib import Path

from warpsmith.core import Crashed, InfraError, Rejected, TimedOut, Wrong
from warpsmith.judge.gates.load import flags_left
from warpsmith.judge.protocol import (
    Compare,
    Compared,
    Computed,
    Forward,
    Lend,
    Lent,
    Ran,
    Recall,
    Recalled,
    TooLarge,
)
from warpsmith.judge.trial import Answer, Trial

ROOM = 4  # times the reference's output, beyond which an answer is not worth writing down
ROOM_BYTES = 1 << 20
COPY_BYTES = 8 << 20
MIN_HELD, MAX_HELD = 2, 3  # answers that are held on a GPU; the first alone shows buffers that go around

Failed = Crashed | TimedOut | Rejected | Wrong


def check(trial: Trial) -> Failed | None:
    for call, case in enumerate(calls(trial)):
        failure = _run(trial, call, case)
        if failure is not None:
            return failure
    if any(answer.compared.difference for answer in trial.answers):
        return None
    return _recall(trial)


def calls(trial: Trial) -> tuple[int, ...]:
    """The input set of each call."""
    num_inputs = trial.subject.num_inputs
    return (*range(num_inputs), 0, 1 % num_inputs)


def num_held(trial: Trial) -> int:
    """How many answers, from the first, are held until the last call."""
    most = len(calls(trial)) - 1
    if trial.device.kind == "cpu":
        return most
    room = int(trial.config.clock.held_share * trial.device.memory_bytes)
    fitting = room // max(trial.subject.facts.output_bytes, 1)
    return min(max(fitting, MIN_HELD), MAX_HELD, most)


def lend(trial: Trial, call: int, case: int) -> Path:
    """Put an input set where the guest may use it, for one call; the file that says where.

    The guest could write to it, so the judge looks at it afterwards. Only on a GPU whose memory cannot be
    lent the guest gets a copy that the judge never sees again.
    """
    pristine = trial.subject.inputs[case]
    if trial.subject.facts.loan is not None:
        path = trial.subject.folder / f"lent-{call}"
        request = Lend(case=case, slot=call, inputs=path)
        trial.subject.oracle.ask(request, Lent, limit_s=trial.config.limits.compare_s)
        return path
    if trial.device.kind == "cuda":
        return pristine
    path = trial.guest.exchange / f"inputs-{call}"
    copy(pristine, path)
    return path


def compare(trial: Trial, outputs: Path, case: int, inputs: Path | None) -> Compared:
    """Hold an answer against the reference's; `inputs` are those that were lent for it."""
    is_seen = inputs is not None and inputs != trial.subject.inputs[case]
    request = Compare(outputs=outputs, case=case, inputs=inputs if is_seen else None)
    return trial.subject.oracle.ask(request, Compared, limit_s=trial.config.limits.compare_s)


def max_bytes(trial: Trial) -> int:
    """The largest answer that is worth looking at."""
    facts = trial.subject.facts
    return facts.loan.answer_bytes if facts.loan else ROOM * facts.output_bytes + ROOM_BYTES


def _run(trial: Trial, call: int, case: int) -> Failed | None:
    given = lend(trial, call, case)
    outputs = trial.guest.exchange / f"outputs-{call}"
    is_plain = call > trial.subject.num_inputs
    request = Forward(
        inputs=given,
        outputs=outputs,
        max_bytes=max_bytes(trial),
        is_late=call == trial.subject.num_inputs,
        is_plain=is_plain,
        keep_as=call if call < num_held(trial) else None,
    )
    answer = trial.guest.ask(request, (Ran, TooLarge), stage="forward", limit_s=trial.config.limits.forward_s)
    match answer:
        case Ran():
            failure = _trespass(answer, is_first=call == 0)
            if call == 0 and answer.computed:
                names = ", ".join(item.operator for item in answer.computed)
                trial.advice.append(f"in its first call it lets torch compute {names}")
            if failure is None:
                # Where the inputs of a plain call lie, no file of the judge's says.
                compared = compare(trial, outputs, case, None if is_plain else given)
                trial.answers.append(Answer(call=call, compared=compared))
            return failure
        case TooLarge(num_bytes=size):
            return _too_large(trial, size)
        case failure:
            return failure


def _recall(trial: Trial) -> Failed | None:
    for call, case in enumerate(calls(trial)[: num_held(trial)]):
        outputs = trial.guest.exchange / f"outputs-held-{call}"
        request = Recall(kept_as=call, outputs=outputs, max_bytes=max_bytes(trial))
        limit_s = trial.config.limits.forward_s
        answer = trial.guest.ask(request, (Recalled, TooLarge), stage="forward", limit_s=limit_s)
        match answer:
            case Recalled():
                compared = compare(trial, outputs, case, None)
                trial.answers.append(Answer(call=call, compared=compared, is_held=True))
            case TooLarge(num_bytes=size):
                return _too_large(trial, size)
            case failure:
                return failure
    return None


def _too_large(trial: Trial, num_bytes: int) -> Wrong:
    expected = trial.subject.facts.output_bytes
    message = f"the output holds {num_bytes} bytes; the reference's {expected}"
    return Wrong(what="structure", message=message)


def _trespass(ran: Ran, *, is_first: bool) -> Rejected | Wrong | None:
    # In the first call a program may still make of its weights what it then keeps. Later answers are its
    # kernels' own.
    if ran.computed and not is_first:
        return _torch_computes(ran.computed)
    if ran.flipped:
        return flags_left(ran.flipped)
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


def copy(source: Path, target: Path) -> None:
    """Give a guest inputs of its own, which it may write to."""
    # The folder is the guest's, which may have put a link there: it is replaced, never followed.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        target.unlink(missing_ok=True)
        with source.open("rb") as pristine, os.fdopen(os.open(target, flags, 0o600), "wb") as given:
            shutil.copyfileobj(pristine, given, COPY_BYTES)
    except OSError as error:
        raise InfraError(f"cannot copy inputs to {target}: {error.strerror or error}") from error
