"""The same task at another size: one of its constants rewritten, found in its syntax tree.

Only a number that get_inputs alone depends on will do, such as a batch's size: any other would change the
model, and a program may be made for one model. An odd number of rows shows what was written for one size.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from warpsmith.core.syntax import parsed

MOST_TRIES = 4
SCALES = (0.4375, 0.5)  # of a SCALE
MAKER = "get_inputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """A task's source with one constant changed."""

    source: str
    name: str
    scale: float  # new value over old

    @property
    def text(self) -> str:
        return f"{self.name} times {self.scale:.3g}"


def resized(source: str) -> tuple[Resize, ...]:
    """Sources to try, the likeliest first; none if no constant feeds the inputs alone. Never raises."""
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    constants = sorted(_constants(tree), key=lambda item: "batch" not in item[0].lower())
    found = [
        Resize(source=_replaced(source, node, repr(value)), name=name, scale=value / old)
        for name, node, old in (*constants, *_literals(tree))
        for value in _others(name, old)
    ]
    return tuple(found[:MOST_TRIES])


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.Constant, float]]:
    """Name, place and value of each number that decides about the inputs and about nothing else."""
    assigned = dict(_assignments(tree))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if MAKER not in functions:
        return
    definitions: dict[str, ast.AST] = {**assigned, **functions}
    ours = _reached([functions[MAKER]], definitions)
    others = [
        node for node in tree.body if not isinstance(node, ast.Assign | ast.AnnAssign | ast.FunctionDef)
    ]
    others += [node for name, node in functions.items() if name not in ours and name != MAKER]
    rest = _reached(others, definitions)
    for name, value in assigned.items():
        number = _number(value)
        if name in ours - rest and isinstance(value, ast.Constant) and number is not None:
            yield name, value, number


def _literals(tree: ast.Module) -> Iterator[tuple[str, ast.Constant, float]]:
    """The same of the numbers that are written inside get_inputs itself."""
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or function.name != MAKER:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > 1:
                yield str(node.value), node, node.value


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        elif isinstance(node, ast.AnnAssign):
            target = node.target
        else:
            continue
        if isinstance(target, ast.Name) and node.value is not None:
            yield target.id, node.value


def _number(value: ast.expr) -> float | None:
    """The number that `value` spells; True and False are none."""
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
        return None if isinstance(value.value, bool) else value.value
    return None


def _reached(roots: Iterable[ast.AST], definitions: dict[str, ast.AST]) -> set[str]:
    """The names that `roots` use, and the ones that their definitions use."""
    found: set[str] = set()
    ahead = list(roots)
    while ahead:
        for node in ast.walk(ahead.pop()):
            if isinstance(node, ast.Name) and node.id in definitions and node.id not in found:
                found.add(node.id)
                ahead.append(definitions[node.id])
    return found


def _others(name: str, value: float) -> Iterator[float]:
    if isinstance(value, float):
        yield from (value * scale for scale in SCALES if name == "SCALE")
    elif value >= 1:
        yield value // 2 | 1 if value >= 4 else value + 1


def _replaced(source: str, node: ast.Constant, text: str) -> str:
    """`source` with `node`'s own characters replaced. Positions count the bytes of a line, as `ast` does."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines = source.encode().splitlines(keepends=True)
    line = lines[node.lineno - 1]
    lines[node.lineno - 1] = line[: node.col_offset] + text.encode() + line[node.end_col_offset :]
    return b"".join(lines).decode()
