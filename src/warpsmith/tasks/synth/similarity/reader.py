"""A model read as the graph of tensors that its forward computes; nothing of it is executed.

Names, the order of statements, helper functions, submodules and the way an operator is spelled leave no
trace in it, nor does anything that is a number. A loop whose length is a number is read once.
"""

import ast

from warpsmith.core import TaskError
from warpsmith.tasks.synth.similarity.machine import MAX_DEPTH
from warpsmith.tasks.synth.similarity.operators import operator
from warpsmith.tasks.synth.similarity.program import MODEL, Program
from warpsmith.tasks.synth.similarity.statements import Statements
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

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Classes = tuple[ast.ClassDef, ...]
CALLED = ("forward", "__call__")


def outputs(program: Program) -> tuple[Node, ...]:
    """The tensors that forward returns.

    Raises TaskError if there is no forward, it is too large, or no operator is found in it: what cannot be
    compared must not pass for unlike everything.
    """
    definition = program.definitions[MODEL]
    assert isinstance(definition, ast.ClassDef)
    reader = Reader(program=program)
    try:
        model = reader.instance(definition, Arguments(positional=reader.given()))
        found = tuple(reader.tensors(reader.forward(model)))
    except RecursionError as error:
        raise TaskError(f"{program.task_id}: nested too deeply to compare") from error
    if not any(node.is_operator for node in found):
        raise TaskError(f"{program.task_id}: no operator is found in its forward, so it cannot be compared")
    return found


