"""Which nodes may share a kernel: those linked to a seed, where no path leaves the group and comes back."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from warpsmith.policy.builtin.graph import Graph, Node, Value, View
from warpsmith.policy.builtin.operators import COMPUTE_TYPES, OPERATORS
from warpsmith.policy.builtin.recipes.base import Cost, Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Linking:
    """A recipe's idea of what belongs together.

    `accepts` a node at all; `fuses(view, node)`: an accepted `node` can read `view` of a value made in the
    same kernel;
    `shares(view)`: two nodes reading this same outside view are worth one kernel.
    """

    accepts: Callable[[Node], bool]
    fuses: Callable[[View, Node], bool]
    shares: Callable[[View], bool]


def is_pointwise(node: Node) -> bool:
    """Whether `node` is in the table of operators, on dtypes that C has."""
    known = all(view.dtype in COMPUTE_TYPES for view in node.views)
    return node.op in OPERATORS and node.output.dtype in COMPUTE_TYPES and known


def grow(graph: Graph, remaining: tuple[Node, ...], seed: Node, linking: Linking) -> tuple[Node, ...]:
    """The nodes to compute together with `seed`, in running order. `seed` is always among them."""
    allowed = set(remaining)
    while True:
        linked = _component(graph, allowed, seed, linking)
        members = _convex(graph, linked, linking)
        if seed not in members:
            # The members that the seed has to wait for cannot be fused with it: leave them out.
            allowed = linked - (members & _ancestors(graph, seed))
        elif len(members) == len(linked):
            return graph.in_order(members)
        else:
            allowed = members


def fused_group(
    graph: Graph, nodes: tuple[Node, ...], *, recipe: str, name: str, launches: int, details: object
) -> Group:
    """`nodes` as a group that reads each outside input once and writes each outside output once."""
    inputs, outputs = outside_inputs(nodes), outside_outputs(graph, nodes)
    traffic = sum(value.num_bytes for value in inputs + outputs)
    return Group(
        recipe=recipe,
        name=name,
        nodes=nodes,
        inputs=inputs,
        outputs=outputs,
        cost=Cost(traffic_bytes=traffic, launches=launches),
        details=details,
    )


def outside_inputs(nodes: tuple[Node, ...]) -> tuple[Value, ...]:
    """The values that `nodes` read and do not make, each once, in order of first use."""
    made = {value for node in nodes for value in node.outputs}
    found = [view.value for node in nodes for view in node.views if view.value not in made]
    return tuple(dict.fromkeys(found))


def outside_outputs(graph: Graph, nodes: tuple[Node, ...]) -> tuple[Value, ...]:
    """The values that `nodes` make and others need: other nodes, or the caller of forward."""
    members = set(nodes)
    return tuple(
        value
        for node in nodes
        for value in node.outputs
        if graph.is_returned(value) or any(user not in members for user in graph.users(value))
    )


def _component(graph: Graph, allowed: set[Node], seed: Node, linking: Linking) -> set[Node]:
    """What can be reached from `seed` over links among `allowed` nodes that the recipe accepts."""
    found, frontier, refused = {seed}, [seed], set[Node]()
    while frontier:
        node = frontier.pop()
        for other in _linked(graph, node, allowed, linking):
            if other in found or other in refused:
                continue
            if linking.accepts(other):
                found.add(other)
                frontier.append(other)
            else:
                refused.add(other)
    return found


def _linked(graph: Graph, node: Node, allowed: set[Node], linking: Linking) -> Iterator[Node]:
    """The makers, the users, and those that read the same operand."""
    for view in node.views:
        maker = graph.producer(view.value)
        if maker in allowed and linking.fuses(view, node):
            yield maker
        if linking.shares(view):
            yield from (
                other for other in graph.users(view.value) if other in allowed and view in other.views
            )
    for value in node.outputs:
        for user in allowed.intersection(graph.users(value)):
            # Accepted first: `fuses` may take that for granted, and a pooling has two outputs.
            if linking.accepts(user) and any(
                view.value == value and linking.fuses(view, user) for view in user.views
            ):
                yield user


def _convex(graph: Graph, linked: set[Node], linking: Linking) -> set[Node]:
    """`linked` without the nodes that need a value which a node outside makes from one of the members'."""
    members: set[Node] = set()
    after: set[Node] = set()  # outside, and later than some member
    # What runs before the first of them, or after the last, stands in nobody's way.
    for node in graph.between(linked):
        sources = [(view, maker) for view in node.views if (maker := graph.producer(view.value)) is not None]
        if node in linked and _may_join(node, sources, members, after, linking):
            members.add(node)
        elif any(source in members or source in after for _, source in sources):
            after.add(node)
    return members


def _may_join(
    node: Node, sources: list[tuple[View, Node]], members: set[Node], after: set[Node], linking: Linking
) -> bool:
    if any(source in after for _, source in sources):
        return False
    return all(linking.fuses(view, node) for view, source in sources if source in members)


def _ancestors(graph: Graph, node: Node) -> set[Node]:
    found: set[Node] = set()
    waiting = [node]
    while waiting:
        makers = {graph.producer(view.value) for view in waiting.pop().views}
        new = [maker for maker in makers if maker is not None and maker not in found]
        found.update(new)
        waiting += new
    return found
