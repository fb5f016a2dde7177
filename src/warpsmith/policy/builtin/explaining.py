"""What the builtin policy says of its plan, of a verdict and of the end."""

from warpsmith.core import (
    BuildFailed,
    Crashed,
    Implausible,
    NotRunnable,
    Passed,
    Provenance,
    Rejected,
    TimedOut,
    Timing,
    Verdict,
    Wrong,
)
from warpsmith.device.base import Gpu
from warpsmith.policy.builtin.graph import Graph
from warpsmith.policy.builtin.plan import Plan
from warpsmith.policy.builtin.recipes.base import Group
from warpsmith.policy.builtin.recipes.text import megabytes
from warpsmith.policy.builtin.search import Choice


def plan_text(graph: Graph, plan: Plan, gpu: Gpu) -> str:
    """Which operators go into which kernel, and what that should cost."""
    operators, kernels = _counted(len(graph.nodes), "operator"), _counted(len(plan.groups), "kernel")
    traffic, launches = plan.cost.traffic_bytes, _counted(plan.cost.launches, "launch", "launches")
    lines = [
        f"The module is {operators}; I write {kernels}.",
        *(f"- {_group_text(group)}" for group in plan.groups),
        f"Predicted: {megabytes(traffic)} of traffic in {launches}, "
        f"{traffic / gpu.dram_bytes_s * 1e6:.1f} us at the bandwidth of {gpu.name}.",
    ]
    lines += [f"By a shortcut: {shortcut}." for shortcut in plan.shortcuts]
    if plan.cost.flops:
        arithmetic_us = plan.cost.flops / gpu.fp32_flops * 1e6
        lines.append(
            f"Matrix products: {plan.cost.flops / 1e9:.4g} GFLOP, {arithmetic_us:.1f} us at its fp32 rate "
            "without tensor cores."
        )
    return "\n".join(lines)


def _group_text(group: Group) -> str:
    operators = ", ".join(node.op for node in group.nodes)
    read = sum(value.num_bytes for value in group.inputs)
    written = sum(value.num_bytes for value in group.outputs)
    return f"{group.name} ({group.recipe}): {operators}; reads {megabytes(read)}, writes {megabytes(written)}"


def _counted(num: int, one: str, many: str | None = None) -> str:
    return f"{num} {one if num == 1 else many or one + 's'}"


def outcome_text(verdict: Verdict) -> str:
    """A verdict in one line."""
    match verdict:
        case Passed(timing=timing):
            return "It is right." if timing is None else f"It is right and takes {_time_text(timing)}."
        case Implausible(message=message):
            return f"It is right, but its time is refused: {message}"
        case NotRunnable(device=device, reason=reason):
            return f"It cannot run on {device}: {reason}"
        case _:
            return _failure_text(verdict)


def _failure_text(verdict: Rejected | BuildFailed | Crashed | Wrong | TimedOut) -> str:
    match verdict:
        case Wrong(what=what, message=message):
            text = f"Wrong ({what}): {_line(message)}"
        case Rejected(rule=rule, where=where, message=message):
            text = f"Rejected by the rule {rule} at {where}: {_line(message)}"
        case BuildFailed(log=log):
            text = f"It does not compile: {_line(log)}"
        case Crashed(stage=stage, log=log):
            text = f"It crashed ({stage}): {_line(log, last=True)}"
        case TimedOut(stage=stage, limit_s=limit_s):
            text = f"It timed out ({stage}, {limit_s:g} s)."
    return text


def _line(text: str, *, last: bool = False) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["(no message)"]
    return lines[-1 if last else 0][:300]


def _time_text(timing: Timing) -> str:
    how = "measured on" if timing.provenance is Provenance.MEASURED else "as modelled for"
    return (
        f"{timing.candidate.median_us:.1f} us, {how} {timing.gpu}, {timing.times_floor:.2f} times the floor"
    )


def gain_text(before: Timing, after: Timing) -> str:
    """How much less time a program takes than another."""
    saved = 1.0 - after.candidate.median_us / before.candidate.median_us
    return f"{100 * saved:.1f} % less time"


def summary_text(choice: Choice, first: Timing, best: Timing) -> str:
    """The end: what stands in the workspace, how fast it is, and what the search brought."""
    lines = [
        f"Done. The program in the workspace takes {_time_text(best)}.",
        *(f"- {group}: {variant.name}" for group, variant in choice.items()),
    ]
    if best is not first:
        lines.append(f"The search brought {gain_text(first, best)} than the first guess that passed.")
    return "\n".join(lines)
