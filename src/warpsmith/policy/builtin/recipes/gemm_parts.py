"""Operands taken apart for the tensor cores: where their parts lie, and the CUDA header that makes them."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from warpsmith.policy.builtin.recipes.gemm_methods import Split
from warpsmith.policy.builtin.recipes.gemm_product import Matrix, Product

PAD = 8  # elements: 16-byte rows of bf16, without which cuBLASLt has only its slow kernels

_PART_NAMES = ("high", "middle", "low")
_ROUNDED_TO_TF32 = "__uint_as_float((__float_as_uint(rest[i]) + 0x1000u) & 0xffffe000u)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One operand's parts as a tensor: [lines, slots, length] if its elements lie side by side along k.

    Otherwise they lie along the other axis, and so do the parts: [slots, lines, length]. Either way the slots
    follow each other along k, and k is padded, so that several slots are one operand of a longer product.
    """

    matrix: Matrix
    split: Split
    batch: int
    is_left: bool

    @classmethod
    def of(cls, product: Product, split: Split, *, is_left: bool) -> "Parts":
        matrix = product.left if is_left else product.right
        batch = product.batch if matrix.batch_stride else 1
        return cls(matrix=matrix, split=split, batch=batch, is_left=is_left)

    @property
    def is_along_k(self) -> bool:
        return self.matrix.is_transposed != self.is_left

    @property
    def num_lines(self) -> int:
        return self.matrix.cols if self.matrix.is_transposed else self.matrix.rows

    @property
    def length(self) -> int:
        return self.matrix.rows if self.matrix.is_transposed else self.matrix.cols

    @property
    def padded_lines(self) -> int:
        return self.num_lines if self.is_along_k else padded(self.num_lines)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor that holds them."""
        slots, length = self.split.num_slots, padded(self.length)
        one = (self.num_lines, slots, length) if self.is_along_k else (slots, self.padded_lines, length)
        return (self.batch, *one) if self.matrix.batch_stride else one

    @property
    def ld(self) -> int:
        """From line to line."""
        return padded(self.length) * (self.split.num_slots if self.is_along_k else 1)

    @property
    def slot_stride(self) -> int:
        return padded(self.length) * (1 if self.is_along_k else self.padded_lines)

    @property
    def batch_stride(self) -> int:
        size = self.split.num_slots * self.padded_lines * padded(self.length)
        return size if self.matrix.batch_stride else 0

    @property
    def lines_text(self) -> str:
        """The braces of the header's `Lines`."""
        sizes = (self.batch, self.num_lines, self.length, self.padded_lines, padded(self.length))
        steps = (self.matrix.ld, self.matrix.batch_stride, self.ld, self.slot_stride)
        return "\n".join(
            (
                "{",
                f"    {', '.join(map(str, sizes))},  // batch, lines, length, both padded",
                f"    {', '.join(map(str, steps))},  // read: line, matrix; written: line, slot",
                "}",
            )
        )


def padded(size: int) -> int:
    """`size` elements, up to whole 16-byte rows of bf16."""
    return -(-size // PAD) * PAD


@cache
def template_text(name: str) -> str:
    """A file that lies beside this one."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def split_header(split: Split) -> tuple[str, str]:
    """Path and text of the header that takes matrices apart in this way."""
    is_bf16 = split.dtype == "bfloat16"
    names = _PART_NAMES[: split.num_parts]
    pairs = dict.fromkeys([*zip(split.left, split.right, strict=True), (0, 0)])
    text = Template(template_text("split.cuh.template")).substitute(
        name=split.name,
        parts=" + ".join(names),
        rounding="bf16" if is_bf16 else "number of 10 mantissa bits, which TF32 keeps",
        order=" + ".join(f"{names[a]} {names[b]}'" for a, b in pairs),
        ctype=split.ctype,
        num_slots=split.num_slots,
        rounded="__float2bfloat16(rest[i])" if is_bf16 else _ROUNDED_TO_TF32,
        widened="__bfloat162float(parts.of[i])" if is_bf16 else "parts.of[i]",
        takes="\n".join(f"    const Parts {name} = take(rest);" for name in names),
        stores="\n".join(_store(split, slot) for slot in range(split.num_slots)),
    )
    return f"kernels/split_{split.name}.cuh", text


def _store(split: Split, slot: int) -> str:
    left, right = _PART_NAMES[split.left[slot]], _PART_NAMES[split.right[slot]]
    part = left if left == right else f"is_left ? {left} : {right}"
    step = f" + {slot} * lines.slot_stride" if slot else ""
    return f"    *reinterpret_cast<Parts*>(to{step}) = {part};"
