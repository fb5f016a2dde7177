"""Reading attention out of a graph: a product, pointwise operators on its scores, a softmax, another product.

Operands are read where they lie, however their axes were permuted; a copy that only put them in order, or the
result into another, is part of it.
"""

import math
from dataclasses import dataclass, replace

from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import Graph, Node, Shape, Value, View, contiguous_strides
from warpsmith.policy.builtin.recipes.fusion import is_pointwise

MAX_SIZE = 128  # of a head: a row of the result stays in the registers of 16 threads
CAUSAL = "causal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """softmax(f(query key^T)) value, for every matrix of a batch; `steps` are f, in order.

    query [.., L, E], key [.., S, E] and value [.., S, D] are views with the same batch axes. `strides` are
    those of the result [.., L, D] in `out`.
    """

    nodes: tuple[Node, ...]
    query: View
    key: View
    value: View
    scores: Value
    steps: tuple[Node, ...]
    last: Value  # of the steps; the scores if there are none
    is_causal: bool
    is_softmax: bool
    out: Value
    strides: tuple[int, ...]

    @property
    def batch(self) -> Shape:
        return self.query.shape[:-2]

    @property
    def out_batch(self) -> Shape:
        """The batch axes that `strides` walk; as many matrices as `batch` has."""
        return self.value.shape[:-2]

    @property
    def rows(self) -> int:
        return self.query.shape[-2]

    @property
    def cols(self) -> int:
        return self.key.shape[-2]

    @property
    def size(self) -> int:
        return self.query.shape[-1]

    @property
    def value_size(self) -> int:
        return self.value.shape[-1]

    @property
    def operands(self) -> tuple[View, ...]:
        """What the steps read beside the scores, each once."""
        made = {self.scores, *(node.output for node in self.steps)}
        return tuple(
            dict.fromkeys(view for node in self.steps for view in node.views if view.value not in made)
        )

    @property
    def inputs(self) -> tuple[Value, ...]:
        """What is read, each value once."""
        read = (self.query, self.key, self.value, *self.operands)
        return tuple(dict.fromkeys(view.value for view in read))

    @property
    def flops(self) -> int:
        """Of both products; half of it where half of the scores are not looked at."""
        whole = 2 * math.prod(self.batch) * self.rows * self.cols * (self.size + self.value_size)
        return whole // 2 if self.is_causal else whole


def read_chain(graph: Graph, node: Node, remaining: frozenset[Node]) -> Chain | None:
    """The attention whose last product is `node`, all of it among `remaining`; None if it is none."""
    second = _factors(node)
    if second is None:
        return None
    probabilities, value = second
    softmax = _softmax(graph, probabilities)
    nodes, last = softmax or ((), probabilities.value)
    found = _steps(graph, last)
    if found is None:
        return None
    first, steps = found
    factors = _factors(first)
    if factors is None or (softmax is None and not steps):
        return None
    chain = Chain(
        nodes=(first, *steps, *nodes, node),
        query=factors[0],
        key=_turned(factors[1]),
        value=value,
        scores=first.output,
        steps=tuple(step for step in steps if step.op != CAUSAL),
        last=last,
        is_causal=any(step.op == CAUSAL for step in steps),
        is_softmax=softmax is not None,
        out=node.output,
        strides=contiguous_strides(node.output.shape),
    )
    if not _is_kept_inside(graph, chain) or not remaining.issuperset(chain.nodes):
        return None
    chain = _without_causal(chain)
    return _with_copies(graph, chain, remaining) if _is_covered(chain) else None


def _factors(node: Node) -> tuple[View, View] | None:
    """Both operands of a product, with the result's batch axes."""
    if node.op not in ("matmul", "bmm") or len(node.views) != 2 or node.output.dtype != "float32":
        return None
    left, right = node.views
    if min(len(left.shape), len(right.shape)) < 2:
        return None
    batch = node.output.shape[:-2]
    left, right = (views.expand(view, (*batch, *view.shape[-2:])) for view in (left, right))
    return left, right


def _turned(view: View) -> View:
    rank = len(view.shape)
    return views.permute(view, (*range(rank - 2), rank - 1, rank - 2))


def _softmax(graph: Graph, probabilities: View) -> tuple[tuple[Node, ...], Value] | None:
    """The five nodes of a softmax along the last axis, and what it is taken of."""
    division = _maker(graph, probabilities, "div")
    if division is None or len(division.views) != 2 or not probabilities.is_in_order:
        return None
    exponential = _maker(graph, division.views[0], "exp")
    total = _maker(graph, division.views[1], "sum")
    if exponential is None or total is None or total.views[0].value != exponential.output:
        return None
    difference = _maker(graph, exponential.views[0], "sub")
    largest = difference and len(difference.views) == 2 and _maker(graph, difference.views[1], "amax")
    if not difference or not largest or largest.views[0].value != difference.views[0].value:
        return None
    if not all(_is_along_last(node) for node in (largest, total)) or not _is_whole(difference.views[0]):
        return None
    return (largest, difference, exponential, total, division), difference.views[0].value


def _maker(graph: Graph, view: View, op: str) -> Node | None:
    node = graph.producer(view.value)
    return node if node is not None and node.op == op and node.outputs[0].dtype == "float32" else None


