"""What a name stands for while a model is read without being run: a tensor's origin, a module, a number …"""

import ast
from dataclasses import dataclass, field
from typing import TypeAlias

from warpsmith.tasks.synth.similarity.program import Definition


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A tensor: the operator that made it, and the tensors that went in. Each object is another tensor."""

    label: str
    children: tuple["Node", ...] = ()
    is_operator: bool = True  # inputs, parameters and texts are not


@dataclass(frozen=True, slots=True)
class Size:
    """No tensor, module or text: a number, a flag, a shape, a dtype, None, an argument of the constructor."""


@dataclass(frozen=True, slots=True)
class Text:
    """A string that may choose what is computed, such as approximate="tanh"."""

    text: str


@dataclass(slots=True, eq=False)
class Several:
    """A list, tuple or dict; a container of modules is one that may be called."""

    items: list["Value"] = field(default_factory=list)
    is_chain: bool = False  # called one after the other, as nn.Sequential


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of these, and the text does not tell which."""

    options: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Named:
    """Something of a library: a function, class or module under its dotted path."""

    path: str


@dataclass(slots=True, eq=False)
class Instance:
    """A module: a library's under its operator's name, or one of a class of the file."""

    label: str
    definition: ast.ClassDef | None = None
    attributes: dict[str, "Value"] = field(default_factory=dict)
    arguments: tuple[Node, ...] = ()  # texts and tensors that the constructor was given


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """A class or function of the file, or one that was defined in a function or by lambda."""

    definition: Definition | ast.Lambda
    scope: dict[str, "Value"] = field(default_factory=dict)
    owner: Instance | None = None  # for methods
    classes: tuple[ast.ClassDef, ...] = ()  # for methods: those after the class that defines it


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A method or attribute, not called yet, of something that the file does not define."""

    of: "Value"
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Super:
    """What `super()` gives in a method of `owner`: the classes that are asked next."""

    owner: Instance
    classes: tuple[ast.ClassDef, ...]


Value: TypeAlias = Node | Size | Text | Several | Choice | Named | Instance | Local | Method | Super

SIZE = Size()


Scope: TypeAlias = dict[str, Value]


@dataclass(slots=True, kw_only=True)
class Frame:
    """One call of a function of the file."""

    names: Scope = field(default_factory=dict)
    outer: Scope = field(default_factory=dict)  # of the function that this one was defined in
    owner: Instance | None = None  # self, in a method
    classes: tuple[ast.ClassDef, ...] = ()  # which super() asks
    returned: list[Value] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What a call was given."""

    positional: tuple[Value, ...] = ()
    named: dict[str, Value] = field(default_factory=dict)

    @property
    def values(self) -> tuple[Value, ...]:
        return (*self.positional, *self.named.values())

    @property
    def first(self) -> Value:
        return next(iter(self.values), SIZE)
