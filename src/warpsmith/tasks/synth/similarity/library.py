"""What functions, classes and methods of torch, Python and other libraries make of their arguments."""

from collections.abc import Callable

from warpsmith.tasks.synth.similarity.expressions import Expressions
from warpsmith.tasks.synth.similarity.machine import MAX_ITEMS
from warpsmith.tasks.synth.similarity.operators import (
    CHAINS,
    LEAVES,
    LISTS,
    OWN_PARAMETERS,
    PASSED_ON,
    SIZES,
    equation,
    operator,
)
from warpsmith.tasks.synth.similarity.values import (
    SIZE,
    Arguments,
    Choice,
    Instance,
    Method,
    Named,
    Node,
    Several,
    Text,
    Value,
)

NO_TENSORS = frozenset(
    {"device", "size", "finfo", "iinfo", "istensor", "getdefaultdtype", "nograd", "enablegrad", "generator"}
)
HANDED_BACK = frozenset(
    {"tuple", "list", "reversed", "sorted", "iter", "set", "deepcopy", "copy", "partial", "script", "compile"}
)
GROWS = frozenset({"append", "extend", "insert", "update", "add"})
REGISTERS = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})
ATTRIBUTE_OPERATORS = frozenset({"T", "mT", "H", "mH", "real", "imag"})


