"""A seed: an operator that was seen to execute, with the patterns that did."""

import random
from dataclasses import dataclass

from warpsmith.tasks.synth.base import Block, Kind, Provenance, Shape
from warpsmith.tasks.synth.seeds.example import example_source
from warpsmith.tasks.synth.seeds.pattern import Pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator of a library. Data alone: it can be written, read and compared."""

    provenance: Provenance
    kind: Kind
    patterns: tuple[Pattern, ...]
    aliases: tuple[str, ...] = ()  # names under which the same answers were found
    is_traced: bool = True  # it has an answer on the meta device

    def block(self, shape: Shape, rng: random.Random) -> Block | None:
        """What it becomes on a floating-point x of `shape`; None if it does not take such an x."""
        return self._block(shape, rng, [pattern for pattern in self.patterns if pattern.takes_floats])

    def standalone(self, shape: Shape, rng: random.Random) -> Block | None:
        """As `block`, but x may also be integers or truth values: the block's input says which."""
        return self._block(shape, rng, list(self.patterns))

    def _block(self, shape: Shape, rng: random.Random, patterns: list[Pattern]) -> Block | None:
        for pattern in rng.sample(patterns, len(patterns)):
            sized = pattern.sized(shape, rng.choice)
            if sized is not None:
                return pattern.block(sized)
        return None

    def example(self) -> str:
        """A whole task source at small size that executes by itself."""
        return example_source(self.patterns[0], self.provenance)
