"""The part of a task's file that says what is computed: `Model` and the definitions that it uses."""

import ast
from dataclasses import dataclass

from warpsmith.core import Task, TaskError, UsageError
from warpsmith.tasks.source import parse

MODEL = "Model"

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A file's definitions by name."""

    task_id: str
    definitions: dict[str, Definition]
    imports: dict[str, str]  # name in the file -> dotted path
    constants: dict[str, ast.expr]  # what is assigned once to a plain name at the top level

    @classmethod
    def of(cls, task: Task) -> "Program":
        """Raises TaskError unless the file is Python and has a class Model."""
        try:
            tree = parse(task.source, task.task_id)
        except UsageError as error:
            raise TaskError(str(error)) from error
        definitions: dict[str, Definition] = {}
        imports: dict[str, str] = {}
        constants: dict[str, ast.expr] = {}
        for node in _statements(tree.body):
            match node:
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    definitions[node.name] = node
                case ast.Import() | ast.ImportFrom():
                    imports.update(imported(node))
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    constants[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    constants[name] = value
                case _:
                    pass
        _follow_aliases(definitions, imports, constants)
        if not isinstance(definitions.get(MODEL), ast.ClassDef):
            raise TaskError(f"{task.task_id}: there is no class {MODEL} to compare")
        return cls(task_id=task.task_id, definitions=definitions, imports=imports, constants=constants)

    def used(self) -> tuple[Definition, ...]:
        """`Model`, then what it names, then what that names, each once."""
        order = [MODEL]
        for name in order:
            for node in ast.walk(self.definitions[name]):
                if isinstance(node, ast.Name) and node.id in self.definitions and node.id not in order:
                    order.append(node.id)
        return tuple(self.definitions[name] for name in order)

    def listed(self, name: str) -> list[ast.expr] | None:
        """The items of the list that the function called `name` returns, if it is spelled out."""
        function = self.definitions.get(name)
        returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)] if function else []
        match [node.value for node in returns]:
            case [ast.List(elts=items) | ast.Tuple(elts=items)]:
                return None if any(isinstance(item, ast.Starred) for item in items) else items
            case _:
                return None

    def dotted(self, node: ast.expr) -> str | None:
        """The dotted path of a name that begins at an import, such as `torch.nn.functional.relu`."""
        match node:
            case ast.Name(id=name):
                return self.imports.get(name)
            case ast.Attribute(value=value, attr=attribute):
                head = self.dotted(value)
                return f"{head}.{attribute}" if head else None
            case _:
                return None


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """The top level, and what stands there inside if, try and with."""
    found = []
    for node in body:
        found.append(node)
        if isinstance(node, ast.If | ast.Try | ast.With):
            blocks = [node.body, getattr(node, "orelse", []), getattr(node, "finalbody", [])]
            found += [inner for block in blocks for inner in _statements(block)]
    return found


def imported(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """The names that an import binds, with their dotted paths."""
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name: f"{node.module or ''}.{alias.name}" for alias in node.names}
    return {
        alias.asname or alias.name.partition(".")[0]: alias.name
        if alias.asname
        else alias.name.partition(".")[0]
        for alias in node.names
    }


def _follow_aliases(
    definitions: dict[str, Definition], imports: dict[str, str], constants: dict[str, ast.expr]
) -> None:
    """`Model = Net`, `act = F.relu` and `Tensor = torch.Tensor` at the top level are other names."""
    for name, value in constants.items():
        if isinstance(value, ast.Name) and value.id in definitions:
            definitions.setdefault(name, definitions[value.id])
        parts: list[str] = []
        while isinstance(value, ast.Attribute):
            parts.insert(0, value.attr)
            value = value.value
        if isinstance(value, ast.Name) and value.id in imports:
            imports.setdefault(name, ".".join([imports[value.id], *parts]))
