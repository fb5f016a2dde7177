"""A module's inputs in one line each: `f32[64,1024]`, `i64[64]:0..1000`, `bool[64,64]`."""

import re
from dataclasses import dataclass
from typing import Self

from warpsmith.core import UsageError

FLOATS = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
INTEGERS = {"i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8"}
DTYPES = {**FLOATS, **INTEGERS, "bool": "bool"}
MAX_ELEMENTS = 1 << 34

_FORM = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[\d\s,]*)\](?::(?P<low>[^.].*?|\.\d.*?)\.\.(?P<high>.+))?")
_GRAMMAR = (
    f"write dtype[sizes], with :low..high where values are bounded (high excluded), such as f32[64,1024], "
    f"i64[64]:0..1000 or bool[64,64]; dtypes: {', '.join(DTYPES)}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """One tensor: normal where floating and unbounded, uniform within bounds, a fair coin where boolean."""

    dtype: str
    shape: tuple[int, ...]
    low: str | None = None
    high: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises UsageError, naming the form and the dtypes, if `text` is no such line."""
        found = _FORM.fullmatch(text.strip())
        if found is None or found["dtype"] not in DTYPES:
            raise UsageError(f"{text!r} is no input; {_GRAMMAR}")
        sizes = [size.strip() for size in found["shape"].split(",")] if found["shape"].strip() else []
        if not all(sizes):
            raise UsageError(f"{text!r} has an empty size; {_GRAMMAR}")
        spec = cls(dtype=found["dtype"], shape=tuple(map(int, sizes)), low=found["low"], high=found["high"])
        spec._check(text)
        return spec

    def _check(self, text: str) -> None:
        num_elements = 1
        for size in self.shape:
            num_elements *= size
        if not 0 < num_elements <= MAX_ELEMENTS:
            raise UsageError(f"{text!r} has {num_elements} elements; 1 to {MAX_ELEMENTS} are accepted")
        if self.dtype in INTEGERS and self.low is None:
            raise UsageError(
                f"{text!r}: integers need bounds, such as {text.strip()}:0..1000 (high excluded)"
            )
        if self.dtype == "bool" and self.low is not None:
            raise UsageError(f"{text!r}: booleans have no bounds; write {text.partition(':')[0].strip()}")
        if self.low is not None and self.high is not None:
            self._check_bounds(text, self.low, self.high)

    def _check_bounds(self, text: str, low: str, high: str) -> None:
        number = int if self.dtype in INTEGERS else float
        least, most = _range(self.dtype)
        try:
            is_range = least <= number(low) < number(high) <= most
        except ValueError as error:
            raise UsageError(f"{text!r}: a bound is no number of that dtype; {_GRAMMAR}") from error
        if not is_range:
            raise UsageError(f"{text!r}: low must be below high, and both must fit into {self.dtype}")

    @property
    def expression(self) -> str:
        """Python that makes such a tensor."""
        shape = f"({', '.join(map(str, self.shape))}{',' if len(self.shape) == 1 else ''})"
        dtype = f"torch.{DTYPES[self.dtype]}"
        if self.dtype == "bool":
            return f"torch.rand({shape}) < 0.5"
        if self.dtype in INTEGERS:
            return f"torch.randint({int(self.low or 0)}, {int(self.high or 0)}, {shape}, dtype={dtype})"
        if self.low is None or self.high is None:
            return f"torch.randn({shape}, dtype={dtype})"
        return f"torch.empty({shape}, dtype={dtype}).uniform_({float(self.low)!r}, {float(self.high)!r})"


def _range(dtype: str) -> tuple[float, float]:
    """The bounds that a dtype's values may have, the upper one excluded; a float's are only finite."""
    if dtype in FLOATS:
        return -3e38, 3e38
    bits = int(dtype[1:])
    return (0, 1 << bits) if dtype.startswith("u") else (-(1 << (bits - 1)), 1 << (bits - 1))
