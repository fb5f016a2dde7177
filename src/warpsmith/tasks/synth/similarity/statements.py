"""Statements: how they bind names; branches are all read, and what they leave different is a choice."""

import ast
from collections.abc import Callable
from typing import Any

from warpsmith.tasks.synth.similarity.library import Library
from warpsmith.tasks.synth.similarity.program import imported
from warpsmith.tasks.synth.similarity.values import Frame, Instance, Local, Named, Node, Scope, Several, Value


class Statements(Library):
    """Everything that is a statement."""

    __slots__ = ()

    def execute(self, body: list[ast.stmt], frame: Frame) -> None:
        for statement in body:
            self.tick()
            read = READERS.get(type(statement))
            if read is not None:
                read(self, statement, frame)
            if isinstance(statement, ast.Return | ast.Raise):
                return

    def assigned(self, node: ast.Assign, frame: Frame) -> None:
        value = self.evaluate(node.value, frame)
        for target in node.targets:
            self.assign(target, value, frame)

    def annotated(self, node: ast.AnnAssign, frame: Frame) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value, frame), frame)

    def augmented(self, node: ast.AugAssign, frame: Frame) -> None:
        old, new = self.evaluate(node.target, frame), self.evaluate(node.value, frame)
        if isinstance(old, Several):
            old.items += self.elements(new)
        else:
            self.assign(node.target, self.combined(node.op, old, new), frame)

    def expression(self, node: ast.Expr, frame: Frame) -> None:
        """`x.add_(y)` is `x = x.add(y)`."""
        value = self.evaluate(node.value, frame)
        match node.value:
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if name.endswith("_"):
                if isinstance(value, Node) and not isinstance(of, ast.Call):
                    self._changed(of, value, frame)

    def _changed(self, target: ast.expr, value: Node, frame: Frame) -> None:
        old = self.evaluate(target, frame)
        if isinstance(old, Node) and old.label in ("parameter", "buffer"):
            return  # with which numbers a parameter begins is no matter of structure
        self.assign(target, value, frame)

    def returned(self, node: ast.Return, frame: Frame) -> None:
        if node.value is not None:
            frame.returned.append(self.evaluate(node.value, frame))

    def branched(self, node: ast.If, frame: Frame) -> None:
        self.evaluate(node.test, frame)
        self._read_all([node.body, node.orelse], frame)

    def matched(self, node: ast.Match, frame: Frame) -> None:
        self.evaluate(node.subject, frame)
        self._read_all([case.body for case in node.cases], frame)

    def looped(self, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
        over = self.evaluate(node.iter, frame)
        before = dict(frame.names)
        for element in self.elements(over):
            self.assign(node.target, element, frame)
            self.execute(node.body, frame)
        if not isinstance(over, Several):
            self._repeated(before, frame)
        self.execute(node.orelse, frame)

    def repeated(self, node: ast.While, frame: Frame) -> None:
        before = dict(frame.names)
        self.evaluate(node.test, frame)
        self.execute(node.body, frame)
        self._repeated(before, frame)

    def _repeated(self, before: Scope, frame: Frame) -> None:
        """What a loop carries from one pass to the next is not what one pass alone would make."""
        for name, value in frame.names.items():
            carried = before.get(name)
            if isinstance(carried, Node) and isinstance(value, Node) and carried is not value:
                frame.names[name] = self.node("loop", [value])

    def entered(self, node: ast.With | ast.AsyncWith, frame: Frame) -> None:
        for item in node.items:
            value = self.evaluate(item.context_expr, frame)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value, frame)
        self.execute(node.body, frame)

    def tried(self, node: ast.Try, frame: Frame) -> None:
        self.execute(node.body, frame)
        self.execute(node.orelse, frame)
        self.execute(node.finalbody, frame)

    def defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, frame: Frame) -> None:
        scope = {**frame.outer, **frame.names}
        frame.names[node.name] = scope[node.name] = Local(node, scope=scope)

    def imports(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        frame.names.update({name: Named(path) for name, path in imported(node).items()})

    def _read_all(self, branches: list[list[ast.stmt]], frame: Frame) -> None:
        """Each branch from the same start; afterwards a name stands for what any of them gave it."""
        names, attributes = dict(frame.names), _attributes(frame.owner)
        ends: list[tuple[Scope, Scope]] = []
        for branch in branches:
            frame.names = dict(names)
            _restore(frame.owner, attributes)
            self.execute(branch, frame)
            ends.append((frame.names, _attributes(frame.owner)))
        frame.names = self._joined([end[0] for end in ends])
        _restore(frame.owner, self._joined([end[1] for end in ends]))

    def _joined(self, scopes: list[Scope]) -> Scope:
        names = dict.fromkeys(name for scope in scopes for name in scope)
        return {name: self._either([scope[name] for scope in scopes if name in scope]) for name in names}

    def _either(self, values: list[Value]) -> Value:
        """A value itself where all agree: a choice of a list with itself would no longer be that list."""
        first = values[0]
        return first if all(value is first for value in values) else self.one_of(values)


def _attributes(owner: Instance | None) -> Scope:
    return dict(owner.attributes) if owner is not None else {}


def _restore(owner: Instance | None, attributes: Scope) -> None:
    if owner is not None:
        owner.attributes = dict(attributes)


READERS: dict[type[ast.stmt], Callable[[Statements, Any, Frame], None]] = {
    ast.Assign: Statements.assigned,
    ast.AnnAssign: Statements.annotated,
    ast.AugAssign: Statements.augmented,
    ast.Expr: Statements.expression,
    ast.Return: Statements.returned,
    ast.If: Statements.branched,
    ast.Match: Statements.matched,
    ast.For: Statements.looped,
    ast.AsyncFor: Statements.looped,
    ast.While: Statements.repeated,
    ast.With: Statements.entered,
    ast.AsyncWith: Statements.entered,
    ast.Try: Statements.tried,
    ast.FunctionDef: Statements.defined,
    ast.AsyncFunctionDef: Statements.defined,
    ast.ClassDef: Statements.defined,
    ast.Import: Statements.imports,
    ast.ImportFrom: Statements.imports,
}
