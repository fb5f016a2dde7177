"""Growing a stack on small tensors with real numbers: what is not finite or does not vary is left out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from warpsmith.tasks.synth.base import Argument, Domain, Kind
from warpsmith.tasks.synth.compose.bench import Bench, Unfit
from warpsmith.tasks.synth.compose.curricula import POINTWISE
from warpsmith.tasks.synth.compose.layouts import Layout
from warpsmith.tasks.synth.compose.stage import (
    WITH_TENSOR,
    Draft,
    Glue,
    Stage,
    arguments_of,
    glue_shape,
)
from warpsmith.tasks.synth.compose.values import factor_of

Tensor = torch.Tensor

GIVES: dict[str, frozenset[Domain]] = {
    **dict.fromkeys(("sigmoid", "Sigmoid", "expit", "ndtr"), frozenset({Domain.UNIT, Domain.POSITIVE})),
    **dict.fromkeys(
        ("softmax", "Softmax", "softmin", "Softmin"), frozenset({Domain.UNIT, Domain.PROBABILITY})
    ),
    **dict.fromkeys(("softsign", "Softsign"), frozenset({Domain.SIGNED_UNIT})),
    **dict.fromkeys(("softplus", "Softplus", "exp", "exp2", "cosh"), frozenset({Domain.POSITIVE})),
}  # fmt: skip
"""Domains that an operator's answer is in, by the last part of its name."""

GROWN = 1.5
"""How much larger an answer is than what was given, when sums are thought to be its reason."""

LARGEST = 1e12
"""More than this, in the louder one of the runs, and the next exponential or square is not finite."""

LEAST_SPREAD = 1e-4
MOST_EQUAL = 0.9


class OtherDomain(Unfit):
    """An operator takes numbers of a domain that are not given."""

    def __init__(self, domain: Domain) -> None:
        super().__init__(f"takes {domain} numbers only")
        self.domain = domain


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Three runs of the stack so far: two alike on other numbers, one as loud as large sizes would be."""

    one: Tensor
    other: Tensor
    loud: Tensor

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.one, self.other, self.loud


class Trial:
    """A stack that grows by what fits on its end."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._bench = Bench("cpu")
        self._stages: list[Stage] = []
        self._run: _Run | None = None
        self._known: frozenset[Domain] = frozenset()

    @property
    def draft(self) -> Draft:
        """The stack so far."""
        return Draft(layout=self._layout, stages=tuple(self._stages))

    @property
    def depth(self) -> int:
        """How many operators it has."""
        return len(self.draft.operators)

    @property
    def is_scalar(self) -> bool:
        """Whether its answer is one number, on which nothing can be stacked."""
        return self._run is not None and self._run.one.numel() == 1

    def add(self, stage: Stage) -> None:
        """Puts `stage` on the end. Raises Unfit, and then the stack is as before."""
        if self.is_scalar:
            raise Unfit("nothing is stacked on one number")
        shape = self._layout.small if self._run is None else tuple(self._run.one.shape)
        blocks = stage.blocks(shape, is_first=self._run is None)
        if blocks is None:
            raise Unfit(f"does not take {shape}")
        run = self._given([block.input for block in blocks])
        place = self.depth
        attributes = [f"part{place + index}" for index in range(len(blocks))]
        for block, attribute in zip(blocks, attributes, strict=True):
            self._bench.prepare(block, attribute)
        kind = stage.seeds[0].kind
        tensors = [
            self._bench.tensor(argument, factor_of(kind, argument, shape))
            for argument in arguments_of(blocks)
        ]
        core = self._bench.core(stage, blocks, attributes, tensors)
        answers = [core(x) for x in run.tensors]
        _check(answers, run)
        stage, answers = self._glued(stage, run, answers)
        self._run = _louder(kind, run, answers)
        self._known = (
            GIVES.get(stage.names[0].rpartition(".")[2], frozenset()) if _is_plain(stage) else frozenset()
        )
        self._stages.append(stage)

    def _given(self, inputs: Sequence[Argument]) -> _Run:
        first = inputs[0]
        if any((other.domain, other.dtype) != (first.domain, first.dtype) for other in inputs):
            raise Unfit("two operators side by side take other numbers")
        if self._run is None:
            one, other = (self._bench.tensor(first) for _ in range(2))
            return _Run(one=one, other=other, loud=one)
        if first.domain is not Domain.NORMAL and first.domain not in self._known:
            raise OtherDomain(first.domain)
        return self._run

    def _glued(self, stage: Stage, run: _Run, answers: list[Tensor]) -> tuple[Stage, list[Tensor]]:
        """With its glue, or without where that does not fit."""
        x, y = run.one, answers[0]
        is_alike = x.shape == y.shape and x.dtype == y.dtype
        if y.numel() == 1 or (stage.glue is Glue.RESIDUAL and not is_alike):
            stage = replace(stage, glue=Glue.NONE)
        tensor = None
        if stage.glue in WITH_TENSOR:
            shape = glue_shape(stage, tuple(y.shape), has_channels=self.draft.has_channels)
            tensor = self._bench.tensor(Argument(shape=shape))
        glued = [self._bench.glued(stage, *pair, tensor) for pair in zip(run.tensors, answers, strict=True)]
        return stage, glued


def _is_plain(stage: Stage) -> bool:
    return len(stage.seeds) == 1 and stage.glue is Glue.NONE


def _check(answers: Sequence[Tensor], run: _Run) -> None:
    """Raises Unfit unless the answers are finite, vary from place to place and depend on what is given."""
    one, other, loud = answers
    if one.dtype is not torch.float32 or one.numel() == 0:
        raise Unfit(f"{one.dtype}")
    if not bool(torch.isfinite(torch.stack([answer.abs().max() for answer in answers])).all()):
        raise Unfit("not finite")
    if float(loud.abs().max()) > LARGEST:
        raise Unfit("too large")
    if float((one - other).abs().max()) <= LEAST_SPREAD * float(one.abs().max()):
        raise Unfit("does not depend on what is given")
    if one.numel() > 1 and any(
        float(answer.max() - answer.min()) <= LEAST_SPREAD * float(answer.abs().max())
        for answer in (one, loud)
    ):
        raise Unfit("constant")
    if one.numel() > 15 and float((one == one.median()).float().mean()) > MOST_EQUAL:
        raise Unfit("nearly constant")
    if one.shape == run.one.shape and torch.allclose(one, run.one, rtol=LEAST_SPREAD):
        raise Unfit("returns what it is given")


def _louder(kind: Kind, run: _Run, answers: Sequence[Tensor]) -> _Run:
    """What grew by summing up small sizes grows more on large ones: the square of it, as sizes go."""
    one, other, loud = answers
    before = float(run.one.float().square().mean().sqrt())
    growth = float(one.square().mean().sqrt()) / max(before, 1e-6)
    if kind not in POINTWISE and run.one.is_floating_point() and growth > GROWN:
        loud = loud * min(growth, 30.0) ** 2
    return _Run(one=one, other=other, loud=loud)
