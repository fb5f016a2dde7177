"""How an operator is called: constructor and call as text over named sizes, and the tensors it takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from warpsmith.tasks.synth.base import Argument, Block, Domain, Shape
from warpsmith.tasks.synth.seeds.sizes import HOLE, bound, evaluated, shape_of

FIXED = ("self", "name", "x")
"""What stays open in a block's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A tensor that the operator takes."""

    name: str
    shape: str  # in terms of sizes, such as "... features"
    domain: Domain = Domain.NORMAL
    bound: str = ""  # for Domain.INDEX: a size

    @property
    def dtype(self) -> str:
        """The type that the domain implies."""
        return {Domain.INDEX: "int64", Domain.MASK: "bool"}.get(self.domain, "float32")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """A size that no tensor gives: one of `among`, as far as `needs` lets it."""

    name: str
    among: tuple[str, ...]
    needs: str = ""  # a condition on the sizes known so far, itself included


@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    """What each name of a pattern is."""

    sizes: dict[str, int]
    leading: Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One way to call an operator.

    In `init` and `forward`, `{self}`, `{name}`, `{x}` and the names of slots stand for themselves,
    every other `{…}` for a size.
    """

    x: Slot
    forward: str
    init: tuple[str, ...] = ()
    slots: tuple[Slot, ...] = ()  # beside x
    draws: tuple[Draw, ...] = ()
    needs: tuple[str, ...] = ()  # conditions on x's own sizes
    imports: tuple[str, ...] = ()

    @property
    def takes_floats(self) -> bool:
        """Whether x is a floating-point tensor, so that another operator's answer may be put in."""
        return self.x.dtype == "float32"

    def sized(self, shape: Shape, choose: Callable[[Sequence[int]], int]) -> Sized | None:
        """Sizes for an x of `shape`, drawn by `choose`; None if it takes no such x."""
        found = bound(self.x.shape, shape)
        if found is None or not all(evaluated(need, found[0]) for need in self.needs):
            return None
        sizes, leading = found
        for draw in self.draws:
            values = [evaluated(choice, sizes) for choice in draw.among]
            fitting = [
                value
                for value in dict.fromkeys(values)
                if value >= 1 and (not draw.needs or evaluated(draw.needs, {**sizes, draw.name: value}))
            ]
            if not fitting:
                return None
            sizes[draw.name] = choose(fitting)
        return Sized(sizes=sizes, leading=leading)

    def block(self, sized: Sized) -> Block:
        """The pattern with numbers for its sizes. Raises ValueError if a tensor would be empty."""
        names = {slot.name: f"{{argument{index}}}" for index, slot in enumerate(self.slots)}
        fill = partial(_with_numbers, names=names, sizes=sized.sizes)
        return Block(
            init=tuple(fill(line) for line in self.init),
            forward=fill(self.forward),
            arguments=tuple(_argument(slot, sized) for slot in self.slots),
            input=_argument(self.x, sized),
            imports=self.imports,
        )


def _argument(slot: Slot, sized: Sized) -> Argument:
    shape = shape_of(slot.shape, sized.sizes, sized.leading)
    if any(size < 1 for size in shape):
        raise ValueError(f"{slot.name} would be of shape {shape}")
    most = evaluated(slot.bound, sized.sizes) if slot.bound else 0
    return Argument(shape=shape, dtype=slot.dtype, domain=slot.domain, bound=most)


def _with_numbers(text: str, *, names: dict[str, str], sizes: dict[str, int]) -> str:
    def value(inner: str) -> str:
        if inner in FIXED:
            return f"{{{inner}}}"
        return names[inner] if inner in names else str(evaluated(inner, sizes))

    return HOLE.sub(lambda hole: value(hole[1]), text)
