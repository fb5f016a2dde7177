"""A sized draft as a task's text: Python as a person would write it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from warpsmith.tasks.synth.base import Argument, Domain, Kind
from warpsmith.tasks.synth.compose.bench import Unfit
from warpsmith.tasks.synth.compose.naming import Names, Sizes
from warpsmith.tasks.synth.compose.realising import Placed
from warpsmith.tasks.synth.compose.sizing import LEAST_BATCH, Sized
from warpsmith.tasks.synth.compose.stage import (
    PARAMETERS,
    WITH_TENSOR,
    Glue,
    core_text,
    filled,
    glued_text,
)
from warpsmith.tasks.synth.compose.telling import listed, snake, told
from warpsmith.tasks.synth.compose.values import HELPERS, factor_of, tensor_text

LINE_LENGTH = 100

WANTED: dict[Kind, str] = {
    Kind.GEMM: "hidden", Kind.LAYER: "hidden", Kind.RECURRENT: "hidden", Kind.CONVOLUTION: "out_channels",
    Kind.INDEXING: "vocabulary", Kind.LOSS: "classes",
}  # fmt: skip
"""What a size is called that no input has, by who brings it in."""

FLOATS = frozenset({Domain.NORMAL, Domain.UNIT, Domain.POSITIVE, Domain.SIGNED_UNIT})
FURTHER = ("y", "z", "w", "v", "u", "t", "s", "r", "q", "p")
IN_GLUE: dict[Glue, tuple[str, str]] = {
    Glue.BIAS: ("bias", "0.5 * {values}"),
    Glue.SCALE: ("scale", "1.0 + 0.2 * {values}"),
}
"""A parameter's name, and what it begins as."""


@dataclass(slots=True, kw_only=True)
class _Lines:
    init: list[str] = field(default_factory=list)
    forward: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)  # names of forward's tensors
    values: list[str] = field(default_factory=list)  # what get_inputs makes of each
    imports: list[str] = field(default_factory=list)


def task_text(made: Sized) -> str:
    """The whole file. Raises Unfit if a size grows with the batch in a way that has no name."""
    return _Writer(made).text()


