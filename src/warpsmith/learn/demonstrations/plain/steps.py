"""A graph in kernels, one after the other: pointwise operators, alone or fused, and reductions."""

from dataclasses import dataclass
from enum import StrEnum

from warpsmith.policy.builtin.graph import Graph, Node, Value
from warpsmith.policy.builtin.recipes.base import Declined
from warpsmith.policy.builtin.recipes.fusion import is_pointwise, outside_inputs, outside_outputs

REDUCTIONS = ("sum", "mean", "amax", "amin")
MAX_ELEMENTS = 2**31 - 1  # indices are ints


class Manner(StrEnum):
    """How well a plain program is made, the best first."""

    ROWS = "rows"  # one kernel, a block a row, that reads its inputs once a reduction
    VECTOR = "vector"  # pointwise operators fused, four elements a thread
    FUSED = "fused"  # pointwise operators fused, an element a thread; a block a reduction's result
    UNFUSED = "unfused"  # a kernel an operator, and a thread a reduction's result


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One kernel. Its nodes are pointwise ones over equally many elements, or one reduction."""

    nodes: tuple[Node, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]

    @property
    def is_reduction(self) -> bool:
        return not is_pointwise(self.nodes[0])


def checked(graph: Graph) -> None:
    """Raises Declined for what no plain kernel does."""
    for node in graph.nodes:
        if is_pointwise(node):
            continue
        if node.op not in REDUCTIONS:
            raise Declined(f"aten.{node.op}", "no plain kernel does it")
        if node.output.dtype != "float32" or node.views[0].dtype != "float32":
            raise Declined(f"aten.{node.op}", "plain reductions are of float32 alone")
    values = {view.value for node in graph.nodes for view in node.views}
    if any(value.numel > MAX_ELEMENTS for value in values):
        raise Declined("forward", "a tensor has more elements than an int counts")


def steps_of(graph: Graph, *, is_fused: bool) -> tuple[Step, ...]:
    """In running order; fused, each operator joins those before it if it reads what they made in order."""
    runs: list[list[Node]] = []
    for node in graph.nodes:
        if runs and is_fused and _joins(node, runs[-1]):
            runs[-1].append(node)
        else:
            runs.append([node])
    return tuple(
        Step(
            nodes=tuple(run),
            inputs=outside_inputs(tuple(run)),
            outputs=outside_outputs(graph, tuple(run)),
        )
        for run in runs
    )


def _joins(node: Node, run: list[Node]) -> bool:
    if not (is_pointwise(node) and is_pointwise(run[0])) or node.output.numel != run[0].output.numel:
        return False
    made = {value for before in run for value in before.outputs}
    return all(view.is_in_order for view in node.views if view.value in made)
