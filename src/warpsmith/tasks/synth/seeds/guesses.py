"""Calls that are tried on a name of which nothing is known."""

from warpsmith.tasks.synth.base import Domain, Kind
from warpsmith.tasks.synth.seeds.candidate import Round
from warpsmith.tasks.synth.seeds.outcome import Reason
from warpsmith.tasks.synth.seeds.pattern import Pattern
from warpsmith.tasks.synth.seeds.protocol import Answered
from warpsmith.tasks.synth.seeds.tables.row import call, module, slot, spelled, x

UNARY = (Domain.NORMAL, Domain.SIGNED_UNIT, Domain.POSITIVE, Domain.UNIT)
PAIRS = (
    (Domain.NORMAL, Domain.NORMAL),
    (Domain.NORMAL, Domain.POSITIVE),
    (Domain.POSITIVE, Domain.NORMAL),
    (Domain.POSITIVE, Domain.POSITIVE),
)

SPATIAL = ("batch channels length", "batch channels height width", "batch channels depth height width")


def guessed_calls(name: str) -> tuple[Round, ...]:
    """Rounds of attempts at a function."""
    rounds: tuple[Round, ...] = (
        (
            tuple(call("{x}", x("...", domain)) for domain in UNARY),
            tuple(call("{x}, dim=-1", x("... features", domain)) for domain in UNARY),
        ),
        tuple(
            tuple(call("{x}, {y}", x(of, first), slot("y", other, second)) for first, second in PAIRS)
            for of, other in (("...", "..."), ("... features", "features"), ("rows features", "rows 1"))
        ),
        (tuple(call("{x}, 0.5", x("...", domain)) for domain in UNARY),),
        (tuple(call("{x}, 1", x("... rows features", domain)) for domain in UNARY),),
        ((call("{x}, {y}, {z}", x("..."), slot("y", "..."), slot("z", "...")),),),
        *(((call("{x}, 2", x(shape)),),) for shape in SPATIAL),
        ((call("{x}", x("... size size", Domain.POSITIVE_DEFINITE)),),),
        ((call("{x}, {y}", x("rows features"), slot("y", "features columns"), columns="features"),),),
        ((call("[{x}, {y}]", x("rows features"), slot("y", "rows features")),),),
    )
    return _spelled(rounds, name)


def guessed_modules(name: str) -> tuple[Round, ...]:
    """Rounds of attempts at a class: without arguments, with a width, with channels, with a window."""
    lines, image = x("... features"), x(SPATIAL[1])
    rounds: tuple[Round, ...] = (
        (tuple(module("", x("...", domain)) for domain in UNARY),),
        (tuple(module("", x("...", first), slot("y", "...", second)) for first, second in PAIRS),),
        ((module("{features}", lines),),),
        ((module("{features}, {out}", lines, out="features, 2 * features"),),),
        *(((module("{channels}", x(shape)),),) for shape in SPATIAL),
        *(((module("{channels}, {out}, 3", x(shape), out="channels, 2 * channels"),),) for shape in SPATIAL),
        *(((module("2", x(shape)),),) for shape in SPATIAL),
        ((module("2, {channels}", image),),),
    )
    return _spelled(rounds, name)


def _spelled(rounds: tuple[Round, ...], name: str) -> tuple[Round, ...]:
    return tuple(
        tuple(tuple(spelled(pattern, name) for pattern in variants) for variants in attempts)
        for attempts in rounds
    )


WORDS = {
    "softm": Kind.SOFTMAX, "loss": Kind.LOSS, "pool": Kind.POOLING, "conv": Kind.CONVOLUTION,
    "pad": Kind.SHAPE, "linalg": Kind.LINALG, "attention": Kind.LAYER, "embedding": Kind.INDEXING,
}  # fmt: skip
"""Parts of names that tell what an operator does better than its answers."""


def kind_seen(name: str, pattern: Pattern, seen: Answered) -> Kind:
    """What an operator is by its answers; by its name where they do not tell."""
    if seen.is_local:
        return Kind.BINARY if pattern.slots else Kind.ELEMENTWISE
    named = next((kind for word, kind in WORDS.items() if word in name.lower()), None)
    if named is not None:
        return named
    if seen.is_smaller:
        return Kind.REDUCTION
    if seen.is_moved:
        return Kind.SHAPE
    return Kind.SCAN if seen.is_causal else Kind.NORM if "norm" in name.lower() else Kind.LAYER


TELLING = (
    Reason.DEPRECATED, Reason.RANDOM, Reason.IN_PLACE, Reason.COMPLEX, Reason.SPARSE, Reason.IDENTITY,
    Reason.NOT_FLOATING, Reason.NO_EFFECT, Reason.NOT_FINITE, Reason.NO_SHAPE, Reason.NOT_A_TENSOR,
    Reason.EMPTY, Reason.HUNG, Reason.CRASHED, Reason.UNDESCRIBED, Reason.UNAVAILABLE, Reason.NO_PATTERN,
)  # fmt: skip
"""Which of several reasons says most about a name, best first."""
