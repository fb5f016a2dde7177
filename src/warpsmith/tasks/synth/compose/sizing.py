"""Sizes for a draft, so that its modelled eager time on a GPU falls into a band."""

import math
import random
from dataclasses import dataclass

from warpsmith.tasks.synth.base import Shape
from warpsmith.tasks.synth.compose.bench import Unfit
from warpsmith.tasks.synth.compose.realising import Realised, realised
from warpsmith.tasks.synth.compose.recipe import Recipe
from warpsmith.tasks.synth.compose.stage import Draft

NUM_WIDTHS = 4
NUM_BATCHES = 3
LEAST_BATCH = 2
LEAST_CHOSEN = 16
"""A smaller batch would leave SCALE nothing to shrink."""

MOST_FIXED_BYTES = 1 << 30
"""Of weights, which SCALE does not shrink."""

FIRST_ELEMENTS = 1 << 24
"""Of the first tensor, where the search begins."""

NUM_GUESSES = 3
NEARLY = 0.95  # of the room: the next round may come out a little above what it aims at


@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    """A draft on sizes within the band, and on another batch, so that it shows what grows with it."""

    draft: Draft
    chosen: Realised
    other: Realised


def sized(draft: Draft, recipe: Recipe, rng: random.Random) -> Sized | None:
    """The draft with its modelled time log-uniform in the band, as far as memory lets it; or None.

    A time is drawn from all of the band, and the first of a few widths is taken on which memory reaches that
    far. Where it does on none, the time is drawn anew, from what the furthest of them reaches.
    """
    wanted_us = recipe.at_us(rng.random())
    share = rng.random()
    options: list[_Reach] = []
    for _ in range(NUM_WIDTHS):
        rest = draft.layout.sizes(rng)
        try:
            options.append(_reach(draft, rest, wanted_us, recipe))
        except Unfit:
            continue
        if options[-1].us >= wanted_us:
            break
    for option in sorted(options, key=lambda option: -option.us):
        target_us = wanted_us if option.us >= wanted_us else recipe.at_us(share, option.us)
        try:
            found = _in_band(draft, option.last, target_us, recipe)
        except Unfit:
            continue
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reach:
    """The longest time that memory leaves room for with the batch alone growing, or one that is enough."""

    us: float
    last: Realised


def _reach(draft: Draft, rest: Shape, wanted_us: float, recipe: Recipe) -> _Reach:
    """Raises Unfit. As if all were in proportion to the batch: weights are not, so a guess is corrected."""
    batch = nice(FIRST_ELEMENTS / math.prod(rest))
    for _ in range(NUM_GUESSES):
        last = realised(draft, (batch, *rest), recipe)
        times = NEARLY / recipe.room.share(last.footprint)
        batch = nice(last.batch * times)
        if last.us * times >= wanted_us or batch == last.batch:
            break
    return _Reach(us=last.us * times, last=last)


def _in_band(draft: Draft, last: Realised, target_us: float, recipe: Recipe) -> Sized | None:
    rest = last.shape[1:]
    for _ in range(NUM_BATCHES):
        batch = nice(last.batch * target_us / last.us)
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
        least_us <= now.us <= most_us and recipe.room.share(now.footprint) <= 1 and now.batch >= LEAST_CHOSEN
    )


def _fixed_bytes(now: Realised, last: Realised) -> float:
    """What does not grow with the batch, if all else grows in proportion to it."""
    slope = (now.footprint.total - last.footprint.total) / (now.batch - last.batch)
    return now.footprint.total - slope * now.batch


def nice(number: float) -> int:
    """The next smaller number of at most three leading bits, but no batch of one."""
    whole = max(LEAST_BATCH, min(int(number), 1 << 31))
    step = 1 << max(0, whole.bit_length() - 3)
    return whole // step * step
