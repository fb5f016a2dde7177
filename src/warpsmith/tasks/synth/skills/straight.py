"""A model's forward as a sequence of single steps: each calls one operator and names what comes of it."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

OUTPUT = "out"


class Uncut(Exception):
    """Nothing can be taken out of a task; the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`target = value`; the names that it reads and the attributes of `self`."""

    target: str
    value: ast.expr
    reads: frozenset[str]
    attributes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Straight:
    """A forward without branches. The last step gives what is returned."""

    arguments: tuple[str, ...]
    steps: tuple[Step, ...]


def straightened(forward: ast.FunctionDef) -> Straight:
    """Raises Uncut unless forward is assignments to names and one return at its end."""
    given = forward.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or not given.args:
        raise Uncut("forward has arguments that need not be given")
    own, *arguments = (argument.arg for argument in (*given.posonlyargs, *given.args))
    if own != "self":
        raise Uncut("forward does not call its model self")
    flat = _Flat(taken={node.id for node in ast.walk(forward) if isinstance(node, ast.Name)} | {*arguments})
    body = [node for node in forward.body if not _is_docstring(node)]
    for node in body:
        flat.add(node, is_last=node is body[-1])
    return Straight(arguments=tuple(arguments), steps=tuple(flat.steps))


def step_of(target: str, value: ast.expr) -> Step:
    """Raises Uncut for what must not be moved: it changes a tensor in place, or names things of its own."""
    reads, attributes = set(), set()
    for node in ast.walk(value):
        match node:
            case ast.NamedExpr() | ast.Lambda() | ast.comprehension() | ast.Await() | ast.Yield():
                raise Uncut(f"forward has a {type(node).__name__} in an expression")
            case ast.Call(func=ast.Attribute(attr=name)) if name.endswith("_") and not name.endswith("__"):
                raise Uncut(f"forward changes a tensor in place: {name}")
            case ast.keyword(arg="inplace", value=ast.Constant(value=True)) | ast.keyword(arg="out"):
                raise Uncut("forward changes a tensor in place")
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                attributes.add(name)
            case ast.Name(id=name) if name != "self":
                reads.add(name)
            case _:
                pass
    return Step(target=target, value=value, reads=frozenset(reads), attributes=frozenset(attributes))


class _Flat:
    """Steps as they are found, inner ones first, as Python would run them."""

    def __init__(self, taken: set[str]) -> None:
        self.steps: list[Step] = []
        self._taken = taken

    def add(self, node: ast.stmt, *, is_last: bool) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not is_last:
                self._put(name, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if not is_last:
                self._put(name, value)
            case ast.Return(value=ast.expr() as value) if is_last:
                self._put(self._fresh(OUTPUT), value)
            case _:
                raise Uncut(f"forward is no straight line: line {node.lineno} is a {type(node).__name__}")

    def _put(self, name: str, value: ast.expr) -> None:
        flat = copy.deepcopy(value)
        self._flatten(flat)
        self.steps.append(step_of(name, flat))

    def _flatten(self, node: ast.AST) -> None:
        """Gives names to the calls, the arithmetic and the choices inside `node`."""
        for parent, field, index, child in list(_operands(node)):
            self._flatten(child)
            if isinstance(child, NAMED) and not _belongs(parent, field, child) and not _is_of_sizes(child):
                name = self._fresh("part")
                self.steps.append(step_of(name, child))
                _set(parent, field, index, ast.Name(id=name, ctx=ast.Load()))

    def _fresh(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self._taken:
            name, number = f"{wanted}{number}", number + 1
        self._taken.add(name)
        return name


FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Attribute: ("value",),
    ast.BinOp: ("left", "right"),
    ast.Call: ("func", "args", "keywords"),
    ast.List: ("elts",),
    ast.Starred: ("value",),
    ast.Subscript: ("value",),
    ast.Tuple: ("elts",),
    ast.UnaryOp: ("operand",),
    ast.keyword: ("value",),
}
"""Where an expression has others that are always evaluated before it, in their order."""


def _operands(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """What is evaluated before `node`: parent, field, place in the field's list, and itself."""
    for field in FIELDS.get(type(node), ()):
        value = getattr(node, field)
        if isinstance(value, list):
            yield from ((node, field, at, item) for at, item in enumerate(value))
        else:
            yield node, field, None, value


NAMED = (ast.Call, ast.BinOp, ast.Subscript)
RESULTS = frozenset({"values", "indices"})  # what some operators give beside each other


def _belongs(parent: ast.AST, field: str, child: ast.AST) -> bool:
    """Whether the two are one step: a choice out of a call's results, or a call of what is chosen."""
    match parent:
        case ast.Subscript():
            return isinstance(child, ast.Call)
        case ast.Attribute(attr=name):
            return name in RESULTS
        case _:
            return field == "func"


def _set(parent: ast.AST, field: str, index: int | None, new: ast.expr) -> None:
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new


OF_NUMBERS = frozenset({"int", "float", "len", "max", "min", "round", "tuple"})  # Python's own functions
OF_SIZES = frozenset({"size", "numel", "dim", "ndimension"})  # methods of a tensor
FACTS = frozenset({"shape", "ndim", "dtype", "device"})


def _is_of_sizes(node: ast.expr) -> bool:
    """Whether it computes with numbers alone, as far as its text tells: it stays where it is."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _is_of_sizes(left) and _is_of_sizes(right)
        case ast.Call(func=ast.Name(id=name)):
            return name in OF_NUMBERS
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)):
            return module == "math" or name in OF_SIZES
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in OF_SIZES
        case ast.Subscript(value=value):
            return _is_of_sizes(value)
        case _:
            return isinstance(node, ast.Constant) or (isinstance(node, ast.Attribute) and node.attr in FACTS)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
