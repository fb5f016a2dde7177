"""How does it do at a size that was not asked for? A label for the reader, never a refusal.

It comes after everything else, because a program that crashes here takes its process with it.
"""

import shutil
from pathlib import Path

from warpsmith.core import Crashed, InfraError, OffShape, Rejected, TimedOut
from warpsmith.judge.gates import forward
from warpsmith.judge.protocol import AtOtherSize, Compare, Compared, Forward, Ran, Resized, TooLarge
from warpsmith.judge.resizing import Resize, resized
from warpsmith.judge.trial import Trial

Outcome = Ran | TooLarge | Crashed | TimedOut | Rejected


def check(trial: Trial) -> None:
    sizes = resized(trial.subject.task.source)
    if not sizes:
        return
    given = trial.subject.folder / "inputs-resized"
    limit_s = trial.config.limits.open_s
    request = AtOtherSize(sources=tuple(size.source for size in sizes), inputs=given)
    answer = trial.subject.oracle.resize(request, limit_s=limit_s)
    if isinstance(answer, Resized):
        trial.off_shapes = (_off_shape(trial, sizes[answer.index], given),)


def _off_shape(trial: Trial, size: Resize, pristine: Path) -> OffShape:
    given, outputs = pristine, trial.guest.exchange / "outputs-resized"
    if trial.device.kind != "cuda":
        given = trial.guest.exchange / "inputs-resized"
        _copy(pristine, given)
    request = Forward(inputs=given, outputs=outputs, max_bytes=forward.max_bytes(trial))
    limit_s = trial.config.limits.forward_s
    answer = trial.guest.ask(request, (Ran, TooLarge), stage="forward", limit_s=limit_s)
    wrong = _failure(answer) or _difference(trial, outputs)
    message = size.text if wrong is None else f"{size.text}: {wrong}"
    return OffShape(scale=size.scale, is_right=wrong is None, message=message)


def _failure(answer: Outcome) -> str | None:
    match answer:
        case Ran(computed=()):
            return None
        case Ran():
            return "forward lets torch compute"
        case TooLarge():
            return "its answer is too large"
        case Crashed(log=log):
            return f"it crashes ({(log.strip().splitlines() or ['no message'])[-1]:.200})"
        case TimedOut(limit_s=limit_s):
            return f"it does not end within {limit_s:g} s"
        case Rejected(message=message):
            return message


def _difference(trial: Trial, outputs: Path) -> str | None:
    request = Compare(outputs=outputs, case=0, inputs=None, is_resized=True)
    limit_s = trial.config.limits.compare_s
    compared = trial.subject.oracle.ask(request, Compared, limit_s=limit_s)
    return None if compared.difference is None else compared.difference.message


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise InfraError(f"cannot copy inputs to {target}: {error.strerror or error}") from error
