"""A call of one of ATen's operators, as it stands in the traced program."""

from collections.abc import Callable
from dataclasses import dataclass

from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.graph import Number, Operand, Shape, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One operator of the traced program: all its arguments by name, its results' shapes and dtypes."""

    op: str  # "add", without namespace and overload
    arguments: dict[str, Operand]  # in the schema's order
    results: tuple[tuple[Shape, str], ...]

    @property
    def shape(self) -> Shape:
        return self.results[0][0]

    @property
    def dtype(self) -> str:
        return self.results[0][1]

    def view(self, name: str = "self") -> View:
        """An argument that must be a tensor."""
        view = self.arguments[name]
        assert isinstance(view, View), f"{self.op}: {name} is {view!r}"
        return view

    def scalar(self, name: str) -> View | Number:
        """An argument that is a tensor or a number."""
        operand = self.arguments[name]
        assert isinstance(operand, View | bool | int | float), f"{self.op}: {name} is {operand!r}"
        return operand

    def integer(self, name: str) -> int:
        number = self.arguments[name]
        assert isinstance(number, int), f"{self.op}: {name} is {number!r}"
        return number

    def real(self, name: str) -> float:
        number = self.arguments[name]
        assert isinstance(number, int | float), f"{self.op}: {name} is {number!r}"
        return number

    def integers(self, name: str) -> tuple[int, ...]:
        numbers = self.arguments[name]
        assert isinstance(numbers, tuple), f"{self.op}: {name} is {numbers!r}"
        return tuple(n for n in numbers if isinstance(n, int))

    def axis(self, name: str = "dim") -> int:
        """An axis of `self`, counted from the front."""
        axis, rank = self.integer(name), len(self.view().shape)
        return axis % rank if rank else 0

    def axes(self, name: str = "dim") -> tuple[int, ...]:
        """Axes of `self`, counted from the front; all of them when none is named."""
        rank = len(self.view().shape)
        named = self.arguments.get(name)
        if isinstance(named, int):
            named = (named,)
        if not isinstance(named, tuple) or not named:
            return tuple(range(rank))
        return tuple(sorted(n % rank for n in named if isinstance(n, int)))


Lowering = Callable[[Builder, Call], Operand]
