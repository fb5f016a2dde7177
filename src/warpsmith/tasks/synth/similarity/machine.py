"""What reading a model needs to remember: the tensors met so far, and how much has been read."""

import ast
import builtins
from dataclasses import dataclass, field

from warpsmith.core import TaskError
from warpsmith.tasks.synth.similarity.operators import SETTINGS, WITH_INDICES
from warpsmith.tasks.synth.similarity.program import Definition, Program
from warpsmith.tasks.synth.similarity.values import (
    SIZE,
    Arguments,
    Choice,
    Frame,
    Instance,
    Local,
    Named,
    Node,
    Several,
    Text,
    Value,
)

MAX_STEPS = 60_000  # expressions; the largest program of KernelBench takes a few thousand
MAX_DEPTH = 24  # functions of the file, one within another
MAX_ITEMS = 64  # of a list that is gone through

Key = tuple[str, tuple[int, ...], int]


@dataclass(slots=True, kw_only=True)
class Machine:
    """Equal operators on equal tensors are one tensor: common subexpressions are found."""

    program: Program
    depth: int = 0
    _steps: int = 0
    _nodes: dict[Key, Node] = field(default_factory=dict)
    _constants: dict[str, Value] = field(default_factory=dict)
    _kept: list[object] = field(default_factory=list)  # what a key's id belongs to must not be freed

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        """What `node` stands for."""
        raise NotImplementedError

    def execute(self, body: list[ast.stmt], frame: Frame) -> None:
        """Reads `body`; what it returns is added to the frame's."""
        raise NotImplementedError

    def call(self, callee: Value, arguments: Arguments) -> Value:
        """What `callee` gives for `arguments`."""
        raise NotImplementedError

    def attribute(self, of: Value, name: str) -> Value:
        """What `of.name` stands for."""
        raise NotImplementedError

    def tick(self) -> None:
        """Raises TaskError where a program is too large to compare."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TaskError(
                f"{self.program.task_id}: too large to compare ({MAX_STEPS} expressions were read)"
            )

    def node(self, label: str, children: list[Node], *, of: object = None, is_operator: bool = True) -> Node:
        """The tensor that `label` makes of `children`; `of` tells apart what the text writes alike."""
        key = (label, tuple(map(id, children)), id(of) if of is not None else 0)
        if key not in self._nodes:
            self._nodes[key] = Node(label, tuple(children), is_operator)
            self._kept.append(of)
        return self._nodes[key]

    def leaf(self, label: str) -> Node:
        """A new tensor that no operator made."""
        return Node(label, is_operator=False)

    def tensors(self, *values: Value) -> list[Node]:
        """The tensors in `values`, in order."""
        found: list[Node] = []
        for value in values:
            self.tick()
            match value:
                case Node():
                    found.append(value)
                case Several(items=items) | Choice(options=items):
                    found += self.tensors(*items)
                case Instance(definition=None, arguments=arguments):  # a library's record of outputs
                    found += [node for node in arguments if node.is_operator]
                case _:
                    pass
        return found

    def operands(self, arguments: Arguments, *, text: str | None = None) -> list[Node]:
        """What an operator works on: tensors, and what chooses between variants of it: texts and modules."""
        values = [value for name, value in arguments.named.items() if name not in SETTINGS]
        found: list[Node] = []
        for value in (*arguments.positional, *values):
            found += self._operands(value, text)
        return found

    def _operands(self, value: Value, text: str | None) -> list[Node]:
        match value:
            case Text(text=word):
                return [self.node(f"'{text or word}'", [], is_operator=False)]
            case Instance(label=label) | Named(path=label):
                is_setting = isinstance(value, Named) and not label.rpartition(".")[2][:1].isupper()
                return [] if is_setting else [self.node(f"<{label}>", [], is_operator=False)]
            case Several(items=items) | Choice(options=items):
                return [node for item in items for node in self._operands(item, text)]
            case _:
                return self.tensors(value)

    def one_of(self, values: list[Value]) -> Value:
        """What stands for all of `values`: themselves if they are one, else a choice."""
        flat: list[Value] = []
        for value in values:
            for option in value.options if isinstance(value, Choice) else (value,):
                if option != SIZE and option not in flat[:MAX_ITEMS]:
                    flat.append(option)
        flat = flat[:MAX_ITEMS]
        if len(flat) <= 1:
            return flat[0] if flat else SIZE
        nodes = [option for option in flat if isinstance(option, Node)]
        return self.node("either", nodes) if len(nodes) == len(flat) else Choice(tuple(flat))

    def part(self, of: Node, at: int | None, index: list[Node]) -> Node:
        """`of[at]`, where `at` is None unless it is a number; a maximum is the first part of itself."""
        if of.label in WITH_INDICES and not index and at in (0, 1):
            return of if at == 0 else self.node(f"arg{of.label}", list(of.children))
        return self.node("index", [of, *index])

    def elements(self, value: Value) -> list[Value]:
        """What a loop over `value` goes through: a list's items, one for all where their number is a size."""
        match value:
            case Several(items=items):
                return items[:MAX_ITEMS]
            case Node():
                return [self.node("item", [value])]
            case Choice(options=options):
                return [self.one_of([one for option in options for one in self.elements(option)])]
            case _:
                return [SIZE]

    def lookup(self, name: str, frame: Frame) -> Value:
        """What a name stands for; one that nobody binds is a builtin's or a number's."""
        for scope in (frame.names, frame.outer, self._constants):
            if name in scope:
                return scope[name]
        definition: Definition | None = self.program.definitions.get(name)
        if definition is not None:
            return Local(definition)
        if name in self.program.imports:
            return Named(self.program.imports[name])
        if name in self.program.constants:
            self._constants[name] = SIZE  # should it be defined by itself
            self._constants[name] = self.evaluate(self.program.constants[name], Frame())
            return self._constants[name]
        return Named(f"builtins.{name}") if hasattr(builtins, name) else SIZE
