"""A pattern as a whole task source: readable Python in KernelBench's format."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from warpsmith.tasks.synth.base import Domain, Provenance
from warpsmith.tasks.synth.seeds.pattern import FIXED, Pattern, Sized, Slot
from warpsmith.tasks.synth.seeds.sizes import HOLE, names_in, split


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What the names in shapes are in an example, and which of the drawn sizes is taken."""

    by_name: Mapping[str, int]
    num_leading: int  # for shapes that leave it open, the last dimension included
    draw: int  # an index: 0 for the first of what may be drawn, -1 for the last


SMALL = Sizes(
    by_name={
        "batch": 2, "rows": 6, "columns": 10, "length": 16, "heads": 4, "channels": 8, "depth": 10,
        "height": 12, "width": 14, "features": 24, "hidden": 64, "size": 6,
        "inner": 128, "side": 16, "tokens": 18,
    },
    num_leading=2, draw=0,
)  # fmt: skip
"""Small, and mostly different, so that a confusion of two shows."""

OTHER = Sizes(
    by_name={
        "batch": 3, "rows": 10, "columns": 14, "length": 36, "heads": 2, "channels": 16, "depth": 12,
        "height": 16, "width": 18, "features": 32, "hidden": 128, "size": 8,
        "inner": 512, "side": 32, "tokens": 22,
    },
    num_leading=3, draw=-1,
)  # fmt: skip
"""A second example, so that no pattern holds at the first one's sizes alone."""

POSITIVE_DEFINITE = '''

def positive_definite(*shape):
    """Random symmetric matrices with eigenvalues from 1 to about 5."""
    factor = torch.randn(shape)
    return factor @ factor.mT / shape[-1] + torch.eye(shape[-1])
'''

LEADING_NAMES = ("batch", "heads", "rows")

VALUES = {
    Domain.NORMAL: "torch.randn({shape})",
    Domain.UNIT: "torch.rand({shape})",
    Domain.POSITIVE: "torch.rand({shape}) + 0.5",
    Domain.SIGNED_UNIT: "1.98 * torch.rand({shape}) - 0.99",
    Domain.PROBABILITY: "torch.softmax(torch.randn({shape}), dim=-1)",
    Domain.POSITIVE_DEFINITE: "positive_definite({shape})",
    Domain.INDEX: "torch.randint({bound}, ({shape},))",
    Domain.MASK: "torch.rand({shape}) < 0.5",
}
"""Python that draws a tensor: `shape` are its sizes with commas between them."""


class NoExample(ValueError):
    """A pattern does not fit its own small sizes."""


def example_source(pattern: Pattern, provenance: Provenance, sizes: Sizes = SMALL) -> str:
    """A task around one call of `pattern`, sizes as constants on top. Raises NoExample."""
    is_open, words = split(pattern.x.shape)
    num_leading = max(0, sizes.num_leading - len(words)) if is_open else 0
    leading = tuple(name for name in LEADING_NAMES if name not in words)[-num_leading:] if num_leading else ()
    shape = tuple(int(word) if word.isdigit() else sizes.by_name.get(word, 4) for word in (*leading, *words))
    sized = pattern.sized(shape, lambda choices: choices[sizes.draw])
    if sized is None:
        raise NoExample(f"{provenance.name} takes no x of shape {shape}")
    return _Source(pattern=pattern, title=provenance.name, sized=sized, leading=leading).text()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    pattern: Pattern
    title: str
    sized: Sized
    leading: tuple[str, ...]  # names of the leading dimensions

    def text(self) -> str:
        imports = ("import torch", "from torch import nn", *self.pattern.imports)
        needs_matrices = any(slot.domain is Domain.POSITIVE_DEFINITE for slot in self._tensors)
        return "\n".join(
            (
                f'"""{self.title} alone."""\n',
                *imports,
                "",
                *(f"{name.upper()} = {value}" for name, value in self._constants()),
                *((POSITIVE_DEFINITE.strip("\n").join(("\n\n", "")),) if needs_matrices else ()),
                *self._model(),
                *self._functions(),
            )
        )

    @property
    def _tensors(self) -> tuple[Slot, ...]:
        return (self.pattern.x, *self.pattern.slots)

    @property
    def _attribute(self) -> str:
        last = self.title.rpartition(".")[2]
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last).lower()

    def _constants(self) -> list[tuple[str, int]]:
        values = dict(zip(self.leading, self.sized.leading, strict=True)) | self.sized.sizes
        spoken = " ".join((*self._in_tensors(), *self._parameters()))
        return [(name, value) for name, value in values.items() if re.search(rf"\b{name}\b", spoken)]

    def _in_tensors(self) -> list[str]:
        words = [word for slot in self._tensors for word in (*split(slot.shape)[1], slot.bound or "1")]
        return [*self.leading, *(name for word in words for name in names_in(word))]

    def _sizes_in(self, *texts: str) -> list[str]:
        tensors = {slot.name for slot in self._tensors}
        holes = [hole for text in texts for hole in HOLE.findall(text) if hole not in (*FIXED, *tensors)]
        return list(dict.fromkeys(name for hole in holes for name in names_in(hole)))

    def _parameters(self) -> list[str]:
        """The sizes that the constructor is given."""
        return self._sizes_in(*self.pattern.init, self.pattern.forward)

    def _filled(self, text: str, *, owner: str) -> str:
        tensors = {slot.name for slot in self._tensors}

        def value(inner: str) -> str:
            if inner in ("self", *tensors):
                return inner
            if inner == "name":
                return self._attribute
            return re.sub(r"[A-Za-z_]\w*", lambda name: owner + name[0], inner)

        return HOLE.sub(lambda hole: value(hole[1]), text)

    def _model(self) -> list[str]:
        parameters, kept = self._parameters(), self._sizes_in(self.pattern.forward)
        lines = ["", "", "class Model(nn.Module):", f'    """{self.title}."""', ""]
        if parameters or self.pattern.init:
            lines += [f"    def __init__(self{''.join(f', {name}' for name in parameters)}):"]
            lines += ["        super().__init__()"]
            lines += [f"        self.{name} = {name}" for name in kept]
            lines += [f"        {self._filled(line, owner='')}" for line in self.pattern.init]
            lines += [""]
        inputs = ", ".join(slot.name for slot in self._tensors)
        call = self._filled(self.pattern.forward, owner="self.")
        return [*lines, f"    def forward(self, {inputs}):", f"        return {call}"]

    def _functions(self) -> list[str]:
        init = ", ".join(name.upper() for name in self._parameters())
        inputs = ", ".join(self._values(slot) for slot in self._tensors)
        return [
            *("", "", "def get_init_inputs():", f"    return [{init}]"),
            *("", "", "def get_inputs():", f"    return [{inputs}]", ""),
        ]

    def _values(self, slot: Slot) -> str:
        is_open, words = split(slot.shape)
        sizes = (*(self.leading if is_open else ()), *words)
        shape = ", ".join(_spaced(size).upper() for size in sizes)
        return VALUES[slot.domain].format(shape=shape or "()", bound=_spaced(slot.bound).upper())


def _spaced(word: str) -> str:
    return re.sub(r"(//|[-+*%])", r" \1 ", word)
