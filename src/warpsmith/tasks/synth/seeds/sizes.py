"""Sizes by name: shapes such as "batch channels height width", and arithmetic such as "2 * channels"."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from functools import cache

from warpsmith.tasks.synth.base import Shape

LEADING = "..."
"""As the first word of a shape: any number of dimensions, also none."""

HOLE = re.compile(r"\{([^{}]+)\}")
"""A place in a pattern's text: a tensor's name, or arithmetic on sizes."""

_ARITHMETIC: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
}


def evaluated(expression: str, sizes: Mapping[str, int]) -> int:
    """What `expression` is: names, integers, + - * // %, and ==, <=, >= and `and` (1 or 0).

    Raises ValueError for anything else. Nothing is executed: patterns are also read from files.
    """
    try:
        return int(_value(_parsed(expression), sizes))
    except (SyntaxError, ZeroDivisionError, KeyError, RecursionError) as error:
        raise ValueError(f"{expression!r} is no size, given {', '.join(sizes) or 'no names'}") from error


@cache
def _parsed(expression: str) -> ast.expr:
    return ast.parse(expression.strip(), mode="eval").body


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return sizes[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_value(left, sizes), _value(right, sizes))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_value(left, sizes), _value(right, sizes))
        case ast.BoolOp(op=ast.And(), values=values):
            return int(all(_value(value, sizes) for value in values))
        case _:
            pass
    raise ValueError(f"{ast.unparse(node)!r} is no arithmetic on sizes")


def names_in(expression: str) -> tuple[str, ...]:
    """The sizes that `expression` speaks of, each once, in order."""
    found = [node.id for node in ast.walk(_parsed(expression)) if isinstance(node, ast.Name)]
    return tuple(dict.fromkeys(found))


def split(spec: str) -> tuple[bool, tuple[str, ...]]:
    """Whether a shape has leading dimensions, and its other words. A word of arithmetic has no spaces."""
    words = tuple(spec.split())
    return (True, words[1:]) if words[:1] == (LEADING,) else (False, words)


def bound(spec: str, shape: Shape) -> tuple[dict[str, int], Shape] | None:
    """The size of each name in `spec`, and the leading dimensions; None if `shape` is no such shape."""
    is_open, words = split(spec)
    num_leading = len(shape) - len(words)
    if num_leading < 0 or (num_leading > 0 and not is_open) or 0 in shape or not shape:
        return None
    sizes: dict[str, int] = {}
    for word, size in zip(words, shape[num_leading:], strict=True):
        expected = int(word) if word.isdigit() else sizes.setdefault(word, size)
        if expected != size:
            return None
    return sizes, shape[:num_leading]


def shape_of(spec: str, sizes: Mapping[str, int], leading: Shape) -> Shape:
    """The shape that `spec` stands for under `sizes`."""
    is_open, words = split(spec)
    return (leading if is_open else ()) + tuple(evaluated(word, sizes) for word in words)
