"""Does it import, construct as the reference does, and take the reference's weights?"""

import shutil

from warpsmith.core import Crashed, InfraError, Rejected, TimedOut, Wrong
from warpsmith.judge.protocol import Load, Loaded, Regime, WeightsDiffer
from warpsmith.judge.trial import Trial

MAX_NAMES = 8


def check(trial: Trial) -> Crashed | TimedOut | Rejected | Wrong | None:
    _hand_over(trial)
    guest, subject = trial.guest, trial.subject
    start_s = trial.config.limits.start_s
    guest.greet(limit_s=start_s)
    if trial.device.kind == "cuda":
        flush_bytes = trial.config.clock.flush_bytes(trial.device.gpu)
        why_not = guest.prepare(subject.facts.loan, flush_bytes=flush_bytes, limit_s=start_s)
        if why_not:
            raise InfraError(f"the guest cannot open the GPU memory that another could: {why_not}")
    request = Load(
        candidate=guest.candidate,
        extension=guest.extension,
        arguments=subject.arguments,
        weights=subject.weights,
        inputs=subject.inputs,
        device=trial.device.kind,
        makes_on_device=subject.facts.makes_on_device,
        regime=Regime.of(subject.task),
    )
    answer = guest.ask(request, (Loaded, WeightsDiffer), stage="load", limit_s=trial.config.limits.load_s)
    match answer:
        case Loaded(flipped=flipped):
            return flags_left(flipped) if flipped else None
        case WeightsDiffer():
            return Wrong(what="weights", message=_message(answer))
        case failure:
            return failure


def flags_left(flipped: tuple[str, ...]) -> Rejected:
    """The verdict on a program that leaves torch's settings otherwise than the judge pinned them."""
    return Rejected(
        rule="flags",
        where="model_new.py",
        message=f"the program changes torch's settings for the whole process: {'; '.join(flipped)}. The "
        "task's precision policy sets them, the same for reference and candidate; change them inside forward "
        "alone, and put them back",
    )


def _hand_over(trial: Trial) -> None:
    """Put sources and build where the guest sees them. The store itself stays out of its reach."""
    assert trial.build is not None
    try:
        trial.candidate.write(trial.guest.candidate)
        shutil.copytree(trial.build.folder, trial.guest.extension, dirs_exist_ok=True)
    except OSError as error:
        raise InfraError(
            f"cannot hand the candidate over in {trial.guest.candidate.parent}: {error}"
        ) from error


def _message(answer: WeightsDiffer) -> str:
    parts = [
        f"{what} {', '.join(names[:MAX_NAMES])}{' ...' if len(names) > MAX_NAMES else ''}"
        for what, names in (
            ("missing", answer.missing),
            ("unexpected", answer.unexpected),
            ("of another shape", answer.reshaped),
        )
        if names
    ]
    return f"ModelNew's state_dict must have the names and shapes of Model's: {'; '.join(parts)}"
