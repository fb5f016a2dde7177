"""Which inputs and which weights an answer depends on, so that a judge could tell."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from warpsmith.core.audit import Finding, Kind, Severity
from warpsmith.judge.oracle.subject import Shift, Subject, copied, disturbed, held_tensors, with_leaf
from warpsmith.judge.tensorfile import changed, leaves

MOST_GRADIENT_BYTES = 2 << 30  # of inputs, answers and weights together
LEAST_DEAD_SHARE = 0.25  # of a dimension, below which a part is not worth a word
MOST_PROBED = 24  # parameters, those with the smallest gradients first
HITS = 4  # parameters in a row that matter, after which those with larger gradients do too


@dataclass(frozen=True, slots=True)
class Gradients:
    """First-order effects of one backward pass from random weights on the outputs."""

    inputs: tuple[torch.Tensor | None, ...]  # one a tensor of the inputs
    parameters: dict[str, float | None]  # rms; None where nothing leads from it to an output


def fixed_inputs(subject: Subject) -> Iterator[Finding]:
    """Inputs that are the same whatever the seed."""
    first, second = (list(leaves(given)) for given in subject.inputs[:2])
    fixed = [index for index, pair in enumerate(zip(first, second, strict=False)) if _is_same(*pair)]
    repair = "draw it from torch's generator inside get_inputs"
    if len(fixed) == len(first):
        yield Finding(
            kind=Kind.FIXED_INPUTS,
            severity=Severity.DEGENERATE,
            subject="all inputs" if first else "the inputs (there are none)",
            evidence=f"{len(first)} of {len(first)} tensors are the same bits under two seeds, so an answer "
            "computed once stays right",
            repair=repair,
        )
        return
    for index in fixed:
        yield Finding(
            kind=Kind.FIXED_INPUTS,
            severity=Severity.NOTE,
            subject=_input_name(subject, index),
            evidence="the same bits under two seeds",
            repair=repair,
        )


def dead_inputs(subject: Subject, gradients: Gradients | None) -> Iterator[Finding]:
    """Inputs, or parts of them, that never matter."""
    first, second = (list(leaves(given)) for given in subject.inputs[:2])
    for index, (one, two) in enumerate(zip(first, second, strict=False)):
        if not subject.can_afford() or one.shape != two.shape or one.numel() == 0:
            continue
        other = disturbed(one) if _is_same(one, two) else two
        shift = subject.shift(with_leaf(subject.inputs[0], index, other))
        name = _input_name(subject, index)
        if not shift.is_seen:
            yield Finding(
                kind=Kind.DEAD_INPUT,
                severity=Severity.SUSPICIOUS,
                subject=name,
                evidence=f"another draw of it alone {shift.text}",
                repair="use it, scale it up, or take it out of get_inputs and forward",
            )
        elif gradients is not None and gradients.inputs[index] is not None:
            yield from _dead_parts(subject, index, other, gradients.inputs[index])


def dead_weights(subject: Subject, gradients: Gradients | None) -> Iterator[Finding]:
    """Parameters, buffers and tensor attributes whose value never matters."""
    held = {name: (sort, tensor) for name, sort, tensor in held_tensors(subject.model) if tensor.numel()}
    parameters = [name for name, (sort, _) in held.items() if sort == "parameter"]
    if parameters and subject.can_afford():
        shift = _without(subject, [held[name][1] for name in parameters])
        if not shift.is_seen:
            yield Finding(
                kind=Kind.IGNORED_WEIGHTS,
                severity=Severity.SUSPICIOUS,
                subject=_listed(parameters),
                evidence=f"disturbing all {len(parameters)} parameters by half their size {shift.text}",
                repair="scale the weights up until they matter, or remove what cancels them",
            )
            return
    others = [name for name, (sort, _) in held.items() if sort != "parameter" and "num_batches" not in name]
    for name in others[:MOST_PROBED]:
        yield from _dead(subject, held, [name])
    hits = 0
    for group in _suspects(parameters, gradients)[:MOST_PROBED]:
        found = _dead(subject, held, group)
        hits = 0 if found else hits + 1
        yield from found
        if hits >= HITS:
            break


def neutral_weights(subject: Subject) -> Iterator[Finding]:
    """Parameters that are all 0 or all 1: a program that leaves them out is right, and wrong elsewhere."""
    neutral = [
        f"{name} (all {float(tensor.reshape(-1)[0]):g})"
        for name, sort, tensor in held_tensors(subject.model)
        if sort == "parameter" and tensor.numel() and tensor.is_floating_point() and _is_neutral(tensor)
    ]
    if neutral:
        yield Finding(
            kind=Kind.NEUTRAL_PARAMETER,
            severity=Severity.SUSPICIOUS,
            subject=_listed(neutral),
            evidence=f"{len(neutral)} parameters are 0 or 1 everywhere: a program that ignores them passes",
            repair="draw them in __init__, as in torch.nn.init.normal_(norm.weight, 1.0, 0.2)",
        )


def gradients_of(subject: Subject) -> Gradients | None:
    """One backward pass; None where there is none to be had, or it would take too much memory."""
    tensors = [*leaves(subject.inputs[0]), *subject.model.parameters()]
    if sum(tensor.numel() * tensor.element_size() for tensor in tensors) > MOST_GRADIENT_BYTES:
        return None
    if subject.reference.regime.has_backward or not subject.can_afford(4):
        return None  # with gradients, the inputs hold more than forward takes
    subject.num_forwards += 1
    wanted = [parameter.requires_grad for parameter in subject.model.parameters()]
    try:
        with torch.enable_grad():
            return _backward(subject)
    except (RuntimeError, NotImplementedError, TypeError):  # not everything can be differentiated
        return None
    finally:
        for parameter, was_wanted in zip(subject.model.parameters(), wanted, strict=True):
            parameter.requires_grad_(was_wanted).grad = None


def _backward(subject: Subject) -> Gradients | None:
    inputs = list(
        changed(
            copied(subject.inputs[0]),
            lambda tensor: tensor.requires_grad_() if tensor.is_floating_point() else tensor,
        )
    )
    for parameter in subject.model.parameters():
        parameter.requires_grad_(parameter.is_floating_point())
    torch.manual_seed(subject.seed)
    answer = subject.model(*inputs)
    outputs = [tensor for tensor in leaves(answer) if tensor.requires_grad]
    if not outputs:
        return None
    weighted = sum((tensor * torch.randn_like(tensor)).sum() for tensor in outputs)
    assert isinstance(weighted, torch.Tensor)
    weighted.real.backward() if weighted.is_complex() else weighted.backward()
    return Gradients(
        inputs=tuple(tensor.grad for tensor in leaves(inputs)),
        parameters={
            name: None if parameter.grad is None else float(parameter.grad.double().square().mean().sqrt())
            for name, parameter in subject.model.named_parameters()
        },
    )


def _dead_parts(
    subject: Subject, index: int, other: torch.Tensor, gradient: torch.Tensor | None
) -> Iterator[Finding]:
    """Slices along a dimension of an input without any first-order effect, if disturbing them has none."""
    assert gradient is not None
    kept = list(leaves(subject.inputs[0]))[index]
    for dim, size in enumerate(gradient.shape):
        rest = [axis for axis in range(gradient.dim()) if axis != dim]
        is_dead = (gradient == 0).all(dim=rest) if rest else gradient == 0
        share = float(is_dead.double().mean())
        if size < 2 or share < LEAST_DEAD_SHARE or not subject.can_afford():
            continue
        shape = [size if axis == dim else 1 for axis in range(gradient.dim())]
        shift = subject.shift(
            with_leaf(subject.inputs[0], index, torch.where(is_dead.reshape(shape), other, kept))
        )
        if not shift.is_seen:
            yield Finding(
                kind=Kind.DEAD_PART,
                severity=Severity.SUSPICIOUS,
                subject=_input_name(subject, index),
                evidence=f"{int(is_dead.sum())} of {size} slices along dimension {dim} ({100 * share:.0f}%) "
                f"never matter: another draw of them {shift.text}",
                repair="let the output depend on all of it, or make the input smaller",
            )
            return


def _dead(subject: Subject, held: dict[str, tuple[str, torch.Tensor]], group: list[str]) -> list[Finding]:
    """Whether all of a group together make no difference."""
    if not subject.can_afford():
        return []
    shift = _without(subject, [held[name][1] for name in group])
    if shift.is_seen:
        return []
    return [
        Finding(
            kind=Kind.DEAD_PARAMETER,
            severity=Severity.SUSPICIOUS,
            subject=f"{held[group[0]][0]} {_listed(group)}",
            evidence=f"disturbing it by half its size {shift.text}",
            repair="remove it, or remove what cancels it (a bias before a norm, an output that is unused)",
        )
    ]


def _suspects(parameters: list[str], gradients: Gradients | None) -> list[list[str]]:
    """Groups to be disturbed together, those that matter least first."""
    if gradients is None:
        return [[name] for name in parameters]
    known = gradients.parameters
    cut_off = [name for name in parameters if known.get(name) is None]
    rest = sorted((name for name in parameters if name not in cut_off), key=lambda name: known[name] or 0.0)
    return ([cut_off] if cut_off else []) + [[name] for name in rest]


def _without(subject: Subject, tensors: Iterable[torch.Tensor]) -> Shift:
    with _disturbing(list(tensors)):
        return subject.shift()


@contextmanager
def _disturbing(tensors: list[torch.Tensor]) -> Iterator[None]:
    kept = [tensor.detach().clone() for tensor in tensors]
    try:
        for tensor, value in zip(tensors, kept, strict=True):
            tensor.data.copy_(disturbed(value))
        yield
    finally:
        for tensor, value in zip(tensors, kept, strict=True):
            tensor.data.copy_(value)


def _is_same(one: torch.Tensor, two: torch.Tensor) -> bool:
    return one.shape == two.shape and one.dtype == two.dtype and torch.equal(one, two)


def _is_neutral(tensor: torch.Tensor) -> bool:
    first = float(tensor.reshape(-1)[0])
    return first in (0.0, 1.0) and bool((tensor == first).all())


def _input_name(subject: Subject, index: int) -> str:
    names = subject.reference.input_names()
    num_tensors = len(list(leaves(subject.inputs[0])))
    return f"input {names[index]}" if num_tensors <= len(names) else f"tensor {index} of the inputs"


def _listed(names: list[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
