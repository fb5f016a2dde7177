"""What a recipe is: it finds nodes it can compute in one go, says how well, and writes the CUDA for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from warpsmith.core import UsageError
from warpsmith.device.base import Gpu
from warpsmith.policy.builtin.graph import Graph, Node, Value


class Declined(UsageError):
    """No recipe covers an operator; the message names it."""

    def __init__(self, operator: str, reason: str) -> None:
        super().__init__(f"{operator}: {reason}")
        self.operator = operator  # "aten.convolution"
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a group is predicted to spend."""

    traffic_bytes: int
    launches: int
    flops: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            traffic_bytes=self.traffic_bytes + other.traffic_bytes,
            launches=self.launches + other.launches,
            flops=self.flops + other.flops,
        )

    def time_us(self, gpu: Gpu) -> float:
        """The time that traffic and launches would take on `gpu`; arithmetic at its fp32 rate if longer."""
        memory_us = self.traffic_bytes / gpu.dram_bytes_s * 1e6
        compute_us = self.flops / gpu.fp32_flops * 1e6
        return max(memory_us, compute_us) + self.launches * gpu.launch_us


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """Nodes that one recipe computes together. `inputs` are read from memory, `outputs` are written to it.

    `name` is unique in its plan: it names the file, the launcher and the kernels.
    """

    recipe: str
    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    cost: Cost
    details: object = None  # the recipe's own reading of the nodes; nobody else looks at it


Setting = bool | int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way of writing a group: "float4, 256 threads, 4 rows a block"."""

    name: str
    settings: Mapping[str, Setting] = field(default_factory=dict)

    def number(self, key: str) -> int:
        """A setting that is an integer. Raises KeyError if there is none of that name."""
        return int(self.settings[key])


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A group as text: a CUDA file, and the lines of `model_new.py` that use it.

    `forward` names every value by `Value.expression`, makes the group's outputs and calls `cuda_extension`.
    """

    file: str | None  # "kernels/rmsnorm_gelu.cu"; None where another part's file serves
    source: str
    forward: tuple[str, ...]
    note: str  # for the README: what the kernel does, in a sentence or two
    setup: tuple[str, ...] = ()  # at the end of __init__
    headers: tuple[
        tuple[str, str], ...
    ] = ()  # (path, text) of files that several parts include, each written once
    helpers: tuple[
        str, ...
    ] = ()  # top-level Python of model_new.py that several parts call, each written once


class Recipe(Protocol):
    """One family of kernels. Stateless."""

    @property
    def name(self) -> str: ...

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        """The best group of `remaining` nodes (in running order) that this recipe covers, if any."""
        ...

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        """Ways of writing `group`, best guess first; never empty."""
        ...

    def emit(self, group: Group, variant: Variant) -> Part:
        """The text of one variant."""
        ...
