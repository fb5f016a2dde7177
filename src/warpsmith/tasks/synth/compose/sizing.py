"""Sizes for a draft: on the meta device, so that the modelled eager time on a GPU falls into a band."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import torch

from warpsmith.judge.model import Launch, program_us
from warpsmith.judge.oracle.record import record
from warpsmith.tasks.synth.base import Argument, Block, Kind, Shape
from warpsmith.tasks.synth.compose.bench import Bench, Unfit
from warpsmith.tasks.synth.compose.recipe import Recipe
from warpsmith.tasks.synth.compose.stage import WITH_TENSOR, Draft, Stage, arguments_of, glue_shape

Tensor = torch.Tensor

NUM_WIDTHS = 4
NUM_BATCHES = 3
LEAST_BATCH = 2
LEAST_CHOSEN = 16
"""A smaller batch would leave SCALE nothing to shrink."""

MOST_STEPS = 64
"""Of a recurrent layer: each is launches of its own, here and in eager mode."""

MOST_FIXED_BYTES = 1 << 30
"""Of weights, which SCALE does not shrink."""

FIRST_ELEMENTS = 1 << 24
"""Of the first tensor, where the search begins."""


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
    memory_bytes: int

    @property
    def batch(self) -> int:
        """The size that grows."""
        return self.shape[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    """A draft on sizes within the band, and on another batch, so that it shows what grows with it."""

    draft: Draft
    chosen: Realised
    other: Realised


def sized(draft: Draft, recipe: Recipe, rng: random.Random) -> Sized | None:
    """The draft with its modelled time log-uniform in the band, as far as memory lets it; or None."""
    for _ in range(NUM_WIDTHS):
        rest = draft.layout.sizes(rng)
        share = rng.random()
        try:
            found = _in_band(draft, rest, share, recipe)
        except Unfit:
            continue
        if found is not None:
            return found
    return None


def _in_band(draft: Draft, rest: Shape, share: float, recipe: Recipe) -> Sized | None:
    least_us, most_us = (1e3 * bound for bound in recipe.band_ms)
    batch = nice(FIRST_ELEMENTS / math.prod(rest))
    last = realised(draft, (batch, *rest), recipe)
    # Where memory ends, as if both grew with the batch alone: every further round corrects it.
    reach_us = min(most_us, 0.95 * last.us * recipe.memory_bytes / max(last.memory_bytes, 1))
    target_us = least_us * (max(reach_us, least_us) / least_us) ** share
    for _ in range(NUM_BATCHES):
        batch = nice(batch * target_us / last.us)
        if batch == last.batch:
            batch = nice(1.3 * batch + 1) if last.us < target_us else max(LEAST_BATCH, batch // 2)
        if batch == last.batch:
            return None
        now = realised(draft, (batch, *rest), recipe)
        if _is_within(now, recipe) and _fixed_bytes(now, last) <= MOST_FIXED_BYTES:
            return Sized(draft=draft, chosen=now, other=last)
        last = now
    return None


def _is_within(now: Realised, recipe: Recipe) -> bool:
    least_us, most_us = (1e3 * bound for bound in recipe.band_ms)
    return (
        least_us <= now.us <= most_us
        and now.memory_bytes <= recipe.memory_bytes
        and now.batch >= LEAST_CHOSEN
    )


def _fixed_bytes(now: Realised, last: Realised) -> float:
    """What does not grow with the batch, if all else grows in proportion to it."""
    slope = (now.memory_bytes - last.memory_bytes) / (now.batch - last.batch)
    return now.memory_bytes - slope * now.batch


def nice(number: float) -> int:
    """The next smaller number of at most three leading bits, but no batch of one."""
    whole = max(LEAST_BATCH, min(int(number), 1 << 31))
    step = 1 << max(0, whole.bit_length() - 3)
    return whole // step * step


def realised(draft: Draft, shape: Shape, recipe: Recipe) -> Realised:
    """The draft on a first tensor of `shape`. Raises Unfit."""
    bench = Bench("meta")
    placed: list[Placed] = []
    launches: list[Launch] = []
    num_bytes = 0
    x: Tensor | None = None
    for stage in draft.stages:
        blocks = stage.blocks(shape if x is None else tuple(x.shape), is_first=x is None)
        if blocks is None:
            raise Unfit("does not take these sizes")
        if x is None:
            x = bench.tensor(blocks[0].input)
            num_bytes += x.numel() * x.element_size()
        is_recurrent = any(seed.kind is Kind.RECURRENT for seed in stage.seeds)
        if is_recurrent and x.dim() > 2 and x.shape[1] > MOST_STEPS:
            raise Unfit("too many steps")
        step = _Step(bench, stage, blocks, index=len(placed))
        given = tuple(x.shape)
        x, arguments = step.run(x, has_channels=draft.has_channels)
        placed.append(
            Placed(stage=stage, blocks=blocks, arguments=arguments, given=given, gives=tuple(x.shape))
        )
        launches += step.launches
        num_bytes += step.num_bytes
    if not launches:
        raise Unfit("nothing but views")
    us = program_us(launches, recipe.peaks)
    return Realised(placed=tuple(placed), shape=shape, us=us, memory_bytes=num_bytes)


class _Step:
    """One stage, run once and recorded."""

    def __init__(self, bench: Bench, stage: Stage, blocks: tuple[Block, ...], *, index: int) -> None:
        self.launches: list[Launch] = []
        self.num_bytes = 0  # of all but what it was given
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
        tensors = [self._bench.tensor(argument) for argument in arguments]
        core = self._bench.core(self._stage, self._blocks, self._attributes, tensors)
        y = self._recorded(lambda: core(x), [x], [*tensors, *parameters])
        if self._stage.glue not in WITH_TENSOR:
            return self._recorded(lambda: self._bench.glued(self._stage, x, y, None), [x, y], []), arguments
        last = Argument(shape=glue_shape(self._stage, tuple(y.shape), has_channels=has_channels))
        tensor = self._bench.tensor(last)
        answer = self._recorded(lambda: self._bench.glued(self._stage, x, y, tensor), [x, y], [tensor])
        return answer, (*arguments, last)

    def _recorded(self, call: Callable[[], Tensor], known: list[Tensor], fresh: list[Tensor]) -> Tensor:
        """The answer of `call`; the memory of all but `known` is counted."""
        answers: list[Tensor] = []
        found = record(lambda: answers.append(call()), [*known, *fresh])
        num_known = len({tensor.untyped_storage()._cdata for tensor in known})
        self.launches += found.launches
        self.num_bytes += sum(piece.num_bytes for piece in found.memory[num_known:])
        return answers[0]
