"""The ways to make one product out of the GPU's arithmetic units, and what each is predicted to take."""

from collections.abc import Callable
from dataclasses import dataclass

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin.graph import ITEM_BYTES
from warpsmith.policy.builtin.recipes.gemm_product import Product


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How an fp32 operand is taken apart. `left` and `right` say which part stands in which slot along k.

    Slot by slot they are multiplied and summed, so the smallest products come first. Part 0 is the largest.
    """

    name: str
    ctype: str
    dtype: str
    num_parts: int
    left: tuple[int, ...]
    right: tuple[int, ...]

    @property
    def num_slots(self) -> int:
        return len(self.left)

    @property
    def part_bytes(self) -> int:
        return ITEM_BYTES[self.dtype]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One way of computing a product: its variant's name, cuBLASLt's types, and a rate to predict with.

    `calls` are slices (first slot left, first slot right, slots) that are multiplied one after the other,
    each adding to the last.
    """

    name: str
    summary: str  # for the README
    compute: str
    rate: Callable[[Gpu], float]  # FLOP/s as reached in practice
    split: Split | None = None
    calls: tuple[tuple[int, int, int], ...] = ((0, 0, 1),)
    min_depth: int = 0  # with a smaller k, fp32's own error is so small that this one's stands out
    is_reduced: bool = False  # rounds its operands; only for tasks that accept that

    def time_us(self, product: Product, gpu: Gpu) -> float:
        """A prediction; fixed operands count as split already."""
        num_calls = len(self.calls)
        moved = product.out.num_bytes * (2 * num_calls - 1 + (product.addend is not None))
        spent_on_splits, launches = 0, num_calls
        for matrix in (product.left, product.right):
            num = matrix.value.num_bytes
            parts = num * self.split.num_slots * self.split.part_bytes // 4 if self.split else num
            moved += parts
            if self.split and not matrix.is_fixed:
                spent_on_splits += num + parts
                launches += 1
        slots = sum(slots for _, _, slots in self.calls)
        arithmetic_s = slots * product.flops / self.rate(gpu)
        return (
            1e6 * (max(arithmetic_s, moved / gpu.dram_bytes_s) + spent_on_splits / gpu.dram_bytes_s)
            + launches * gpu.launch_us
        )


def _fp32_rate(gpu: Gpu) -> float:
    return 0.75 * gpu.fp32_flops


def _tf32_rate(gpu: Gpu) -> float:
    return 0.8 * gpu.tf32_flops


def _bf16_rate(gpu: Gpu) -> float:
    return 0.7 * gpu.bf16_flops


# Measured on an H200: 20 to 30 times fp32's error at k = 64 to 101, 15 times at 512, 3.6 at 1024, 2 at 4096.
BF16X3_MIN_DEPTH = 640


def _split(name: str, dtype: str, num_parts: int, left: tuple[int, ...], right: tuple[int, ...]) -> Split:
    ctype = "float" if dtype == "float32" else "__nv_bfloat16"
    return Split(name=name, ctype=ctype, dtype=dtype, num_parts=num_parts, left=left, right=right)


METHODS = (
    Method(
        name="fp32",
        summary="in fp32 on the ordinary units",
        compute="CUBLAS_COMPUTE_32F",
        rate=_fp32_rate,
    ),
    Method(
        name="bf16x3",
        summary="on the tensor cores as three products of two bf16 parts each, summed in fp32, in one call",
        compute="CUBLAS_COMPUTE_32F",
        rate=_bf16_rate,
        min_depth=BF16X3_MIN_DEPTH,
        split=_split("bf16x3", "bfloat16", 2, (1, 0, 0), (0, 1, 0)),
        calls=((0, 0, 3),),
    ),
    Method(
        name="bf16x3_in_two",
        summary="on the tensor cores as three products of two bf16 parts each, summed in fp32, in two calls",
        compute="CUBLAS_COMPUTE_32F",
        rate=_bf16_rate,
        min_depth=BF16X3_MIN_DEPTH,
        split=_split("bf16x3_in_two", "bfloat16", 2, (1, 0), (0, 1)),
        calls=((0, 0, 2), (1, 0, 1)),
    ),
    Method(
        name="tf32x3",
        summary="on the tensor cores as three products of two TF32 parts each, summed in fp32",
        compute="CUBLAS_COMPUTE_32F_FAST_TF32",
        rate=_tf32_rate,
        split=_split("tf32x3", "float32", 2, (1, 0, 0), (0, 1, 0)),
        calls=((0, 0, 3),),
    ),
    Method(
        name="bf16x6",
        summary="on the tensor cores as six products of three bf16 parts each, summed in fp32",
        compute="CUBLAS_COMPUTE_32F",
        rate=_bf16_rate,
        split=_split("bf16x6", "bfloat16", 3, (2, 0, 1, 1, 0, 0), (0, 2, 1, 0, 1, 0)),
        calls=((0, 0, 6),),
    ),
    Method(
        name="tf32",
        summary="in TF32 on the tensor cores",
        compute="CUBLAS_COMPUTE_32F_FAST_TF32",
        rate=_tf32_rate,
        is_reduced=True,
    ),
)

DIRECT = Method(
    name="direct",
    summary="on the tensor cores, summed in fp32",
    compute="CUBLAS_COMPUTE_32F",
    rate=_bf16_rate,
)


def methods_for(product: Product) -> tuple[Method, ...]:
    """All ways of computing `product`: of half-precision operands there is one."""
    return METHODS if product.dtype == "float32" else (DIRECT,)


def method(name: str) -> Method:
    """The method called `name`."""
    return next(method for method in (*METHODS, DIRECT) if method.name == name)
