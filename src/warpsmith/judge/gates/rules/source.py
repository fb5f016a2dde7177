"""Reading a Python file: what its names stand for, and what stands around an expression."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from warpsmith.core.syntax import parsed

OWN_EXTENSION = "cuda_extension"
EXTENSIONS = "torch.utils.cpp_extension."
REACHERS = ("getattr", "setattr", "delattr", "hasattr")


@dataclass(frozen=True, slots=True)
class Finding:
    """A place, and what is to be said of it."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file of the candidate's, parsed."""

    path: str
    nodes: tuple[ast.AST, ...]
    parents: dict[ast.AST, ast.AST]
    stands_for: dict[str, str]  # a name -> the imported thing that it stands for, with dots
    bound: frozenset[str]  # names that the file itself gives a meaning, other than by import
    own: frozenset[str]  # modules of the candidate's

    @classmethod
    def of(cls, path: str, text: str, own: frozenset[str]) -> Self:
        """Raises what `ast.parse` raises."""
        tree = parsed(text)
        nodes = tuple(ast.walk(tree))
        parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        source = cls(
            path=path,
            nodes=nodes,
            parents=parents,
            stands_for=dict(_imported(nodes)),
            bound=frozenset(_bound(nodes)),
            own=own | {OWN_EXTENSION},
        )
        source._follow_aliases()
        return source

    def dotted(self, node: ast.AST) -> str | None:
        """The full name of something imported, as `torch.nn.functional.relu`; None for all else.

        An attribute may also be reached by getattr with a name that is written out.
        """
        if isinstance(node, ast.Name):
            return self.stands_for.get(node.id)
        reached = attribute(node)
        if reached is None:
            return None
        before = self.dotted(reached[0])
        return None if before is None else f"{before}.{reached[1]}"

    def foreign(self, node: ast.AST) -> str | None:
        """The same, for what is not the candidate's own."""
        name = self.dotted(node)
        return None if name is None or name.lstrip(".").partition(".")[0] in self.own else name

    def is_own(self, node: ast.Attribute) -> bool:
        """Whether it names a function of the candidate's modules, its extensions or the same class."""
        name = self.dotted(node)
        if name is not None:
            return set(name.lstrip(".").split(".")[:-1]) <= self.own
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return node.attr in self.bound
        return ast.unparse(node.value) in self._extensions()

    def uses(self) -> Iterator[tuple[ast.AST, str]]:
        """Every use of something foreign, by the longest name, and every import of it."""
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom) and node.module:
                if node.module.partition(".")[0] not in self.own:
                    yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)
            elif isinstance(node, ast.expr) and not self._is_part(node):
                name = self.foreign(node)
                if name is not None:
                    yield node, name

    def functions_around(self, node: ast.AST) -> Iterator[str]:
        """The names of the functions that `node` stands in, innermost first."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name

    def _extensions(self) -> frozenset[str]:
        """What stands for a module that the file itself lets torch build."""
        return frozenset(
            ast.unparse(target)
            for node in self.nodes
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            if (self.dotted(node.value.func) or "").startswith(EXTENSIONS)
            for target in node.targets
        )

    def _is_part(self, node: ast.AST) -> bool:
        """Whether it is the left end of a longer name."""
        parent = self.parents.get(node)
        reached = None if parent is None else attribute(parent)
        return reached is not None and reached[0] is node

    def _follow_aliases(self) -> None:
        for node in self.nodes:
            if isinstance(node, ast.Assign) and (name := self.dotted(node.value)) is not None:
                targets = (target.id for target in node.targets if isinstance(target, ast.Name))
                self.stands_for.update((target, name) for target in targets if target not in self.stands_for)


def attribute(node: ast.AST) -> tuple[ast.expr, str] | None:
    """What an expression reaches into and the attribute's name, also through getattr and its kin."""
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    if isinstance(node, ast.Call) and is_reacher(node):
        name = node.args[1]
        return (node.args[0], str(name.value)) if isinstance(name, ast.Constant) else None
    return None


def is_reacher(node: ast.Call) -> bool:
    """Whether it is a call of getattr, setattr, delattr or hasattr with what they need."""
    return isinstance(node.func, ast.Name) and node.func.id in REACHERS and len(node.args) > 1


def _imported(nodes: tuple[ast.AST, ...]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (top, top)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module = "." * node.level + (node.module or "")
                yield alias.asname or alias.name, f"{module}.{alias.name}" if node.module else alias.name


def _bound(nodes: tuple[ast.AST, ...]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
