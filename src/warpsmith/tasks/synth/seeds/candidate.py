"""A name to be tried, with the calls that may fit it."""

from dataclasses import dataclass

from warpsmith.tasks.synth.base import Domain, Kind, Provenance
from warpsmith.tasks.synth.seeds.pattern import Pattern

EDGES: dict[Domain, tuple[float, ...]] = {
    Domain.NORMAL: (0.0, 6.0, -6.0),
    Domain.UNIT: (0.0, 1.0 - 2**-24),
    Domain.POSITIVE: (0.5, 1.5),
    Domain.SIGNED_UNIT: (0.0, 0.99, -0.99),
}
"""Values that an operator must stand on a domain: with a hundred million elements they do occur."""


Round = tuple[tuple[Pattern, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A name with what is tried on it.

    An attempt is one call on several domains, of which the first that stays finite counts. Attempts come in
    rounds: when one of a round executes, the next round is left out.
    """

    provenance: Provenance
    rounds: tuple[Round, ...]
    kind: Kind | None = None  # None: from what it is seen to do
    must_trace: bool = True  # whether it has to answer on the meta device


def edges(pattern: Pattern) -> tuple[tuple[float, ...], ...]:
    """For each input, values at the edges of its domain."""
    return tuple(EDGES.get(slot.domain, ()) for slot in (pattern.x, *pattern.slots))
