"""Shapes that a task's first tensor may have: named sizes, the first of which grows with SCALE."""

import random
from dataclasses import dataclass

from warpsmith.tasks.synth.base import Kind, Shape

WIDTHS = (512, 768, 1000, 1024, 1536, 2048, 3072, 4096, 5120, 8192)
LENGTHS = (128, 196, 256, 384, 512, 1024, 2048)
CHANNELS = (32, 48, 64, 96, 128, 192, 256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Names of sizes from the first to the last. A name that stands twice is one size."""

    names: tuple[str, ...]
    small: Shape  # on which a stack is tried with real numbers
    choices: tuple[tuple[int, ...], ...]  # for each name but the first

    def sizes(self, rng: random.Random) -> Shape:
        """Sizes of a task, without the first. Different names get different sizes, so that each has one."""
        drawn: dict[str, int] = {}
        for name, choices in zip(self.names[1:], self.choices, strict=True):
            taken = set(drawn.values())
            value = rng.choice([size for size in choices if size not in taken])
            drawn.setdefault(name, value)
        return tuple(drawn[name] for name in self.names[1:])


VECTOR = Layout(names=("elements",), small=(96,), choices=())
ROWS = Layout(names=("rows", "features"), small=(12, 32), choices=((*WIDTHS, 11008, 16384, 32768),))
TOKENS = Layout(names=("batch", "length", "features"), small=(4, 16, 32), choices=(LENGTHS, WIDTHS[:8]))
SEQUENCE = Layout(
    names=("batch", "length", "features"),
    small=(4, 16, 32),
    choices=((16, 24, 48, 64), (128, 256, 512, 768)),
)
SIGNAL = Layout(
    names=("batch", "channels", "length"), small=(4, 16, 24),
    choices=(CHANNELS, (512, 1000, 1024, 2048, 4096, 8192, 16384)),
)  # fmt: skip
SQUARE_IMAGE = Layout(
    names=("batch", "channels", "size", "size"), small=(4, 16, 12, 12),
    choices=(CHANNELS, *((28, 56, 80, 112, 160, 224, 320),) * 2),
)  # fmt: skip
IMAGE = Layout(
    names=("batch", "channels", "height", "width"), small=(4, 16, 12, 18),
    choices=(CHANNELS, (40, 72, 120, 135, 180, 240), (60, 80, 160, 200, 320)),
)  # fmt: skip
VOLUME = Layout(
    names=("batch", "channels", "depth", "height", "width"), small=(3, 16, 10, 12, 14),
    choices=((16, 24, 32, 48), (12, 20, 28), (36, 40, 56, 64), (44, 52, 60, 80)),
)  # fmt: skip
HEADS = Layout(
    names=("batch", "heads", "length", "features"), small=(3, 4, 16, 32),
    choices=((8, 12, 16, 32), (256, 384, 512, 1024, 2048), (64, 96, 128)),
)  # fmt: skip
MATRICES = Layout(
    names=("batch", "size", "size"), small=(3, 8, 8), choices=((16, 32, 48, 64, 96, 128, 256),) * 2
)

USUAL = ((ROWS, 9), (TOKENS, 5), (SQUARE_IMAGE, 4), (IMAGE, 1), (HEADS, 1), (VECTOR, 0.3))
SPATIAL = ((SQUARE_IMAGE, 6), (IMAGE, 3), (SIGNAL, 3), (VOLUME, 2))
BY_KIND: dict[Kind, tuple[tuple[Layout, float], ...]] = {
    Kind.CONVOLUTION: SPATIAL,
    Kind.POOLING: SPATIAL,
    Kind.NORM: ((ROWS, 5), (TOKENS, 5), (SQUARE_IMAGE, 3), (SIGNAL, 1), (VOLUME, 1)),
    Kind.GEMM: ((ROWS, 6), (TOKENS, 4), (HEADS, 1), (MATRICES, 0.5)),
    Kind.LAYER: ((SEQUENCE, 1), (TOKENS, 4), (HEADS, 1), (SQUARE_IMAGE, 0.3)),
    Kind.RECURRENT: ((SEQUENCE, 4), (ROWS, 1)),
    Kind.LINALG: ((MATRICES, 6), (ROWS, 1), (TOKENS, 0.5)),
    Kind.SHAPE: (*USUAL, *SPATIAL),
}


def layouts(kind: Kind, rng: random.Random) -> list[Layout]:
    """Those that suit an operator of `kind`, each once, the likelier ones sooner; then all others."""
    options = BY_KIND.get(kind, USUAL)
    found = sorted(options, key=lambda option: rng.random() ** (1 / option[1]), reverse=True)
    rest = [layout for layout, _ in (*USUAL, *SPATIAL, (MATRICES, 1))]
    return list(dict.fromkeys([*(layout for layout, _ in found), *rest]))