def _is_along_last(node: Node) -> bool:
    return node.attributes["axes"] == (len(node.views[0].shape) - 1,) and _is_whole(node.views[0])


def _is_whole(view: View) -> bool:
    """Whether it is all of a value, with the rows and columns it was made with."""
    return view.is_in_order and view.shape[-2:] == view.value.shape[-2:]


def _steps(graph: Graph, last: Value) -> tuple[Node, tuple[Node, ...]] | None:
    """Back from `last` to the product that it is made of by pointwise operators alone."""
    steps: list[Node] = []
    wanted = [last]
    product: Node | None = None
    while wanted:
        value = wanted.pop()
        node = graph.producer(value)
        if node is None or node in steps or node is product:
            continue
        if product is None and _factors(node) is not None and node.output.numel == last.numel:
            product = node
        elif node.op == CAUSAL or (is_pointwise(node) and node.output.shape[-2:] == last.shape[-2:]):
            inside = [view for view in node.views if _comes_from_scores(graph, view.value, last)]
            if not all(map(_is_whole, inside)):
                return None
            steps.append(node)
            wanted += [view.value for view in inside]
        else:
            return None
    if product is None:
        return None
    return product, tuple(node for node in graph.nodes if node in steps)


def _comes_from_scores(graph: Graph, value: Value, last: Value) -> bool:
    """Whether it is as large as the scores and made by a node: what it is made of is then looked at."""
    node = graph.producer(value)
    return node is not None and value.numel == last.numel


def _is_kept_inside(graph: Graph, chain: Chain) -> bool:
    members = set(chain.nodes)
    values = (value for node in chain.nodes[:-1] for value in node.outputs)
    return all(not graph.is_returned(value) and members.issuperset(graph.users(value)) for value in values)


def _without_causal(chain: Chain) -> Chain:
    """With the causal node's result read as what it is made of."""
    causal = [node for node in chain.nodes if node.op == CAUSAL]
    renamed = {node.output: node.views[0].value for node in causal}
    steps = tuple(_renamed(step, renamed) for step in chain.steps)
    last = renamed.get(chain.last, chain.last)
    return replace(chain, steps=steps, last=last)


def _renamed(node: Node, renamed: dict[Value, Value]) -> Node:
    inputs = tuple(
        replace(item, value=renamed.get(item.value, item.value)) if isinstance(item, View) else item
        for item in node.inputs
    )
    return Node(op=node.op, inputs=inputs, outputs=node.outputs, attributes=node.attributes)


def _is_covered(chain: Chain) -> bool:
    operands = (chain.query, chain.key, chain.value)
    if 0 in (*chain.scores.shape, chain.value_size) or any(view.dtype != "float32" for view in operands):
        return False
    return max(chain.size, chain.value_size) <= MAX_SIZE


def _with_copies(graph: Graph, chain: Chain, remaining: frozenset[Node]) -> Chain:
    """Without the copies around it that only put elements in another order."""
    copies: dict[Node, None] = {}

    def at_source(view: View) -> View:
        node = graph.producer(view.value)
        if node is None or node not in remaining or not _feeds_only(graph, node, chain):
            return view
        source = _through_copy(view, node)
        if source is not None:
            copies[node] = None
        return source or view

    query, key, value = (at_source(view) for view in (chain.query, chain.key, chain.value))
    chain = replace(chain, nodes=(*copies, *chain.nodes), query=query, key=key, value=value)
    return _with_last_copy(graph, chain, remaining)


def _with_last_copy(graph: Graph, chain: Chain, remaining: frozenset[Node]) -> Chain:
    users = graph.users(chain.out)
    if len(users) != 1 or users[0] not in remaining or graph.is_returned(chain.out):
        return chain
    copy = users[0]
    strides = _permuted(chain, copy) if copy.op == "copy" else None
    if strides is None:
        return chain
    return replace(chain, nodes=(*chain.nodes, copy), out=copy.output, strides=strides)


def _through_copy(view: View, node: Node) -> View | None:
    """What the copied view reads, read directly; None where the axes do not follow."""
    if node.op != "copy" or node.output.dtype != node.views[0].dtype:
        return None
    source = node.views[0]
    # The matrix may have been turned since; its copy was read in its own order.
    for order in ((-2, -1), (-1, -2)):
        rank = len(view.shape)
        axes = (*range(rank - 2), rank + order[0], rank + order[1])
        turned = views.permute(view, axes)
        if turned.is_in_order:
            read = views.reshape(source, turned.shape)
            return read and views.permute(read, axes)
    return None


def _feeds_only(graph: Graph, node: Node, chain: Chain) -> bool:
    return not graph.is_returned(node.output) and set(chain.nodes).issuperset(graph.users(node.output))


def _permuted(chain: Chain, copy: Node) -> tuple[int, ...] | None:
    """The strides of the result's axes in what `copy` makes of it."""
    view = copy.views[0]
    if view.offset or copy.output.dtype != "float32" or view.numel != chain.out.numel:
        return None
    axes = zip(view.shape, view.strides, contiguous_strides(view.shape), strict=True)
    found = {(size, read): written for size, read, written in axes}
    own = zip(chain.out.shape, contiguous_strides(chain.out.shape), strict=True)
    strides = [found.get((size, step)) if size > 1 else 0 for size, step in own]
    known = tuple(stride for stride in strides if stride is not None)
    return known if len(known) == len(strides) else None