class Library(Expressions):
    """Calls that leave the file."""

    __slots__ = ()

    def library(self, path: str, arguments: Arguments) -> Value:
        """What the library's `path` gives when it is called."""
        owner, _, last = path.rpartition(".")
        name = operator(last)
        if path.startswith("builtins.") and name in BUILTINS:
            return BUILTINS[name](self, arguments)
        if name in HANDED_BACK:
            first = arguments.first
            return Several(list(first.items)) if isinstance(first, Several) else first
        if last[:1].isupper():
            return self._constructed(name, arguments)
        if owner.rpartition(".")[2][:1].isupper():  # Class.from_pretrained(…), Class.from_config(…)
            return Instance(operator(owner), arguments=tuple(self.operands(arguments)))
        return self._computed(owner, name, arguments)

    def _computed(self, owner: str, name: str, arguments: Arguments) -> Value:
        """What a function makes; torch's make tensors even of none, others' then make numbers."""
        if owner.endswith("nn.init") or (owner == "torch" and name in NO_TENSORS):
            return SIZE
        if not self.tensors(*arguments.values) and owner.partition(".")[0] != "torch":
            return SIZE
        nodes = self.operands(arguments, text=_equation(name, arguments))
        if name in OWN_PARAMETERS:
            nodes = [node for node in nodes if node.label not in LEAVES]
        return self.node(name, nodes)

    def _constructed(self, name: str, arguments: Arguments) -> Value:
        if name in LEAVES:
            return self.leaf(name)
        if name in CHAINS or name in LISTS:
            return Several(self._modules(*arguments.values), is_chain=name in CHAINS)
        return Instance(name, attributes=dict(arguments.named), arguments=tuple(self.operands(arguments)))

    def _modules(self, *values: Value) -> list[Value]:
        """The modules and parameters in lists of them, or in a dict's pairs of name and module."""
        found: list[Value] = []
        for value in values:
            if isinstance(value, Several) and not value.is_chain:
                found += self._modules(*value.items)
            elif not isinstance(value, Text) and value != SIZE:
                found.append(value)
        return found

    def method(self, of: Value, name: str, arguments: Arguments) -> Value:
        """`of.name(…)` for a tensor, a list, a module of a library's, or anything else."""
        match of:
            case Node():
                if name in SIZES:
                    return SIZE
                if name in PASSED_ON or name == "to":
                    return of
                return self.node(operator(name), [of, *self.operands(arguments)])
            case Several():
                return self._list_method(of, name, arguments)
            case Instance():
                return self._module_method(of, name, arguments)
            case _:
                nodes = self.tensors(*arguments.values)
                return self.node(operator(name), self.operands(arguments)) if nodes else SIZE

    def _list_method(self, of: Several, name: str, arguments: Arguments) -> Value:
        if name in GROWS:
            grown = arguments.first if name in ("extend", "update") else Several(list(arguments.values))
            of.items += [value for value in self.elements(grown) if value != SIZE]
            return of
        if name == "add_module":
            of.items += [value for value in arguments.values if not isinstance(value, Text)]
        if name == "items":
            return Several([Several([SIZE, item]) for item in of.items])
        return Several(list(of.items)) if name in ("values", "copy") else self.one_of(of.items)

    def _module_method(self, of: Instance, name: str, arguments: Arguments) -> Value:
        values = arguments.values
        if name in REGISTERS and len(values) >= 2 and isinstance(values[0], Text):
            of.attributes[values[0].text] = values[1]
            return SIZE
        if name in ("to", "eval", "train", "cuda", "half", "float", "requires_grad_", "apply"):
            return of
        nodes = self.tensors(*values)
        label = f"{of.label}.{operator(name)}"
        return self.node(label, [*self.operands(arguments), *of.arguments], of=of) if nodes else SIZE

    def attribute(self, of: Value, name: str) -> Value:
        match of:
            case Named(path=path):
                return Named(f"{path}.{name}")
            case Node():
                return self._tensor_attribute(of, name)
            case Choice(options=options):
                return self.one_of([self.attribute(option, name) for option in options])
            case Instance(attributes=attributes) if name in attributes:
                return attributes[name]
            case Instance(definition=None) if name.rpartition("_")[2] in ("weight", "bias"):
                return of.attributes.setdefault(name, self.leaf("parameter"))
        return SIZE if of == SIZE else Method(of, name)

    def _tensor_attribute(self, of: Node, name: str) -> Value:
        if name in ATTRIBUTE_OPERATORS:
            return self.node(operator(name), [of])
        if name == "data":
            return of
        return SIZE if name in ("shape", "dtype", "device", "ndim") else Method(of, name)

    def zipped(self, arguments: Arguments) -> Value:
        lists = [self.elements(value) for value in arguments.positional]
        known = [found for found in lists if found != [SIZE]]
        length = min(map(len, known), default=1)
        return Several([Several([row[min(at, len(row) - 1)] for row in lists]) for at in range(length)])

    def enumerated(self, arguments: Arguments) -> Value:
        return Several([Several([SIZE, element]) for element in self.elements(arguments.first)])

    def mapped_over(self, arguments: Arguments) -> Value:
        lists = [self.elements(value) for value in arguments.positional[1:]]
        rows = zip(*lists, strict=False)
        return Several([self.call(arguments.first, Arguments(positional=row)) for row in rows])

    def got(self, arguments: Arguments) -> Value:
        """getattr; where the name is not spelled, any module or tensor that there is."""
        values = arguments.positional
        if len(values) > 1 and isinstance(values[1], Text):
            return self.attribute(values[0], values[1].text)
        if isinstance(values[0], Instance):
            return self.one_of(list(values[0].attributes.values())[:MAX_ITEMS])
        return SIZE

    def set(self, arguments: Arguments) -> Value:
        """setattr; a name that is not spelled is a new one."""
        values = arguments.positional
        if len(values) == 3 and isinstance(values[0], Instance):
            name = values[1].text if isinstance(values[1], Text) else f"[{len(values[0].attributes)}]"
            values[0].attributes[name] = values[2]
        return SIZE

    def following(self, arguments: Arguments) -> Value:
        return self.one_of(self.elements(arguments.first))


def _equation(name: str, arguments: Arguments) -> str | None:
    first = arguments.first
    return equation(first.text) if name == "einsum" and isinstance(first, Text) else None


BUILTINS: dict[str, Callable[[Library, Arguments], Value]] = {
    "zip": Library.zipped,
    "enumerate": Library.enumerated,
    "map": Library.mapped_over,
    "getattr": Library.got,
    "setattr": Library.set,
    "next": Library.following,
    "print": lambda *_: SIZE,
    "len": lambda *_: SIZE,
    "isinstance": lambda *_: SIZE,
    "range": lambda *_: SIZE,
    "int": lambda *_: SIZE,
    "float": lambda *_: SIZE,
    "str": lambda *_: SIZE,
    "hasattr": lambda *_: SIZE,
    "type": lambda *_: SIZE,
    "id": lambda *_: SIZE,
}
