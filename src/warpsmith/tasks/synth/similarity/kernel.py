"""Structural similarity of two models: Weisfeiler-Lehman subtrees of their graphs, as a Dice coefficient.

The measure. A model is read as the graph of tensors that its forward computes (`reader.py`): a node is an
operator under one name, whichever way it is spelled, its children are the tensors that it works on; equal
subexpressions are one node. Inputs, parameters and texts are leaves; numbers are no part of the graph. Each
operator counts once for each of the rounds 0 … ROUNDS, as what can be seen of it at that depth:

    seen(v, 0) = the name of v
    seen(v, r) = the name of v, the sorted seen(child, r - 1) of its children, and how many are distinct

With F(m) the multiset of all that is seen in model m, similarity(a, b) = 2 |F(a) ∩ F(b)| / (|F(a)| + |F(b)|),
in [0, 1]. A model in which no operator is found is not compared, and said so.

Where it is from. seen() is the relabelling of Shervashidze et al., "Weisfeiler-Lehman Graph Kernels" (JMLR
12, 2011), along the edges of a directed acyclic graph. The Dice form is that of PythonASTSimilarity (from
python-ast-comparison by Pedro Salazar Paredes, in relari's continuous-eval): twice the matched nodes over
all nodes. That tool matches the types of syntax nodes alone, to which relu(x) and sigmoid(x) are the same
call; here operators are the nodes.

What 0.9 means. In a chain of n operators, another one in the middle takes 10 of 4n features away, the last
one 4: similarity reaches 0.9 only from n = 10 on (the last) or n = 25 (in the middle). So among tasks of up
to five operators nothing but the same operators in the same nesting reaches it; among networks of dozens, a
near copy.
"""

import hashlib
from collections import Counter

from warpsmith.tasks.synth.similarity.values import Node

ROUNDS = 3

Features = frozenset[tuple[int, int]]
"""A multiset as a set: what is seen, and its how-manieth occurrence it is. So |F| and ∩ are those of sets."""


def features(outputs: tuple[Node, ...]) -> Features:
    """All that is seen in the graph above `outputs`."""
    nodes = _sorted_nodes(outputs)
    seen = {id(node): _key(node.label) for node in nodes}
    counts = Counter(seen[id(node)] for node in nodes if node.is_operator)
    for _ in range(ROUNDS):
        seen = {id(node): _seen(node, seen) for node in nodes}
        counts.update(seen[id(node)] for node in nodes if node.is_operator)
    return frozenset((what, at) for what, many in counts.items() for at in range(many))


def operators(outputs: tuple[Node, ...]) -> tuple[str, ...]:
    """The operators above `outputs`, in an order in which they may run."""
    return tuple(node.label for node in _sorted_nodes(outputs) if node.is_operator)


def dice(left: Features, right: Features) -> float:
    """Twice what they share over all that they have; 0 where both are empty."""
    total = len(left) + len(right)
    return 2 * len(left & right) / total if total else 0.0


def _seen(node: Node, before: dict[int, int]) -> int:
    children = sorted(before[id(child)] for child in node.children)
    distinct = len({id(child) for child in node.children})
    return _key(f"{node.label} {children} {distinct}")


def _key(text: str) -> int:
    return (
        int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "big")
        >> 1
    )


def _sorted_nodes(outputs: tuple[Node, ...]) -> list[Node]:
    """Each node once, after its children; without recursion, since a chain may be long."""
    order: dict[int, Node] = {}
    stack = [(node, False) for node in reversed(outputs)]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            order.setdefault(id(node), node)
        elif id(node) not in order:
            stack.append((node, True))
            stack += [(child, False) for child in reversed(node.children)]
    return list(order.values())