class _Writer:
    def __init__(self, made: Sized) -> None:
        layout = made.draft.layout
        self._made = made
        self._batch = layout.names[0]
        self._taken = Names([self._batch])
        self._sizes = Sizes(layout.names[1:], made.chosen.shape[1:], self._taken)
        self._in_init: dict[str, None] = {}  # sizes that the constructor is given, in order
        self._in_forward: dict[str, None] = {}  # and those that it keeps
        self._lines = _Lines()
        self._formula = "x"

    def text(self) -> str:
        chosen, other = self._made.chosen.placed, self._made.other.placed
        for now, before in zip(chosen, other, strict=True):
            self._stage(now, before, is_last=now is chosen[-1])
        lines = self._lines
        model, functions = self._model(), self._functions()
        body = "\n".join([*model, *functions])
        helpers = [helper for helper in HELPERS if _defined(helper) in body]
        constants = [f"{self._batch.upper()} = {self._made.chosen.batch}"]
        constants += [f"{name.upper()} = {value}" for name, value in self._sizes if _is_used(name, body)]
        imports = ["import torch", *lines.imports, *(["from torch import nn"] if "nn." in body else [])]
        parts = [*_sorted(imports), "", "SCALE = 1.0", *constants]
        parts += [f"\n\n{helper}".rstrip() for helper in helpers]
        return "\n".join([*parts, "", "", body]) + "\n"

    def _stage(self, now: Placed, before: Placed, *, is_last: bool) -> None:
        self._check_alike(now, before)
        stage, wanted = now.stage, WANTED.get(now.stage.seeds[0].kind, "")
        attributes = [
            self._attribute(name, block.init) for name, block in zip(stage.names, now.blocks, strict=True)
        ]
        for block, attribute in zip(now.blocks, attributes, strict=True):
            self._lines.imports += block.imports
            for line in block.init:
                text = filled(line, x="x", attribute=attribute)
                self._lines.init.append(self._sizes.spelled(text, wanted, self._given_to_init))
        if not self._lines.inputs:
            self._input("x", now.blocks[0].input, before.blocks[0].input, 1.0)
        tensors = [self._tensor(index, now, before, wanted) for index in range(len(now.arguments))]
        core = core_text(stage, now.blocks, x="x", attributes=attributes, tensors=tensors)
        core = self._sizes.spelled(core, "", self._kept)
        text = glued_text(stage, core, x="x", tensor=tensors[-1] if tensors else "")
        self._lines.forward.append(f"return {text}" if is_last else f"x = {text}")
        self._tell(now, [tensor.removeprefix("self.") for tensor in tensors])

    def _check_alike(self, now: Placed, before: Placed) -> None:
        for block, other in zip(now.blocks, before.blocks, strict=True):
            if (block.init, block.forward, block.imports) != (other.init, other.forward, other.imports):
                raise Unfit("its text depends on the batch")

    def _attribute(self, name: str, init: Sequence[str]) -> str:
        return self._taken.fresh(snake(name)) if init else snake(name)

    def _tensor(self, index: int, now: Placed, before: Placed, wanted: str) -> str:
        """How forward refers to the tensor, which is made a parameter or an input."""
        argument, other = now.arguments[index], before.arguments[index]
        glue = (
            now.stage.glue if now.stage.glue in WITH_TENSOR and index == len(now.arguments) - 1 else Glue.NONE
        )
        is_fixed = argument == other
        if glue in PARAMETERS:
            if not is_fixed:
                raise Unfit("a parameter would grow with the batch")
            name, begins = IN_GLUE[glue]
            return self._parameter(name, begins.format(values=self._values(argument, other, 1.0, wanted)))
        kind = now.stage.seeds[0].kind
        factor = factor_of(kind, argument, now.given) if glue is Glue.NONE else 1.0
        if is_fixed and glue is Glue.NONE and now.stage.has_parameters and argument.domain in FLOATS:
            name = "weight" if len(argument.shape) > 1 else "vector"
            return self._parameter(name, self._values(argument, other, factor, wanted))
        return self._input(self._input_name(argument), argument, other, factor, wanted)

    def _parameter(self, wanted: str, values: str) -> str:
        name = self._taken.fresh(wanted)
        text = re.sub(r"\b[A-Z][A-Z0-9_]*\b", lambda size: self._given_to_init(size[0].lower()), values)
        self._lines.init.append(f"self.{name} = nn.Parameter({text})")
        return f"self.{name}"

    def _input(self, name: str, argument: Argument, other: Argument, factor: float, wanted: str = "") -> str:
        self._lines.inputs.append(name)
        self._lines.values.append(self._values(argument, other, factor, wanted))
        return name

    def _input_name(self, argument: Argument) -> str:
        named = {Domain.INDEX: "index", Domain.MASK: "mask"}
        free = next((name for name in FURTHER if name not in self._lines.inputs), "y")
        wanted = named.get(argument.domain, free)
        return wanted if wanted not in self._lines.inputs else Names(self._lines.inputs).fresh(wanted)

    def _values(self, argument: Argument, other: Argument, factor: float, wanted: str) -> str:
        shape = [self._grown(*sizes, wanted) for sizes in zip(argument.shape, other.shape, strict=True)]
        bound = self._grown(argument.bound, other.bound, wanted)
        return tensor_text(argument, ", ".join(shape), bound, factor)

    def _grown(self, size: int, other: int, wanted: str) -> str:
        """A size as get_inputs writes it. Raises Unfit if it neither stays nor grows as the batch does."""
        now, before = self._made.chosen.batch, self._made.other.batch
        if size == other:
            name = self._sizes.of(size, wanted or "size")
            return name if name.isdigit() else name.upper()
        if size % now or other % before or size // now != other // before:
            raise Unfit(f"{size} grows otherwise than a batch of {now}")
        times = self._sizes.of(size // now, wanted or "size")
        return self._batch if times == "1" else f"{times.upper()} * {self._batch}"

    def _given_to_init(self, name: str) -> str:
        self._in_init[name] = None
        return name

    def _kept(self, name: str) -> str:
        self._in_forward[name] = None
        return f"self.{self._given_to_init(name)}"

    def _tell(self, now: Placed, tensors: Sequence[str]) -> None:
        self._formula = told(now, self._formula, tensors)

    def _model(self) -> list[str]:
        formula = self._formula
        summary = (
            f"y = {formula}." if len(formula) < LINE_LENGTH - 15 else f"{listed(self._made.draft.operators)}."
        )
        lines = ["class Model(nn.Module):", f'    """{summary}"""', ""]
        if self._in_init or self._lines.init:
            given = "".join(f", {name}" for name in self._in_init)
            lines += [f"    def __init__(self{given}):", "        super().__init__()"]
            lines += [f"        self.{name} = {name}" for name in self._in_forward]
            lines += [f"        {line}" for line in self._lines.init]
            lines += [""]
        lines += [f"    def forward(self, {', '.join(self._lines.inputs)}):"]
        return [*lines, *(f"        {line}" for line in self._lines.forward)]

    def _functions(self) -> list[str]:
        given = ", ".join(name.upper() for name in self._in_init)
        size = f"max({LEAST_BATCH}, int({self._batch.upper()} * SCALE))"
        lines = ["", "", "def get_init_inputs():", f"    return [{given}]"]
        lines += ["", "", "def get_inputs():", f"    {self._batch} = {size}"]
        joined = f"    return [{', '.join(self._lines.values)}]"
        if len(joined) <= LINE_LENGTH:
            return [*lines, joined]
        return [*lines, "    return [", *(f"        {value}," for value in self._lines.values), "    ]"]


def _defined(helper: str) -> str:
    return helper.partition("def ")[2].partition("(")[0] + "("


def _is_used(name: str, body: str) -> bool:
    return re.search(rf"\b{name.upper()}\b", body) is not None


def _sorted(imports: Sequence[str]) -> list[str]:
    return sorted(dict.fromkeys(imports), key=lambda line: (line.startswith("from "), line))
