"""Which recipe computes which nodes: a cover of the graph, the group that saves most first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin.graph import Graph, Node, Shortcut, Value
from warpsmith.policy.builtin.recipes import RECIPES
from warpsmith.policy.builtin.recipes.base import Cost, Declined, Group, Recipe

TAKEN = "taken"  # the operator of a node that stands for a whole group
FIRST = ("conv",)  # recipes whose groups need no comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Groups in an order in which they can run; together they cover every node once."""

    groups: tuple[Group, ...]
    shortcuts: tuple[Shortcut, ...] = ()  # by which the graph had been shortened

    @property
    def cost(self) -> Cost:
        return sum((group.cost for group in self.groups), Cost(traffic_bytes=0, launches=0))


def make_plan(graph: Graph, gpu: Gpu, recipes: Iterable[Recipe] = RECIPES) -> Plan:
    """The cover found by taking, again and again, the group that saves most time over its nodes one by one.

    Raises Declined, naming the operator, if a node is covered by no recipe.
    """
    remaining = graph.nodes
    rest = graph
    groups: list[Group] = []
    standing: dict[str, Group] = {}
    while remaining:
        offers = _offers(rest, remaining, recipes, standing)
        if not offers:
            raise Declined(f"aten.{remaining[0].op}", "no recipe yet")
        best = max(offers, key=lambda group: _saving_us(group, gpu))
        groups.append(best)
        rest = _condensed(rest, best)
        remaining = tuple(node for node in rest.nodes if node.op != TAKEN)
        standing = {group.recipe: group for group in offers if _still_stands(group, best, rest)}
    return Plan(groups=_named(_in_running_order(graph, groups)), shortcuts=graph.shortcuts)


def _offers(
    graph: Graph, remaining: tuple[Node, ...], recipes: Iterable[Recipe], standing: Mapping[str, Group]
) -> list[Group]:
    """The best group of each recipe, from its last offer where that stands. While there are convolutions,
    those alone.

    They take what follows them at no cost, which others would take from them: each recipe offers one group at
    a time, and the largest kernel of pointwise nodes may well be what follows another convolution.
    """
    offers: list[Group] = []
    for recipe in recipes:
        group = standing.get(recipe.name) or recipe.match(graph, remaining)
        if group is not None and recipe.name in FIRST:
            return [group]
        if group is not None:
            offers.append(group)
    return offers


def _still_stands(offer: Group, taken: Group, rest: Graph) -> bool:
    """Whether an offer is as good as before: what was taken since has only made others smaller.

    Unless it shares nodes with it, or a path from one of its nodes to another now runs through it.
    """
    if set(offer.nodes) & set(taken.nodes):
        return False
    members, outside = set(offer.nodes), set[Value]()
    made = {value for node in offer.nodes for value in node.outputs}
    for node in rest.between(offer.nodes):
        if node in members:
            if any(view.value in outside for view in node.views):
                return False
        elif any(view.value in made or view.value in outside for view in node.views):
            outside.update(node.outputs)
    return True


def recipe_of(group: Group, recipes: Iterable[Recipe] = RECIPES) -> Recipe:
    """The recipe that made `group`."""
    return next(recipe for recipe in recipes if recipe.name == group.recipe)


def _saving_us(group: Group, gpu: Gpu) -> float:
    """Time of the nodes as kernels of their own, less the group's; their arithmetic is the same."""
    apart = sum((_alone(node) for node in group.nodes), Cost(traffic_bytes=0, launches=0))
    return apart.time_us(gpu) - replace(group.cost, flops=0).time_us(gpu)


def _alone(node: Node) -> Cost:
    values = {view.value for view in node.views} | set(node.outputs)
    return Cost(traffic_bytes=sum(value.num_bytes for value in values), launches=1)


def _condensed(graph: Graph, group: Group) -> Graph:
    """`graph` with the group as one node, so that no later group can come both before and after it."""
    members = set(group.nodes)
    inputs = tuple(view for node in group.nodes for view in node.views if view.value in group.inputs)
    whole = Node(op=TAKEN, inputs=inputs, outputs=group.outputs)
    waiting = [whole, *(node for node in graph.nodes if node not in members)]
    unmade = {value for node in waiting for value in node.outputs}
    ordered: list[Node] = []
    while waiting:
        node = next(node for node in waiting if not any(view.value in unmade for view in node.views))
        waiting.remove(node)
        ordered.append(node)
        unmade -= set(node.outputs)
    return replace(graph, nodes=tuple(ordered))


def _in_running_order(graph: Graph, groups: list[Group]) -> list[Group]:
    ready = {value for group in groups for value in group.inputs if graph.producer(value) is None}
    waiting, ordered = list(groups), list[Group]()
    while waiting:
        group = next(group for group in waiting if all(value in ready for value in group.inputs))
        waiting.remove(group)
        ordered.append(group)
        ready |= {value for node in group.nodes for value in node.outputs}
    return ordered


def _named(groups: list[Group]) -> tuple[Group, ...]:
    """Groups with distinct names: softmax, softmax_2, …"""
    seen: dict[str, int] = {}
    named: list[Group] = []
    for group in groups:
        seen[group.name] = seen.get(group.name, 0) + 1
        suffix = f"_{seen[group.name]}" if seen[group.name] > 1 else ""
        named.append(replace(group, name=f"{group.name}{suffix}"))
    return tuple(named)
