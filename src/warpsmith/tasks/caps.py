"""Smaller sizes for a file that has no SCALE: caps on the integers that it assigns at its top level."""

import ast
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from warpsmith.core import UsageError
from warpsmith.tasks.source import parse

CAP = re.compile(r"(?P<names>[\w*?\[\]-]+)=(?P<most>[1-9]\d*)")


@dataclass(frozen=True, slots=True)
class Cap:
    """What constants of these names are at most."""

    names: str  # a pattern such as batch*
    most: int

    @classmethod
    def parsed(cls, text: str) -> "Cap":
        """Raises UsageError unless `text` reads like 'batch*=4'."""
        found = CAP.fullmatch(text.strip())
        if found is None:
            raise UsageError(f"--cap takes names of constants and a number, such as 'batch*=4', not {text!r}")
        return cls(names=found["names"], most=int(found["most"]))


def with_caps(source: str, name: str, caps: tuple[Cap, ...]) -> tuple[str, dict[str, int]]:
    """`source` with every constant over its cap set to it, and what was set; the first cap that fits counts.

    Only integers at the top level are changed, spelled as numbers or sums and products of them, such as
    `batch = 64 * 2` and `height, width = 128, 128`.
    """
    found: dict[str, int] = {}
    spans: dict[
        tuple[int, int], tuple[ast.expr, int]
    ] = {}  # by position: `height = width = 64` is one number
    for constant, node, value in _constants(parse(source, name)):
        most = next((cap.most for cap in caps if fnmatchcase(constant, cap.names)), None)
        if most is not None and value > most:
            found[constant] = most
            spans[node.lineno, node.col_offset] = (node, most)
    lines = source.encode().splitlines(keepends=True)
    for _, (node, most) in sorted(spans.items(), key=lambda item: item[0], reverse=True):
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = line[: node.col_offset] + str(most).encode() + line[node.end_col_offset :]
    return b"".join(lines).decode(), found


def _constants(tree: ast.Module) -> list[tuple[str, ast.expr, int]]:
    """Name, expression and value of each integer."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            pairs += [pair for target in statement.targets for pair in _unpacked(target, statement.value)]
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            pairs.append((statement.target, statement.value))
    return [
        (target.id, node, value)
        for target, node in pairs
        if isinstance(target, ast.Name)
        and node.lineno == node.end_lineno
        and (value := _integer(node)) is not None
    ]


def _integer(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Mult):
        return None
    left, right = _integer(node.left), _integer(node.right)
    if left is None or right is None:
        return None
    return left + right if isinstance(node.op, ast.Add) else left * right


def _unpacked(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]
