"""One number that makes a task larger or smaller: the top-level SCALE of its file, rewritten in place."""

import ast
import math

from warpsmith.core import UsageError
from warpsmith.tasks.base import CPU_SCALE
from warpsmith.tasks.source import parse

NAME = "SCALE"


def checked_scale(scale: float | None) -> float | None:
    """`scale` itself. Raises UsageError unless it is a positive, finite number."""
    if scale is not None and not (math.isfinite(scale) and scale > 0):
        raise UsageError(f"a scale is a positive number such as 1 or 0.015625; {scale:g} is not")
    return scale


def with_scale(source: str, name: str, scale: float | None, device_kind: str) -> tuple[str, float]:
    """`source` with its SCALE set to `scale`, and what it is then; `name` is for errors.

    Without a wish, a GPU gets what the file says and CPU cores at most CPU_SCALE.
    Raises UsageError if a scale is asked for and the file has none to set.
    """
    value = _scale_node(source, name)
    if value is None:
        if scale is not None:
            raise UsageError(
                f"{name} has no top-level {NAME}; write `{NAME} = 1.0` and compute the sizes from it inside "
                f"get_inputs, or leave the scale out"
            )
        return source, 1.0
    own = _number(value)
    if scale is None and own is not None:
        scale = own if device_kind == "cuda" else min(own, CPU_SCALE)
    elif scale is None:
        raise UsageError(f"{name}: {NAME} is not a plain number; write `{NAME} = 1.0`, or give a scale")
    return _replaced(source, value, repr(float(scale))), float(scale)


def _scale_node(source: str, name: str) -> ast.expr | None:
    values = [_assigned(statement) for statement in parse(source, name).body]
    found = [value for value in values if value is not None]
    if len(found) > 1:
        raise UsageError(f"{name} assigns {NAME} {len(found)} times at its top level; once is enough")
    return found[0] if found else None


def _assigned(statement: ast.stmt) -> ast.expr | None:
    """What `statement` assigns to SCALE, if it does."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            return value if any(isinstance(t, ast.Name) and t.id == NAME for t in targets) else None
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if name == NAME:
            return value
    return None


def _number(value: ast.expr) -> float | None:
    """The positive number that `value` spells, also as a quotient such as 1 / 64."""
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
        return float(value.value)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
        over, under = _number(value.left), _number(value.right)
        return over / under if over is not None and under else None
    return None


def _replaced(source: str, node: ast.expr, text: str) -> str:
    """`source` with `node`'s own characters replaced. Positions count the bytes of a line, as `ast` does."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines = source.encode().splitlines(keepends=True)
    head = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    tail = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    return (head + text.encode() + tail).decode()
