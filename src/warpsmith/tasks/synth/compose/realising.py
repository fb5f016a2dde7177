"""A draft on sizes, on the meta device: its shapes, its modelled time, and what memory it takes."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from warpsmith.judge.clock.model import Launch, program_us
from warpsmith.judge.oracle.record import record
from warpsmith.tasks.synth.base import Argument, Block, Kind, Shape
from warpsmith.tasks.synth.compose.bench import Bench, Unfit
from warpsmith.tasks.synth.compose.recipe import Recipe
from warpsmith.tasks.synth.compose.room import Footprint
from warpsmith.tasks.synth.compose.stage import WITH_TENSOR, Draft, Stage, arguments_of, glue_shape

Tensor = torch.Tensor

MOST_STEPS = 64
"""Of a recurrent layer: each is launches of its own, here and in eager mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A stage on shapes."""

    stage: Stage
    blocks: tuple[Block, ...]
    arguments: tuple[Argument, ...]  # of the blocks in order, then the glue's
    given: Shape
    gives: Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Realised:
    """A draft on one set of sizes, and what it would take."""

    placed: tuple[Placed, ...]
    shape: Shape  # of the first tensor
    us: float
    footprint: Footprint

    @property
    def batch(self) -> int:
        """The size that grows."""
        return self.shape[0]


def realised(draft: Draft, shape: Shape, recipe: Recipe) -> Realised:
    """The draft on a first tensor of `shape`. Raises Unfit."""
    bench, used = Bench("meta"), _Used()
    placed: list[Placed] = []
    x: Tensor | None = None
    for stage in draft.stages:
        blocks = stage.blocks(shape if x is None else tuple(x.shape), is_first=x is None)
        if blocks is None:
            raise Unfit("does not take these sizes")
        if x is None:
            x = bench.tensor(blocks[0].input)
            used.inputs.append(_num_bytes(x))
        is_recurrent = any(seed.kind is Kind.RECURRENT for seed in stage.seeds)
        if is_recurrent and x.dim() > 2 and x.shape[1] > MOST_STEPS:
            raise Unfit("too many steps")
        step = _Step(bench, stage, blocks, used, index=len(placed))
        given = tuple(x.shape)
        x, arguments = step.run(x, has_channels=draft.has_channels)
        placed.append(
            Placed(stage=stage, blocks=blocks, arguments=arguments, given=given, gives=tuple(x.shape))
        )
    if x is None or not used.launches:
        raise Unfit("nothing but views")
    us = program_us(used.launches, recipe.peaks)
    return Realised(placed=tuple(placed), shape=shape, us=us, footprint=used.footprint(x))


@dataclass(slots=True, kw_only=True)
class _Used:
    """What all stages together launch and hold."""

    launches: list[Launch] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)  # bytes of each; small parameters may be among them
    others: list[int] = field(default_factory=list)  # bytes of each further tensor, weights among them

    def footprint(self, answer: Tensor) -> Footprint:
        pieces = (*self.inputs, *self.others)
        return Footprint(
            inputs=sum(self.inputs),
            answer=_num_bytes(answer),
            largest=max(pieces),
            total=sum(pieces),
        )


def _num_bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


class _Step:
    """One stage, run once and recorded."""

    def __init__(
        self, bench: Bench, stage: Stage, blocks: tuple[Block, ...], used: _Used, *, index: int
    ) -> None:
        self._used = used
        self._bench = bench
        self._stage = stage
        self._blocks = blocks
        self._attributes = [f"part{index}_{place}" for place in range(len(blocks))]

    def run(self, x: Tensor, *, has_channels: bool) -> tuple[Tensor, tuple[Argument, ...]]:
        """Its answer, and what tensors it took beside x. Raises Unfit."""
        parameters = [
            tensor
            for block, attribute in zip(self._blocks, self._attributes, strict=True)
            for tensor in self._bench.prepare(block, attribute)
        ]
        arguments = arguments_of(self._blocks)
        tensors = [self._input(argument) for argument in arguments]
        core = self._bench.core(self._stage, self._blocks, self._attributes, tensors)
        y = self._recorded(lambda: core(x), [x, *tensors], parameters)
        if self._stage.glue not in WITH_TENSOR:
            return self._recorded(lambda: self._bench.glued(self._stage, x, y, None), [x, y], []), arguments
        last = Argument(shape=glue_shape(self._stage, tuple(y.shape), has_channels=has_channels))
        tensor = self._input(last)
        answer = self._recorded(lambda: self._bench.glued(self._stage, x, y, tensor), [x, y, tensor], [])
        return answer, (*arguments, last)

    def _input(self, argument: Argument) -> Tensor:
        tensor = self._bench.tensor(argument)
        self._used.inputs.append(_num_bytes(tensor))
        return tensor

    def _recorded(self, call: Callable[[], Tensor], known: list[Tensor], fresh: list[Tensor]) -> Tensor:
        """The answer of `call`; the memory of all but `known` is counted."""
        answers: list[Tensor] = []
        found = record(lambda: answers.append(call()), [*known, *fresh])
        num_known = len({tensor.untyped_storage()._cdata for tensor in known})
        self._used.launches += found.launches
        self._used.others += [piece.num_bytes for piece in found.memory[num_known:]]
        return answers[0]
