"""One operator with what is pointwise before and after it, for recipes that know how to do that one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import Graph, Node, View
from warpsmith.policy.builtin.recipes.base import Group
from warpsmith.policy.builtin.recipes.fusion import Linking, fused_group, grow, is_pointwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapped:
    """`before` makes single elements of the heart's operands, `after` needs single elements of its result.

    `beside` are nodes that the same kernel computes from the same operands.
    """

    before: tuple[Node, ...]
    heart: Node
    beside: tuple[Node, ...] = ()
    after: tuple[Node, ...] = ()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All of them, in an order in which they can run."""
        return (*self.before, self.heart, *self.beside, *self.after)

    def operands(self, nodes: tuple[Node, ...]) -> tuple[View, ...]:
        """What `nodes` read from memory."""
        made = {value for node in self.nodes for value in node.outputs}
        return tuple(view for node in nodes for view in node.views if view.value not in made)

    def group(self, graph: Graph, *, recipe: str, launches: int = 1) -> Group:
        """As a group, named after the heart and what comes last."""
        last = dict.fromkeys(node.op for node in self.after)
        name = "_".join([self.heart.op.strip("_"), *list(last)[-2:]])
        return fused_group(graph, self.nodes, recipe=recipe, name=name, launches=launches, details=self)


def wrap(
    graph: Graph,
    remaining: tuple[Node, ...],
    heart: Node,
    *,
    before: Callable[[Node], bool],
    after: Callable[[Node], bool],
) -> Wrapped:
    """`heart` with as many nodes around it as the recipe accepts."""
    earlier = nodes_before(graph, remaining, {heart}, before)
    rest = tuple(node for node in remaining if node not in earlier)
    return Wrapped(before=earlier, heart=heart, after=_after(graph, rest, heart, after))


def most_nodes(found: Iterable[Wrapped]) -> Wrapped | None:
    """The one to take first: others may then no longer take its nodes."""
    return max(found, key=lambda wrapped: len(wrapped.nodes), default=None)


def nodes_before(
    graph: Graph, remaining: tuple[Node, ...], hearts: set[Node], accepts: Callable[[Node], bool]
) -> tuple[Node, ...]:
    """The accepted pointwise nodes whose results are needed for `hearts` alone, in running order."""
    allowed, members = set(remaining), set(hearts)
    frontier = list(hearts)
    while frontier:
        makers = {graph.producer(view.value) for view in frontier.pop().views}
        for node in makers:
            if node in allowed and node not in members and _is_for(graph, node, members) and accepts(node):
                members.add(node)
                frontier.append(node)
    return graph.in_order(members - hearts)


def _is_for(graph: Graph, node: Node, members: set[Node]) -> bool:
    """Whether single elements of a pointwise node's result are needed by `members` and nobody else."""
    if not is_pointwise(node) or graph.is_returned(node.output):
        return False
    users = graph.users(node.output)
    seen_by = [view for user in users for view in user.views if view.value == node.output]
    return members.issuperset(users) and all(view.is_in_order for view in seen_by)


def _after(
    graph: Graph, remaining: tuple[Node, ...], heart: Node, accepts: Callable[[Node], bool]
) -> tuple[Node, ...]:
    """The accepted pointwise nodes over all of `heart`'s only result, in running order."""
    users = graph.users(heart.output)
    if not any(is_pointwise(user) and user in remaining for user in users):
        return ()
    shape, numel = heart.output.shape, heart.output.numel

    def is_over_result(node: Node) -> bool:
        if node is heart:
            return True
        if not is_pointwise(node) or node.output.numel != numel or not accepts(node):
            return False
        return all(views.reshape(view, shape) is not None for view in node.views)

    linking = Linking(
        accepts=is_over_result,
        fuses=lambda view, node: node is not heart and view.is_in_order,
        shares=lambda _view: False,
    )
    return tuple(node for node in grow(graph, remaining, heart, linking) if node is not heart)
