"""What a module computes: values, the nodes that make them, and how a node reads a value.

A value is stored contiguously. Expanding, permuting, slicing and reshaping are no nodes: they are the strides
of the `View` through which a node reads. Numbers that the module's construction fixed are plain numbers.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

Shape = tuple[int, ...]
Number = bool | int | float


class Source(StrEnum):
    """Where a value comes from."""

    INPUT = "input"  # an argument of forward
    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"  # made by the constructor, or by forward out of nothing; see `Constant`
    NODE = "node"


class Shortcut(StrEnum):
    """A rule by which a program does less arithmetic than the module as it is written."""

    TOTAL_OF_PRODUCT = "the sum over a product's columns is a product with one vector"
    ONCE = "an idempotent operator is applied once, not again"
    ONE_FACTOR = "two factors are one"
    MEAN_OF_RANDOM = "random numbers drawn in forward stand at their mean: no right answer depends on them"
    UNREAD = "operators whose results nobody reads are left out"


ITEM_BYTES = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A contiguous tensor. `name` is unique in its graph and a legal name in Python and in C.

    A constant that is a `progression` (first, step) need not be read: element k is first + k * step.
    """

    name: str
    shape: Shape
    dtype: str  # torch's name: "float32", "int64", "bool"
    source: Source
    path: str | None = None  # of a parameter or buffer: its name in the state_dict
    progression: tuple[Number, Number] | None = None

    def __hash__(self) -> int:
        return hash(self.name)  # planning looks values up all the time

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def num_bytes(self) -> int:
        return self.numel * ITEM_BYTES[self.dtype]

    @property
    def expression(self) -> str:
        """How `ModelNew.forward` writes it: `self.norm.weight`, `self.layers["0"].bias`, or its name."""
        if self.source in (Source.INPUT, Source.NODE) or self.path is None:
            return self.name
        steps = (f'["{step}"]' if step.isdigit() else f".{step}" for step in self.path.split("."))
        return "self" + "".join(steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How a value is read: element (i, j, …) lies at offset + i*strides[0] + j*strides[1] + … of it."""

    value: Value
    shape: Shape
    strides: tuple[int, ...]  # in elements; 0 repeats
    offset: int = 0

    @classmethod
    def whole(cls, value: Value) -> "View":
        """All of `value`, as it lies."""
        return cls(value=value, shape=value.shape, strides=contiguous_strides(value.shape))

    @property
    def dtype(self) -> str:
        return self.value.dtype

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def is_in_order(self) -> bool:
        """Reads every element of the value once, in the order in which they lie (a reshape at most)."""
        if self.offset or self.numel != self.value.numel:
            return False
        expected = contiguous_strides(self.shape)
        return all(s == e for n, s, e in zip(self.shape, self.strides, expected, strict=True) if n != 1)


def contiguous_strides(shape: Shape) -> tuple[int, ...]:
    """The strides, in elements, of a tensor of this shape that lies in row-major order."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


Operand = View | Number | str | None | tuple["Operand", ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Node:
    """One operator. `op` is ATen's name without its overload ("add", "linear", "amax").

    `inputs` follow the operator's schema with every default filled in; a pointwise node's views all have the
    output's shape. A reduction ("sum", "mean", "amax", "amin", "prod") has one input and the attribute
    `axes`; its output keeps no reduced axis. Nodes are equal only to themselves.
    """

    op: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Value, ...]
    attributes: Mapping[str, Operand] = field(default_factory=dict)

    @property
    def output(self) -> Value:
        """The only output."""
        (value,) = self.outputs
        return value

    @cached_property
    def views(self) -> tuple[View, ...]:
        """The views among the inputs, in order; those inside lists too."""
        return tuple(_views(self.inputs))


def _views(operands: tuple[Operand, ...]) -> list[View]:
    found: list[View] = []
    for operand in operands:
        if isinstance(operand, View):
            found.append(operand)
        elif isinstance(operand, tuple):
            found.extend(_views(operand))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of forward: a tensor's value, or the number (or None) that the task always passes."""

    name: str
    content: Value | Number | str | None
    default: str | None = None  # as source text


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A tensor that no state_dict carries, and the Python expression that makes it (no device in it)."""

    value: Value
    expression: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """What a user of the module sees: how it is built and called, and the names in its state_dict."""

    class_doc: str
    constructor: str  # parameters after self, as source text: "features: int, eps: float = 1e-5"
    arguments: tuple[Argument, ...]
    state: tuple[Value, ...]  # parameters and persistent buffers, used or not, in state_dict order
    constants: tuple[Constant, ...] = ()
    frozen: frozenset[str] = frozenset()  # paths of parameters that need no gradient
    settings: Mapping[str, Number | str | None] = field(
        default_factory=dict
    )  # constructor arguments, as traced


@dataclass(frozen=True, kw_only=True, eq=False)
class Graph:
    """A module's forward: nodes in an order in which they can run, and what it returns.

    `output_structure` is a Python expression over {0}, {1}, …, the places in `outputs`: "({0}, {1})".
    """

    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Operand, ...]
    output_structure: str
    surface: Surface
    shortcuts: tuple[Shortcut, ...] = ()

    def users(self, value: Value) -> tuple[Node, ...]:
        """The nodes that read `value`, in order."""
        return self._users.get(value, ())

    def producer(self, value: Value) -> Node | None:
        """The node that makes `value`; None for inputs, parameters, buffers and constants."""
        return self._producers.get(value)

    def in_order(self, nodes: Iterable[Node]) -> tuple[Node, ...]:
        """`nodes` in running order."""
        return tuple(sorted(nodes, key=self._places.__getitem__))

    def between(self, nodes: Iterable[Node]) -> tuple[Node, ...]:
        """The graph's nodes from the first of `nodes` to the last, both among them."""
        places = [self._places[node] for node in nodes]
        return self.nodes[min(places) : max(places) + 1]

    def is_returned(self, value: Value) -> bool:
        """Whether forward returns `value`, or a view of it."""
        return value in self._returned

    @cached_property
    def _users(self) -> Mapping[Value, tuple[Node, ...]]:
        users: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(view.value for view in node.views):
                users.setdefault(value, []).append(node)
        return {value: tuple(nodes) for value, nodes in users.items()}

    @cached_property
    def _producers(self) -> Mapping[Value, Node]:
        return {value: node for node in self.nodes for value in node.outputs}

    @cached_property
    def _places(self) -> Mapping[Node, int]:
        return {node: place for place, node in enumerate(self.nodes)}

    @cached_property
    def _returned(self) -> frozenset[Value]:
        return frozenset(view.value for view in _views(self.outputs))


def live(nodes: list[Node], outputs: tuple[Operand, ...]) -> tuple[Node, ...]:
    """The nodes that the outputs depend on, in order."""
    wanted = {operand.value.name for operand in outputs if isinstance(operand, View)}
    kept: list[Node] = []
    for node in reversed(nodes):
        if any(value.name in wanted for value in node.outputs):
            kept.append(node)
            wanted |= {view.value.name for view in node.views}
    return tuple(reversed(kept))