class Reader(Statements):
    """Calls, above all those of what the file itself defines."""

    __slots__ = ()

    def forward(self, model: Instance) -> Value:
        """What `model` makes of one tensor for each that get_inputs gives, or that it must be given."""
        assert model.definition is not None
        found = self._method(self._classes(model.definition), CALLED)
        if found is None:
            raise TaskError(f"{self.program.task_id}: its {MODEL} has no forward to compare")
        function, classes = found
        inputs = [self.leaf("input") for _ in range(self._num_inputs(function.args))]
        return self.inlined(
            function, Arguments(positional=(model, *inputs)), Frame(owner=model, classes=classes)
        )

    def given(self) -> tuple[Value, ...]:
        """What get_init_inputs gives the model: texts, classes, records; lists of numbers are sizes too."""
        values = self.spliced(self.program.listed("get_init_inputs") or [], Frame())
        return tuple(
            value if isinstance(value, Text | Named | Local | Instance) else SIZE for value in values
        )

    def _num_inputs(self, parameters: ast.arguments) -> int:
        most = len(parameters.posonlyargs) + len(parameters.args) - 1
        given = self.program.listed("get_inputs")
        if given is not None and (len(given) <= most or parameters.vararg is not None):
            return len(given)
        num_required = most - len(parameters.defaults) + (parameters.vararg is not None)
        return num_required or most

    def call(self, callee: Value, arguments: Arguments) -> Value:
        value: Value
        match callee:
            case Local(definition=ast.ClassDef() as definition):
                value = self.instance(definition, arguments)
            case Local():
                value = self._function(callee, arguments)
            case Instance():
                value = self._module(callee, arguments)
            case Several(items=items, is_chain=True):
                value = self._chain(items, arguments)
            case Choice(options=options):
                value = self.one_of([self.call(option, arguments) for option in options])
            case _:
                value = self._foreign(callee, arguments)
        return value

    def _foreign(self, callee: Value, arguments: Arguments) -> Value:
        match callee:
            case Named(path=path):
                return self.library(path, arguments)
            case Method(of=of, name=name):
                return self.method(of, name, arguments)
            case _:
                nodes = self.tensors(*arguments.values)
                return self.node("call", nodes) if nodes else SIZE

    def attribute(self, of: Value, name: str) -> Value:
        match of:
            case Super(owner=owner, classes=classes):
                return self._bound(owner, classes, name) or Method(owner, name)
            case Instance(definition=ast.ClassDef() as definition, attributes=attributes):
                if name not in attributes:
                    return self._bound(of, self._classes(definition), name) or Method(of, name)
            case Local(definition=ast.ClassDef() as definition):
                return self._of_class(definition, name)
            case _:
                pass
        return Statements.attribute(self, of, name)

    def instance(self, definition: ast.ClassDef, arguments: Arguments) -> Instance:
        """A module of a class of the file, its constructor read."""
        made = Instance(definition.name, definition, attributes=dict(arguments.named))
        classes = self._classes(definition)
        for one in reversed(classes):
            frame = Frame()
            self.execute([node for node in one.body if not isinstance(node, ast.FunctionDef)], frame)
            made.attributes.update(frame.names)
        found = self._method(classes, ("__init__",))
        if found is not None:
            given = Arguments(positional=(made, *arguments.positional), named=arguments.named)
            self.inlined(found[0], given, Frame(owner=made, classes=found[1]))
        return made

    def inlined(self, function: Function, arguments: Arguments, frame: Frame) -> Value:
        """What a call of `function` returns; beyond MAX_DEPTH calls it is an operator of its own."""
        if self.depth >= MAX_DEPTH:
            return self.node("recursion", self.tensors(*arguments.values))
        self.depth += 1
        try:
            self._bind(function.args, arguments, frame)
            if isinstance(function, ast.Lambda):
                return self.evaluate(function.body, frame)
            self.execute(function.body, frame)
            return self.one_of(frame.returned)
        finally:
            self.depth -= 1

    def _function(self, callee: Local, arguments: Arguments) -> Value:
        definition = callee.definition
        assert not isinstance(definition, ast.ClassDef)
        frame = Frame(outer=callee.scope, owner=callee.owner, classes=callee.classes)
        if callee.owner is not None and not _is_decorated(definition, "staticmethod"):
            arguments = Arguments(positional=(callee.owner, *arguments.positional), named=arguments.named)
        return self.inlined(definition, arguments, frame)

    def _module(self, module: Instance, arguments: Arguments) -> Value:
        if module.definition is not None:
            classes = self._classes(module.definition)
            found = self._bound(module, classes, "forward") or self._bound(module, classes, "__call__")
            return self.call(found, arguments) if found else self._inherited(module, classes, arguments)
        if module.label == "identity":
            return arguments.first
        nodes = [*self.operands(arguments), *module.arguments]
        return self.node(module.label, nodes, of=module) if self.tensors(*arguments.values) else SIZE

    def _inherited(self, module: Instance, classes: Classes, arguments: Arguments) -> Value:
        """A class of the file that leaves its forward to a library's."""
        bases = [self.program.dotted(base) for one in classes for base in one.bases]
        label = next((operator(base) for base in bases if base is not None), "call")
        return self.node(label, self.operands(arguments), of=module)

    def _chain(self, modules: list[Value], arguments: Arguments) -> Value:
        value = arguments.first
        for module in modules:
            value = self.call(module, Arguments(positional=(value,)))
        return value

    def _of_class(self, definition: ast.ClassDef, name: str) -> Value:
        """`Class.name`: an autograd function's apply is its forward with a context."""
        found = self._method(self._classes(definition), ("forward" if name == "apply" else name,))
        if found is None:
            return SIZE
        if name != "apply":
            return Local(found[0])
        plain = ast.FunctionDef(**{**vars(found[0]), "decorator_list": []})
        return Local(plain, owner=Instance("context"))

    def _classes(self, definition: ast.ClassDef) -> Classes:
        """The class and those of the file that it inherits from, as they are asked for a method."""
        order = [definition]
        for one in order:
            for base in one.bases:
                found = self.program.definitions.get(base.id) if isinstance(base, ast.Name) else None
                if isinstance(found, ast.ClassDef) and found not in order:
                    order.append(found)
        return tuple(order)

    def _method(self, classes: Classes, names: tuple[str, ...]) -> tuple[ast.FunctionDef, Classes] | None:
        """The first method of one of these names, and the classes after its own."""
        for at, definition in enumerate(classes):
            for node in definition.body:
                if isinstance(node, ast.FunctionDef) and node.name in names:
                    return node, classes[at + 1 :]
        return None

    def _bound(self, owner: Instance, classes: Classes, name: str) -> Value | None:
        found = self._method(classes, (name,))
        if found is None:
            return None
        bound = Local(found[0], owner=owner, classes=found[1])
        return self.call(bound, Arguments()) if _is_decorated(found[0], "property") else bound

    def _bind(self, parameters: ast.arguments, arguments: Arguments, frame: Frame) -> None:
        """Names to arguments; what is not given and has no default is a number, as sizes are."""
        names = [argument.arg for argument in (*parameters.posonlyargs, *parameters.args)]
        given = dict(zip(names, arguments.positional, strict=False)) | arguments.named
        defaults = dict(zip(reversed(names), reversed(parameters.defaults), strict=False))
        only = {
            argument.arg: default
            for argument, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
            if default is not None
        }
        for name in (*names, *(argument.arg for argument in parameters.kwonlyargs)):
            default = defaults.get(name) or only.get(name)
            absent = self.evaluate(default, Frame(outer=frame.outer)) if default is not None else SIZE
            frame.names[name] = given.pop(name, absent)
        if parameters.vararg is not None:
            frame.names[parameters.vararg.arg] = Several(list(arguments.positional[len(names) :]))
        if parameters.kwarg is not None:
            frame.names[parameters.kwarg.arg] = Several(list(given.values()))


def _is_decorated(function: Function, name: str) -> bool:
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    return any(
        (isinstance(one, ast.Name) and one.id == name)
        or (isinstance(one, ast.Attribute) and one.attr.endswith(name))
        for one in decorators
    )
