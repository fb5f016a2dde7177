"""What a bench was asked, as its folder says it: whoever goes on with it has to ask the same."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from warpsmith.agent.runs.spec import RunSpec
from warpsmith.bench.suite import Choice, Chosen, Mode, Name
from warpsmith.core import UsageError
from warpsmith.device import Device
from warpsmith.tasks.suites.base import Broken

FORMAT = 1
"""To be raised whenever a folder of before can't be gone on with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that the results depend on beside machine and versions, and the tasks in their order.

    `settings` are in words, by the name that a person knows them by.
    """

    format: int = 0
    suite: str
    mode: Mode
    policy: str
    device: str  # its name, as verdicts have it
    device_kind: str
    gpu: str  # whose peaks bound the times
    settings: dict[str, str] = field(default_factory=dict)
    names: tuple[Name, ...] = ()
    broken: tuple[Broken, ...] = ()  # rows of the suite that are no tasks

    @property
    def num_resized(self) -> int:
        """How many tasks are run at other sizes than their suite's."""
        return sum(name.is_resized for name in self.names)


def plan_of(suite: str, chosen: Chosen, choice: Choice, spec: RunSpec, device: Device) -> Plan:
    """`spec` is a task's run, whichever task it is."""
    sampling, budget = spec.policy_config.sampling, spec.budget
    # What a loan may take depends on how many judges share the GPU; a verdict does not.
    judge = replace(spec.judge, lend_share=0.0)
    settings = {
        "base URL": spec.policy_config.base_url or "",
        "style": spec.policy_config.style,
        "temperature": _text(sampling.temperature),
        "top p": _text(sampling.top_p),
        "seed": _text(sampling.seed),
        "reply tokens": str(sampling.max_tokens),
        "turns a task": str(budget.max_turns),
        "minutes a task": _text(None if budget.max_wall_s is None else budget.max_wall_s / 60),
        "USD a task": _text(budget.max_usd),
        "dtype": spec.task.dtype.value,
        "precision": spec.task.precision.value,
        "scale": _text(choice.scale),
        "caps": ", ".join(f"{cap.names}={cap.most}" for cap in choice.caps),
        "judge": judge.digest[:16],
        "arch": device.arch,
    }
    return Plan(
        format=FORMAT,
        suite=suite,
        mode=Mode.TRAIN if spec.task.is_training else Mode.EVAL,
        policy=spec.policy,
        device=device.name,
        device_kind=device.kind,
        gpu=device.gpu.name,
        settings=settings,
        names=tuple(item.name for item in chosen.items),
        broken=chosen.broken,
    )


def joined(old: Plan, new: Plan, where: object) -> Plan:
    """The old bench with what tasks the new one adds. Raises UsageError, naming it, for what differs."""
    differing = [
        f"{what} was {before or 'none'}, and is {after or 'none'} now"
        for what, before, after in _compared(old, new)
        if before != after
    ]
    if differing:
        raise UsageError(
            f"{where} holds a bench of other settings ({'; '.join(differing)}); take another folder"
        )
    known = {name.key: name for name in old.names}
    for name in new.names:
        if known.setdefault(name.key, name).digest != name.digest:
            raise UsageError(
                f"{name.task_id} ({name.key}) is another task than the one in {where}: its source has "
                "changed, or how it is judged; take another folder"
            )
    return replace(new, names=_ordered(list(known.values())))


def _compared(old: Plan, new: Plan) -> list[tuple[str, str, str]]:
    own = [
        ("the format", str(old.format), str(new.format)),
        ("the suite", old.suite, new.suite),
        ("the mode", old.mode.value, new.mode.value),
        ("the policy", old.policy, new.policy),
        ("the device", old.device, new.device),
        ("the GPU of the peaks", old.gpu, new.gpu),
    ]
    keys = dict.fromkeys((*old.settings, *new.settings))
    return [*own, *((key, old.settings.get(key, ""), new.settings.get(key, "")) for key in keys)]


def _ordered(names: Sequence[Name]) -> tuple[Name, ...]:
    """By level and problem; what has none in the order that it came in."""
    return tuple(sorted(names, key=lambda name: (name.level or 0, name.problem or 0)))


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
