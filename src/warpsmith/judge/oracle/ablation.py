"""Which of a reference's operators make no difference to its answer."""

import math
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from warpsmith.core.audit import Finding, Kind, Severity
from warpsmith.judge.operators import Operator
from warpsmith.judge.oracle.flow import FEW, SPARSE, Facts, Site, Trace, computes, tensors_of
from warpsmith.judge.oracle.subject import Shift, Subject, disturbed

FEW_DEAD = 8  # elements: bookkeeping of shapes is smaller
GUARD = 1e-3  # an operator that changes its operand by less guards against rare values, as an epsilon does


class Way(Enum):
    """How an operator is done away with."""

    NOISE = "noise"  # half its result's size is added to its result
    SKIP = "skip"  # it gives back its first operand


class Ablator(TorchDispatchMode):
    """Runs everything but the operators of one site as it is."""

    def __init__(self, order: Sequence[Site], site: Site, way: Way) -> None:
        TorchDispatchMode.__init__(self)
        self._order = order
        self._site = site
        self._way = way
        self._num_seen = 0
        self.change = 0.0  # largest that was made to a result, of its size

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its whole compiler, which takes seconds

    def __torch_dispatch__(
        self, func: Operator, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if not (computes(func) and self._is_meant()):
            return func(*args, **kwargs)
        given = next(tensors_of((args, kwargs)), None)
        given = given.clone() if given is not None and self._way is Way.SKIP else None
        out = func(*args, **kwargs)
        is_in_place = func._schema.is_mutable
        return _mapped(out, lambda tensor: self._replaced(tensor, given, is_in_place=is_in_place))

    def _is_meant(self) -> bool:
        index, self._num_seen = self._num_seen, self._num_seen + 1
        return index < len(self._order) and self._order[index] == self._site

    def _replaced(
        self, tensor: torch.Tensor, given: torch.Tensor | None, *, is_in_place: bool
    ) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        other = disturbed(tensor) if given is None else given.reshape(tensor.shape)
        self.change = max(self.change, _relative(other, tensor))
        return tensor.copy_(other) if is_in_place else other


def telltale_operators(trace: Trace) -> Iterator[Finding]:
    """What one run shows of its operators."""
    yield from _dead(trace)
    for site, facts in trace.sites.items():
        if facts.is_dead or facts.num_elements < FEW * facts.num_runs:
            continue
        if facts.is_identity and facts.is_inexact:
            yield _identity(site, facts)
        elif facts.is_constant:
            yield _constant(site, facts)
        if facts.density <= SPARSE:
            yield _sparse(site, facts)


def idle_operators(subject: Subject, trace: Trace, skipped: list[str]) -> Iterator[Finding]:
    """Operators whose result may be disturbed, or which may be left out; the largest first."""
    sites = [
        (site, facts)
        for site, facts in trace.sites.items()
        if not (facts.is_dead or facts.is_identity or facts.is_constant) and facts.is_inexact
    ]
    sites.sort(key=lambda item: -item[1].num_elements)
    for done, (site, facts) in enumerate(sites):
        if not subject.can_afford(2):
            skipped.append(f"{len(sites) - done} of {len(sites)} operators were not ablated: no time left")
            return
        noise, _ = _ablated(subject, trace, site, Way.NOISE)
        if not noise.is_seen:
            yield _cancelled(site, noise)
        elif facts.can_be_skipped:
            skip, change = _ablated(subject, trace, site, Way.SKIP)
            if not skip.is_seen and change > GUARD:
                yield _redundant(site, skip)


def _ablated(subject: Subject, trace: Trace, site: Site, way: Way) -> tuple[Shift, float]:
    ablator = Ablator(trace.order, site, way)
    with ablator:
        shift = subject.shift()
    return (shift, ablator.change) if ablator.change else (Shift(math.inf, 0.0), 0.0)


def _dead(trace: Trace) -> Iterator[Finding]:
    """One finding a line of the task's file."""
    by_line: dict[tuple[int, str], list[tuple[Site, Facts]]] = {}
    for site, facts in trace.sites.items():
        if facts.is_dead and facts.num_elements >= FEW_DEAD:
            by_line.setdefault((site.line, "" if site.line else site.module), []).append((site, facts))
    for group in by_line.values():
        num_elements = sum(facts.num_elements for _, facts in group)
        num_calls = sum(facts.num_runs for _, facts in group)
        yield Finding(
            kind=Kind.DEAD_OPERATOR,
            severity=Severity.SUSPICIOUS,
            subject=", ".join(dict.fromkeys(site.text for site, _ in group)),
            evidence=f"nothing that leads to the output reads the {num_elements} elements that "
            f"{num_calls} calls write",
            repair="return what it computes as well, or remove it",
        )


def _identity(site: Site, facts: Facts) -> Finding:
    return Finding(
        kind=Kind.IDENTITY_OPERATOR,
        severity=Severity.SUSPICIOUS,
        subject=site.text,
        evidence=f"in all of its {facts.num_runs} calls the result is bit for bit an operand",
        repair="widen the range of what reaches it (randn for rand, a larger scale, another bound) so that "
        "it has something to do, or remove it",
    )


def _constant(site: Site, facts: Facts) -> Finding:
    return Finding(
        kind=Kind.CONSTANT_OPERATOR,
        severity=Severity.SUSPICIOUS,
        subject=site.text,
        evidence=f"in all of its {facts.num_runs} calls the result is one number everywhere, though an "
        "operand is not",
        repair="let it see more than one element, or values on both sides of its bounds",
    )


def _sparse(site: Site, facts: Facts) -> Finding:
    form = "a diagonal matrix" if facts.is_diagonal else "nearly empty"
    return Finding(
        kind=Kind.SPARSE_OPERAND,
        severity=Severity.SUSPICIOUS,
        subject=site.text,
        evidence=f"an operand is {form}: {100 * facts.density:.2g}% of its elements are not zero",
        repair="write the cheap form as the baseline (a product with a diagonal is a scaling of rows), or "
        "fill the operand",
    )


def _cancelled(site: Site, shift: Shift) -> Finding:
    return Finding(
        kind=Kind.CANCELLED_OPERATOR,
        severity=Severity.SUSPICIOUS,
        subject=site.text,
        evidence=f"noise of half its result's size, added to it, {shift.text}",
        repair="remove what cancels it or saturates after it, or scale it up until it matters",
    )


def _redundant(site: Site, shift: Shift) -> Finding:
    return Finding(
        kind=Kind.REDUNDANT_OPERATOR,
        severity=Severity.SUSPICIOUS,
        subject=site.text,
        evidence=f"giving back its first operand instead {shift.text}",
        repair="remove it; or, if it guards against overflow, give inputs that need the guard",
    )


def _relative(other: torch.Tensor, tensor: torch.Tensor) -> float:
    """How far the two are apart, of the second's size."""
    size = float(tensor.double().square().mean().sqrt()) if tensor.numel() else 0.0
    apart = float((other.double() - tensor.double()).square().mean().sqrt()) if tensor.numel() else 0.0
    return apart / size if size else apart


def _mapped(out: Any, change: Any) -> Any:
    if isinstance(out, torch.Tensor):
        return change(out)
    if isinstance(out, tuple | list):
        return type(out)(_mapped(item, change) for item in out)
    return out
