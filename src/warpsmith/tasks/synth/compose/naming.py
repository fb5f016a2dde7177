"""Names: for sizes, so that a text speaks of `features` and not of 4096, and for what a model holds."""

import re
from collections.abc import Callable, Iterable, Iterator

from torch import nn

LITERAL = re.compile(r"(?:\b(?P<keyword>[a-z_]\w*)=)?(?<![\w.'\"-])(?P<number>\d+)(?![\w.'\"])")
"""A whole number in an expression, with the keyword that it is given for."""

LEAST_NAMED = 32
"""Below this a number is a kernel, a stride or a number of groups, which a reader knows as it stands."""

RESERVED = frozenset(dir(nn.Module)) | {"x", "self"}


class Names:
    """Identifiers, each once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def fresh(self, wanted: str) -> str:
        """`wanted`, with a number behind it if it is taken."""
        name, number = wanted, 2
        while name in self._taken or name in RESERVED:
            name, number = f"{wanted}{number}", number + 1
        self._taken.add(name)
        return name


class Sizes:
    """Named numbers, in the order in which they were met."""

    def __init__(self, names: Iterable[str], values: Iterable[int], taken: Names) -> None:
        self._names = {value: name for name, value in zip(names, values, strict=True)}
        self._taken = taken
        for name in self._names.values():
            taken.fresh(name)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter([(name, value) for value, name in self._names.items()])

    def of(self, value: int, wanted: str) -> str:
        """The name of `value`; a new one like `wanted` if it has none. Small numbers stand for themselves."""
        if value in self._names:
            return self._names[value]
        if value < LEAST_NAMED or not wanted:
            return str(value)
        self._names[value] = self._taken.fresh(wanted)
        return self._names[value]

    def spelled(self, text: str, wanted: str, use: Callable[[str], str]) -> str:
        """`text` with names for its numbers; `use` says how the text refers to a name."""

        def name(found: re.Match[str]) -> str:
            keyword, number = found["keyword"], int(found["number"])
            told = str(number) if number < LEAST_NAMED else self.of(number, keyword or wanted)
            told = told if told.isdigit() else use(told)
            return f"{keyword}={told}" if keyword else told

        return LITERAL.sub(name, text)
