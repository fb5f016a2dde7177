"""The few words that the tables of call patterns are written in."""

from dataclasses import dataclass, replace

from warpsmith.tasks.synth.base import Domain, Kind
from warpsmith.tasks.synth.seeds.pattern import Draw, Pattern, Slot

SPATIAL = {1: "length", 2: "height width", 3: "depth height width"}
"""Names of the sizes of images, by their number of dimensions."""

CALLEE = "@"
"""Stands for the operator's own name in a pattern's text."""

FUNCTIONAL = "import torch.nn.functional as F"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The patterns of one operator, each an attempt of its own."""

    kind: Kind
    patterns: tuple[Pattern, ...]


def slot(name: str, shape: str, domain: Domain = Domain.NORMAL, *, below: str = "") -> Slot:
    """A tensor; `below` bounds integers, and makes it one of integers."""
    return Slot(name=name, shape=shape, domain=Domain.INDEX if below else domain, bound=below)


def x(shape: str, domain: Domain = Domain.NORMAL, *, below: str = "") -> Slot:
    """The tensor x."""
    return slot("x", shape, domain, below=below)


def call(arguments: str, of: Slot, *slots: Slot, needs: str = "", take: str = "", **draws: str) -> Pattern:
    """A function of `arguments`. `take` is what of several answers is taken, such as "[0]".

    A draw is written as "3, 5, 7" or "3, 5, 7 if kernel <= length".
    """
    return Pattern(
        x=of, forward=f"{CALLEE}({arguments}){take}", slots=slots, needs=_needs(needs), draws=_draws(draws)
    )


def module(
    arguments: str, of: Slot, *slots: Slot, needs: str = "", apply: str = "", take: str = "", **draws: str
) -> Pattern:
    """A module made of `arguments`; called with x and the slots, or as `apply` says."""
    inputs = ", ".join(f"{{{one.name}}}" for one in (of, *slots))
    return Pattern(
        x=of, init=(f"{{self}}.{{name}} = {CALLEE}({arguments})",),
        forward=apply or f"{{self}}.{{name}}({inputs}){take}",
        slots=slots, needs=_needs(needs), draws=_draws(draws),
    )  # fmt: skip


def rows(kind: Kind, table: dict[str, Pattern | tuple[Pattern, ...]]) -> dict[str, Row]:
    """A table by full names, such as "torch.nn.Linear"."""
    many = {name: found if isinstance(found, tuple) else (found,) for name, found in table.items()}
    return {
        name: Row(kind=kind, patterns=tuple(spelled(pattern, name) for pattern in found))
        for name, found in many.items()
    }


def spelled(pattern: Pattern, name: str) -> Pattern:
    """`pattern` with the operator's name for the callee, as a task would spell it."""
    short = name.replace("torch.nn.functional.", "F.").replace("torch.nn.", "nn.")
    return replace(
        pattern,
        init=tuple(line.replace(CALLEE, short) for line in pattern.init),
        forward=pattern.forward.replace(CALLEE, short),
        imports=(*pattern.imports, *((FUNCTIONAL,) if short.startswith("F.") else ())),
    )


def _needs(needs: str) -> tuple[str, ...]:
    return (needs,) if needs else ()


def _draws(draws: dict[str, str]) -> tuple[Draw, ...]:
    return tuple(_draw(name, text) for name, text in draws.items())


def _draw(name: str, text: str) -> Draw:
    among, _, needs = text.partition(" if ")
    return Draw(name=name, among=tuple(one.strip() for one in among.split(",")), needs=needs)
