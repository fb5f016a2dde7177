"""Drawing a stack: an operator for each place, and what joins them."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

from warpsmith.core import UsageError
from warpsmith.tasks.synth.base import Curriculum, Domain, Kind, Seed
from warpsmith.tasks.synth.compose.bench import Unfit
from warpsmith.tasks.synth.compose.curricula import WEIGHTS, Kinds, places
from warpsmith.tasks.synth.compose.layouts import layouts
from warpsmith.tasks.synth.compose.stage import Draft, Glue, Stage
from warpsmith.tasks.synth.compose.trial import GIVES, OtherDomain, Trial

STACKED = "torch"
"""The library whose operators are stacked. Those of others are composite already, and stand alone."""

RARE = ("torch.special.", "torch.linalg.")
RARE_WEIGHT = 0.25

VANISHING = frozenset({"prod", "cumprod"})
"""Products of as many numbers as large sizes have are 0 in float32."""

NUM_LAYOUTS = 4
NUM_TRIES = 10

BRANCH_PERCENT = 10
GLUE_PERCENT = 22
MOST_GLUE = 2
GLUES: dict[Glue, float] = {
    Glue.BIAS: 3, Glue.SCALE: 2, Glue.RESIDUAL: 4, Glue.INPUT: 3, Glue.ROW: 2, Glue.SCALAR: 3,
}  # fmt: skip
AMOUNTS = (0.1, 0.125, 0.25, 0.5, 0.7, 1.5, 2.0, 3.0)
PARAMETER_PERCENT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The seeds by kind."""

    stacked: dict[Kind, tuple[Seed, ...]]
    alone: tuple[Seed, ...]

    @classmethod
    def of(cls, seeds: Iterable[Seed]) -> Self:
        """Raises UsageError if there are none."""
        found = [seed for seed in seeds if _last(seed) not in VANISHING]
        if not found:
            raise UsageError("there are no seeds to compose tasks of; crawl first")
        stacked: dict[Kind, tuple[Seed, ...]] = {}
        for seed in found:
            if seed.provenance.library == STACKED:
                stacked[seed.kind] = (*stacked.get(seed.kind, ()), seed)
        return cls(stacked=stacked, alone=tuple(s for s in found if s.provenance.library != STACKED))

    def pick(self, kinds: Kinds, rng: random.Random) -> Seed | None:
        """One of these kinds, the kinds by their weights; None if there is none."""
        there = [kind for kind in Kind if kind in kinds and kind in self.stacked]
        if not there:
            return None
        kind = rng.choices(there, [WEIGHTS[kind] for kind in there])[0]
        seeds = self.stacked[kind]
        return rng.choices(seeds, [_weight(seed) for seed in seeds])[0]

    def giving(self, domain: Domain, kinds: Kinds, rng: random.Random) -> Seed | None:
        """One whose answer is of `domain`, whatever it is given."""
        seeds = chain.from_iterable(self.stacked.get(kind, ()) for kind in Kind if kind in kinds)
        found = [seed for seed in seeds if domain in GIVES.get(_last(seed), ())]
        return rng.choice(found) if found else None


def _last(seed: Seed) -> str:
    return seed.provenance.name.rpartition(".")[2]


def _weight(seed: Seed) -> float:
    return RARE_WEIGHT if seed.provenance.name.startswith(RARE) else 1.0


def drafted(shelf: Shelf, curriculum: Curriculum | None, depth: int, rng: random.Random) -> Draft | None:
    """A stack of `depth` operators that ran on small tensors; None if this draw came to nothing."""
    open_places = places(curriculum, depth, rng)
    trial = _begun(shelf, open_places, rng)
    if trial is None:
        return None
    num_tries = NUM_TRIES * depth
    while trial.depth < depth and num_tries > 0:
        num_tries -= 1
        _try_to_add(trial, shelf, open_places[trial.depth :], rng)
    is_whole = trial.depth == depth and (depth == 1 or _is_worth_it(trial, rng))
    return trial.draft if is_whole else None


def alone(seed: Seed, rng: random.Random) -> Draft | None:
    """One seed by itself, without anything put to it."""
    return _first_that_takes(Stage(seeds=(seed,), draws=(_draw(rng),)), rng)


def _first_that_takes(stage: Stage, rng: random.Random) -> Draft | None:
    trial = _on_some_layout(stage, rng)
    return trial.draft if trial is not None else None


def _begun(shelf: Shelf, open_places: Sequence[Kinds], rng: random.Random) -> Trial | None:
    stage = _stage(shelf, open_places, rng, num_glued=0)
    return _on_some_layout(stage, rng) if stage is not None else None


def _on_some_layout(stage: Stage, rng: random.Random) -> Trial | None:
    for layout in layouts(stage.seeds[0].kind, rng)[:NUM_LAYOUTS]:
        trial = Trial(layout)
        try:
            trial.add(stage)
        except Unfit:
            continue
        return trial
    return None


def _try_to_add(trial: Trial, shelf: Shelf, open_places: Sequence[Kinds], rng: random.Random) -> None:
    num_glued = sum(stage.glue is not Glue.NONE for stage in trial.draft.stages)
    stage = _stage(shelf, open_places, rng, num_glued=num_glued)
    if stage is None:
        return
    try:
        trial.add(stage)
    except OtherDomain as error:
        if len(open_places) > 1:
            _adapt(trial, shelf, open_places[0], error.domain, rng)
    except Unfit:
        return


def _adapt(trial: Trial, shelf: Shelf, kinds: Kinds, domain: Domain, rng: random.Random) -> None:
    """Puts an operator on the end whose answers are of the domain that another one wanted."""
    seed = shelf.giving(domain, kinds, rng)
    if seed is None:
        return
    try:
        trial.add(Stage(seeds=(seed,), draws=(_draw(rng),)))
    except Unfit:
        return


def _stage(shelf: Shelf, open_places: Sequence[Kinds], rng: random.Random, *, num_glued: int) -> Stage | None:
    first = shelf.pick(open_places[0], rng)
    if first is None:
        return None
    seeds = [first]
    beside = open_places[1] & {Kind.ELEMENTWISE} if len(open_places) > 1 else frozenset()
    if first.kind is Kind.ELEMENTWISE and rng.randrange(100) < BRANCH_PERCENT:
        second = shelf.pick(beside, rng)
        seeds += [second] if second is not None and second is not first else []
    has_glue = num_glued < MOST_GLUE and rng.randrange(100) < GLUE_PERCENT
    return Stage(
        seeds=tuple(seeds),
        draws=tuple(_draw(rng) for _ in seeds),
        joint=rng.choice("*+"),
        glue=rng.choices(list(GLUES), list(GLUES.values()))[0] if has_glue else Glue.NONE,
        amount=rng.choice(AMOUNTS),
        has_parameters=rng.randrange(100) < PARAMETER_PERCENT,
    )


def _is_worth_it(trial: Trial, rng: random.Random) -> bool:
    """One number out of everything is a loss's answer; of other stacks it is kept seldom."""
    return not trial.is_scalar or trial.draft.kinds[-1] is Kind.LOSS or rng.randrange(100) < 10


def _draw(rng: random.Random) -> int:
    return rng.getrandbits(32)
