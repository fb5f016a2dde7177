"""Expressions: what each stands for, without running it."""

import ast
from collections.abc import Callable
from typing import Any, TypeVar

from warpsmith.tasks.synth.similarity.machine import Machine
from warpsmith.tasks.synth.similarity.operators import SYMBOLS, WITH_INDICES, operator
from warpsmith.tasks.synth.similarity.values import (
    SIZE,
    Arguments,
    Choice,
    Frame,
    Instance,
    Local,
    Method,
    Named,
    Node,
    Several,
    Super,
    Text,
    Value,
)

E = TypeVar("E", bound=ast.expr)

PARTS = {"values": 0, "indices": 1}

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class Expressions(Machine):
    """Everything that is an expression but for what a call does."""

    __slots__ = ()

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        self.tick()
        read = READERS.get(type(node))
        return read(self, node, frame) if read else SIZE

    def constant(self, node: ast.Constant, _: Frame) -> Value:
        return Text(node.value) if isinstance(node.value, str) else SIZE

    def name(self, node: ast.Name, frame: Frame) -> Value:
        return self.lookup(node.id, frame)

    def dotted(self, node: ast.Attribute, frame: Frame) -> Value:
        of = self.evaluate(node.value, frame)
        found = self.attribute(of, node.attr)
        if isinstance(of, Node) and isinstance(found, Method):  # one part of what an operator gave
            return self.part(of, PARTS.get(node.attr), [])
        return found

    def binary(self, node: ast.BinOp, frame: Frame) -> Value:
        return self.combined(node.op, self.evaluate(node.left, frame), self.evaluate(node.right, frame))

    def combined(self, symbol: ast.operator, left: Value, right: Value) -> Value:
        """`left symbol right`."""
        if isinstance(left, Several) or isinstance(right, Several):
            lists = [self.elements(side) for side in (left, right) if isinstance(side, Several)]
            return Several([item for items in lists for item in items])
        nodes = self.tensors(left, right)
        return self.node(SYMBOLS.get(type(symbol).__name__, type(symbol).__name__), nodes) if nodes else SIZE

    def unary(self, node: ast.UnaryOp, frame: Frame) -> Value:
        nodes = self.tensors(self.evaluate(node.operand, frame))
        if not nodes:
            return SIZE
        name = type(node.op).__name__
        return nodes[0] if name == "UAdd" else self.node(SYMBOLS[name], nodes)

    def compared(self, node: ast.Compare, frame: Frame) -> Value:
        values = [self.evaluate(side, frame) for side in (node.left, *node.comparators)]
        symbol = SYMBOLS.get(type(node.ops[0]).__name__)  # none for `is` and `in`: these are flags
        nodes = self.tensors(*values)
        return self.node(symbol, nodes) if symbol and nodes else SIZE

    def either(self, node: ast.BoolOp, frame: Frame) -> Value:
        return self.one_of([self.evaluate(value, frame) for value in node.values])

    def conditional(self, node: ast.IfExp, frame: Frame) -> Value:
        test = self.evaluate(node.test, frame)
        chosen = self.one_of([self.evaluate(node.body, frame), self.evaluate(node.orelse, frame)])
        return self.node("where", self.tensors(test, chosen)) if isinstance(test, Node) else chosen

    def subscript(self, node: ast.Subscript, frame: Frame) -> Value:
        return self.item(self.evaluate(node.value, frame), node.slice, frame)

    def item(self, of: Value, index: ast.expr, frame: Frame) -> Value:
        """`of[index]`."""
        at = self.evaluate(index, frame)
        match of:
            case Several(items=items):
                number = _number(index)
                if number is not None and -len(items) <= number < len(items):
                    return items[number]
                return Several(list(items)) if isinstance(index, ast.Slice) else self.one_of(items)
            case Node():
                return self.part(of, _number(index), self.tensors(at))
            case Choice(options=options):
                return self.one_of([self.item(option, index, frame) for option in options])
            case Named() if isinstance(at, Text):  # a table of a library's, such as ACT2FN["gelu"]
                return Instance(operator(at.text))
        return SIZE

    def listed(self, node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> Value:
        return Several(list(self.spliced(node.elts, frame)))

    def spliced(self, nodes: list[ast.expr], frame: Frame) -> tuple[Value, ...]:
        """The values of `nodes`, those of a starred list one by one."""
        found: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.evaluate(node.value, frame)
                found += self.elements(value) if isinstance(value, Several | Node) else [value]
            else:
                found.append(self.evaluate(node, frame))
        return tuple(found)

    def mapped(self, node: ast.Dict, frame: Frame) -> Value:
        values = [
            (key, self.evaluate(value, frame)) for key, value in zip(node.keys, node.values, strict=True)
        ]
        found = [self.elements(value) if key is None else [value] for key, value in values]
        return Several([value for values_ in found for value in values_])

    def slice(self, node: ast.Slice, frame: Frame) -> Value:
        parts = (part for part in (node.lower, node.upper, node.step) if part is not None)
        return Several([self.evaluate(part, frame) for part in parts])

    def comprehension(self, node: Comprehension, frame: Frame) -> Value:
        wanted = node.value if isinstance(node, ast.DictComp) else node.elt
        return Several(self._comprehended(wanted, node.generators, frame))

    def _comprehended(
        self, wanted: ast.expr, generators: list[ast.comprehension], frame: Frame
    ) -> list[Value]:
        if not generators:
            return [self.evaluate(wanted, frame)]
        found: list[Value] = []
        for element in self.elements(self.evaluate(generators[0].iter, frame)):
            self.assign(generators[0].target, element, frame)
            found += self._comprehended(wanted, generators[1:], frame)
        return found

    def function(self, node: ast.Lambda, frame: Frame) -> Value:
        return Local(node, scope={**frame.outer, **frame.names})

    def named(self, node: ast.NamedExpr, frame: Frame) -> Value:
        value = self.evaluate(node.value, frame)
        self.assign(node.target, value, frame)
        return value

    def within(self, node: ast.Starred | ast.Await, frame: Frame) -> Value:
        return self.evaluate(node.value, frame)

    def called(self, node: ast.Call, frame: Frame) -> Value:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and frame.owner is not None:
            return Super(frame.owner, frame.classes)
        if isinstance(node.func, ast.Attribute):
            callee = self.attribute(self.evaluate(node.func.value, frame), node.func.attr)
        else:
            callee = self.evaluate(node.func, frame)
        named = {
            word.arg or f"**{at}": self.evaluate(word.value, frame) for at, word in enumerate(node.keywords)
        }
        return self.call(callee, Arguments(positional=self.spliced(node.args, frame), named=named))

    def assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Binds `target`, as an assignment does."""
        match target:
            case ast.Name(id=name):
                frame.names[name] = value
            case ast.Attribute(value=of, attr=name):
                owner = self.evaluate(of, frame)
                if isinstance(owner, Instance):
                    owner.attributes[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for inner, part in zip(targets, self._parts(value, targets), strict=True):
                    self.assign(inner.value if isinstance(inner, ast.Starred) else inner, part, frame)
            case ast.Subscript():
                self._put(target, value, frame)
            case _:
                pass

    def _put(self, target: ast.Subscript, value: Value, frame: Frame) -> None:
        """`of[index] = value`: a tensor becomes another one, a list gets one more item."""
        of, index = self.evaluate(target.value, frame), self.evaluate(target.slice, frame)
        if isinstance(of, Several):
            of.items.append(value)
        elif isinstance(of, Node):
            self.assign(target.value, self.node("setitem", self.tensors(of, value, index)), frame)

    def _parts(self, value: Value, targets: list[ast.expr]) -> list[Value]:
        """One value for each of `targets`."""
        if isinstance(value, Several):
            star = next((at for at, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
            if star is not None and len(value.items) >= len(targets) - 1:
                end = len(value.items) - (len(targets) - 1 - star)
                return [*value.items[:star], Several(value.items[star:end]), *value.items[end:]]
            if len(value.items) == len(targets):
                return list(value.items)
            return [self.one_of(value.items)] * len(targets)
        if isinstance(value, Node) and value.label in WITH_INDICES:
            return [self.part(value, at, []) for at in range(len(targets))]
        if isinstance(value, Node):
            return [self.node("item", [value], of=target) for target in targets]
        return [SIZE] * len(targets)


def _number(index: ast.expr) -> int | None:
    """The integer that an index spells."""
    match index:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
        case _:
            return None


READERS: dict[type[ast.expr], Callable[[Expressions, Any, Frame], Value]] = {
    ast.Constant: Expressions.constant,
    ast.Name: Expressions.name,
    ast.Attribute: Expressions.dotted,
    ast.BinOp: Expressions.binary,
    ast.UnaryOp: Expressions.unary,
    ast.Compare: Expressions.compared,
    ast.BoolOp: Expressions.either,
    ast.IfExp: Expressions.conditional,
    ast.Subscript: Expressions.subscript,
    ast.List: Expressions.listed,
    ast.Tuple: Expressions.listed,
    ast.Set: Expressions.listed,
    ast.Dict: Expressions.mapped,
    ast.Slice: Expressions.slice,
    ast.ListComp: Expressions.comprehension,
    ast.SetComp: Expressions.comprehension,
    ast.GeneratorExp: Expressions.comprehension,
    ast.DictComp: Expressions.comprehension,
    ast.Lambda: Expressions.function,
    ast.NamedExpr: Expressions.named,
    ast.Starred: Expressions.within,
    ast.Await: Expressions.within,
    ast.Call: Expressions.called,
}
