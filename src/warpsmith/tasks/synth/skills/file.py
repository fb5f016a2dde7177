"""A task's file taken apart: its model, what makes its arguments and inputs, and all that these need."""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from warpsmith.core import Task, UsageError
from warpsmith.tasks.source import parse
from warpsmith.tasks.synth.skills.straight import Straight, Uncut, straightened

MODEL = "Model"
BASES = ("nn.Module", "torch.nn.Module", "Module")
Function = ast.FunctionDef
Definition = TypeVar("Definition", ast.ClassDef, ast.FunctionDef)


@dataclass(frozen=True, slots=True, kw_only=True)
class InitLine:
    """A statement of __init__: the attributes and names that it sets, and those that it reads."""

    node: ast.stmt
    sets: frozenset[str]  # "self.x" or "x"
    reads: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFile:
    """A file whose model is a straight line."""

    straight: Straight
    init_arguments: tuple[str, ...]
    init_lines: tuple[InitLine, ...]
    init_values: tuple[ast.expr, ...]  # what get_init_inputs gives, in order
    get_inputs: Function
    input_values: tuple[ast.expr, ...]  # what get_inputs returns, in order
    rest: tuple[ast.stmt, ...]  # everything else at the top level

    @classmethod
    def of(cls, task: Task) -> "TaskFile":
        """Raises Uncut for a file that is not of that simple a form."""
        try:
            tree = parse(task.source, task.task_id)
        except UsageError as error:
            raise Uncut(str(error)) from error
        model = _only(tree.body, ast.ClassDef, MODEL)
        get_inputs = _only(tree.body, Function, "get_inputs")
        get_init = _only(tree.body, Function, "get_init_inputs")
        if [ast.unparse(base) for base in model.bases] not in [[base] for base in BASES]:
            raise Uncut(f"{MODEL} is no direct nn.Module")
        methods = _methods(model)
        init = methods.pop("__init__", None)
        forward = methods.pop("forward", None)
        if forward is None or methods:
            raise Uncut(f"{MODEL} has other methods than __init__ and forward")
        arguments, lines = _init(init)
        values = _returned(get_init)
        straight = straightened(forward)
        inputs = _returned(get_inputs)
        if len(get_init.body) != 1 or len(values) != len(arguments):
            raise Uncut("get_init_inputs does not return each argument of __init__ in one list")
        if len(inputs) != len(straight.arguments):
            raise Uncut("get_inputs does not return each argument of forward in one list")
        return cls(
            straight=straight,
            init_arguments=arguments,
            init_lines=lines,
            init_values=values,
            get_inputs=get_inputs,
            input_values=inputs,
            rest=tuple(
                node for node in tree.body if node not in (model, get_inputs, get_init) and not _is_text(node)
            ),
        )

    def init_of(self, attributes: Iterable[str]) -> tuple[InitLine, ...]:
        """The lines of __init__ that these attributes of self need. Raises Uncut if none sets one."""
        needed = {f"self.{name}" for name in attributes}
        kept: list[InitLine] = []
        for line in reversed(self.init_lines):
            of_self = {name for name in line.reads if name.startswith("self.")}
            is_about = not line.sets and bool(of_self) and of_self <= needed  # such as nn.init.ones_(self.w)
            if line.sets & needed or is_about:
                kept.append(line)
                needed |= line.reads
        for name in sorted(needed):
            if name.startswith("self.") and not any(name in line.sets for line in kept):
                raise Uncut(f"__init__ does not set {name}")
        return tuple(reversed(kept))


def reads_of(node: ast.AST) -> frozenset[str]:
    """Names that are read, and attributes of self as "self.x"."""
    found = set()
    for one in ast.walk(node):
        match one:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()):
                found.add(f"self.{name}")
            case ast.Name(id=name, ctx=ast.Load()) if name != "self":
                found.add(name)
            case _:
                pass
    return frozenset(found)


def needed(rest: Sequence[ast.stmt], names: Iterable[str]) -> list[ast.stmt]:
    """The statements of a file's top level that `names` need, in order."""
    wanted, kept = set(names), set[int]()
    is_growing = True
    while is_growing:
        is_growing = False
        for at, node in enumerate(rest):
            if at not in kept and (_binds(node) & wanted or _is_future(node)):
                kept.add(at)
                wanted |= reads_of(node)
                is_growing = True
    return [rest[at] for at in sorted(kept)]


def _only(body: list[ast.stmt], kind: type[Definition], name: str) -> Definition:
    found = [node for node in body if isinstance(node, kind) and node.name == name]
    if len(found) != 1:
        raise Uncut(f"the file defines {name} {len(found)} times at its top level")
    return found[0]


def _methods(model: ast.ClassDef) -> dict[str, Function]:
    methods: dict[str, Function] = {}
    for node in model.body:
        match node:
            case ast.FunctionDef(decorator_list=[]):
                methods[node.name] = node
            case _ if _is_text(node):
                pass
            case _:
                raise Uncut(f"{MODEL} has a {type(node).__name__} beside its methods")
    return methods


def _init(init: Function | None) -> tuple[tuple[str, ...], tuple[InitLine, ...]]:
    if init is None:
        return (), ()
    given = init.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs:
        raise Uncut("__init__ has arguments that are not plain ones")
    body = [node for node in init.body if not _is_text(node) and not _is_super(node)]
    return tuple(argument.arg for argument in given.args[1:]), tuple(_init_line(node) for node in body)


def _init_line(node: ast.stmt) -> InitLine:
    match node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
            sets = {f"self.{name}"}
        case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name), value=ast.expr()):
            sets = {f"self.{name}"}
        case ast.Assign(targets=[ast.Name(id=name)]):
            sets = {name}
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id="self"), attr="register_buffer" | "register_parameter"),
                args=[ast.Constant(value=str(name)), *_],
            )
        ):
            sets = {f"self.{name}"}
        case ast.Expr(value=ast.Call()):
            sets = set()
        case _:
            raise Uncut(f"__init__ does more than set attributes: line {node.lineno}")
    reads = reads_of(node) - {"self.register_buffer", "self.register_parameter"}
    return InitLine(node=node, sets=frozenset(sets), reads=reads)


def _returned(function: Function) -> tuple[ast.expr, ...]:
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    match returns:
        case [ast.Return(value=ast.List(elts=items) | ast.Tuple(elts=items))] if (
            returns[0] is function.body[-1]
        ):
            if not any(isinstance(item, ast.Starred) for item in items):
                return tuple(items)
        case _:
            pass
    raise Uncut(f"{function.name} does not end with a list that is spelled out")


def _binds(node: ast.stmt) -> frozenset[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return frozenset({name})
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return frozenset(alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case _:
            stored = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
            return frozenset(one.id for one in stored if isinstance(one.ctx, ast.Store))


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_super(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith("super(")
