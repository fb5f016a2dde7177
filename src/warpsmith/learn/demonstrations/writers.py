"""Who writes programs to be taught, by name, from the best to the plainest: all qualities are wanted."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from warpsmith.core import Candidate, Precision
from warpsmith.device.base import Gpu
from warpsmith.learn.demonstrations.plain import Manner, plain_program
from warpsmith.policy.builtin.graph import Graph
from warpsmith.policy.builtin.plan import make_plan
from warpsmith.policy.builtin.program import write_program
from warpsmith.policy.builtin.recipes.base import Declined
from warpsmith.policy.builtin.search import coordinates_of, starting_points

Writer = Callable[[Graph, Gpu], Candidate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declines:
    """A writer that does not write this program."""

    writer: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A program that nobody has judged yet."""

    writer: str
    candidate: Candidate


def _plain(manner: Manner) -> Writer:
    return lambda graph, _gpu: plain_program(graph, manner)


def _builtin(place: int) -> Writer:
    """The builtin engineer's guesses at every kernel: 0 its first, -1 its last."""

    def write(graph: Graph, gpu: Gpu) -> Candidate:
        plan = make_plan(graph, gpu)
        if not plan.groups:
            raise Declined("forward", "computes nothing")
        choices = list(starting_points(coordinates_of(plan, gpu, Precision.REFERENCE)))
        return write_program(graph, plan, choices[place])

    return write


WRITERS: dict[str, Writer] = {
    **{manner.value: _plain(manner) for manner in Manner},
    "builtin": _builtin(0),
    "builtin-last": _builtin(-1),
}


def written(graph: Graph, gpu: Gpu, rng: random.Random) -> Iterator[Written | Declines]:
    """What each writer makes of `graph`; in an order of chance, so that the first are of all qualities."""
    names = list(WRITERS)
    rng.shuffle(names)
    for name in names:
        try:
            yield Written(writer=name, candidate=WRITERS[name](graph, gpu))
        except Declined as declined:
            yield Declines(writer=name, why=str(declined))
