"""Controls of the judge itself: answers whose verdict is known go through the comparison of every candidate.

They are answers, not programs: what is tried is whether the numbers of this task, under its own tolerance,
tell a right answer from one that computes nothing. That a program as fast as the reference is timed at about
1.00x is the clock's own null control, in every measurement.
"""

from dataclasses import dataclass

from warpsmith.core import InfraError
from warpsmith.judge.config import JudgeConfig
from warpsmith.judge.protocol import Compare, Compared, Control, Pretend, Pretended
from warpsmith.judge.trial import OpenTask

RIGHT = (Control.REFERENCE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Controlled:
    """What the comparison said of one answer. `compared` is absent where the task has no such answer."""

    control: Control
    compared: Compared | None

    @property
    def passes(self) -> bool:
        return self.compared is not None and self.compared.difference is None

    @property
    def is_as_expected(self) -> bool:
        return self.compared is None or self.passes == (self.control in RIGHT)


def check(subject: OpenTask, config: JudgeConfig) -> tuple[Controlled, ...]:
    """All controls' outcomes. Raises InfraError if one is not as it must be: then no verdict counts."""
    found = tuple(_controlled(subject, config, control) for control in Control)
    wrong = [item for item in found if not item.is_as_expected]
    if wrong:
        what = ", ".join(_said(item) for item in wrong)
        raise InfraError(
            f"the judge is blind on {subject.task.task_id}: {what}; no verdict on this task counts (see: "
            "warpsmith audit)"
        )
    return found


def _controlled(subject: OpenTask, config: JudgeConfig, control: Control) -> Controlled:
    limit_s = config.limits.compare_s
    outputs = subject.folder / f"control-{control}"
    request = Pretend(control=control, case=0, outputs=outputs)
    try:
        if not subject.oracle.ask(request, Pretended, limit_s=limit_s).is_there:
            return Controlled(control=control, compared=None)
        compare = Compare(outputs=outputs, case=0, inputs=None)
        return Controlled(control=control, compared=subject.oracle.ask(compare, Compared, limit_s=limit_s))
    finally:
        outputs.unlink(missing_ok=True)


def _said(item: Controlled) -> str:
    if item.passes:
        assert item.compared is not None
        return f"{item.control} passes (error {item.compared.error:.1e}, allowed {item.compared.allowed:.1e})"
    assert item.compared is not None
    assert item.compared.difference is not None
    return f"{item.control} fails ({item.compared.difference.message})"
