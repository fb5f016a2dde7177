"""Reading a matrix product out of a graph: how its operands lie, and what cuBLASLt does in the same call."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from warpsmith.policy.builtin.graph import Graph, Node, Operand, Shape, Source, Value, View

DTYPES = ("float32", "float16", "bfloat16")
INT_MAX = 2**31 - 1


class Activation(StrEnum):
    """What cuBLASLt's epilogue can apply last."""

    NONE = ""
    RELU = "relu"
    GELU = "gelu"  # by tanh, as torch's gelu(approximate="tanh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A batch of matrices [rows, cols] in `value`'s storage: row-major, or transposed (column-major).

    `ld` is the distance in elements from row to row, or from column to column if transposed.
    """

    value: Value
    rows: int
    cols: int
    is_transposed: bool
    ld: int
    offset: int
    batch_stride: int

    @property
    def is_fixed(self) -> bool:
        """Whether it stays the same from call to call, unless somebody changes the module."""
        return self.value.source in (Source.PARAMETER, Source.BUFFER, Source.CONSTANT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """out[m, n] = activation(alpha * left[m, k] right[k, n] + addend[m, n] + bias[n]), `batch` times."""

    left: Matrix
    right: Matrix
    batch: int
    out: Value
    alpha: float = 1.0
    addend: Value | None = None
    bias: Value | None = None
    activation: Activation = Activation.NONE

    @property
    def m(self) -> int:
        return self.left.rows

    @property
    def n(self) -> int:
        return self.right.cols

    @property
    def k(self) -> int:
        return self.left.cols

    @property
    def dtype(self) -> str:
        return self.out.dtype

    @property
    def flops(self) -> int:
        return 2 * self.batch * self.m * self.n * self.k

    @property
    def inputs(self) -> tuple[Value, ...]:
        """What is read, each value once."""
        operands = (self.left.value, self.right.value, self.addend, self.bias)
        return tuple(dict.fromkeys(value for value in operands if value is not None))


def read_product(node: Node) -> Product | None:
    """The product that `node` is; None if it is none, or cuBLASLt cannot read its operands where they lie."""
    operands = _operands(node) if len(node.outputs) == 1 else None
    if operands is None or node.output.dtype not in DTYPES or 0 in node.output.shape:
        return None
    left, right = operands.left, operands.right
    if {left.dtype, right.dtype} != {node.output.dtype} or left.shape[-1] == 0:
        return None
    matrices = _fold(left, right)
    if matrices is None:
        return None
    batch, first, second = matrices
    if max(first.rows, second.cols, first.cols, first.ld, second.ld) > INT_MAX // 8:
        return None
    product = Product(left=first, right=second, batch=batch, out=node.output, alpha=operands.alpha)
    return product if operands.addend is None else _with_sum(product, operands.addend)


def extend(product: Product, node: Node) -> Product | None:
    """`product` with `node`, which reads its result, done in the same call; None if cuBLASLt cannot."""
    if len(node.outputs) != 1 or node.output.dtype != product.dtype:
        return None
    if not all(_is_same(view, product) for view in node.views if view.value == product.out):
        return None
    if product.activation is not Activation.NONE:
        return None
    done = _applied(product, node)
    return done and replace(done, out=node.output)


def absorb(graph: Graph, product: Product, remaining: tuple[Node, ...]) -> tuple[Product, tuple[Node, ...]]:
    """`product` with as many of the following nodes as fit, and those nodes."""
    taken: list[Node] = []
    while not graph.is_returned(product.out):
        users = graph.users(product.out)
        longer = extend(product, users[0]) if len(users) == 1 and users[0] in remaining else None
        if longer is None:
            break
        taken.append(users[0])
        product = longer
    return product, tuple(taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operands:
    left: View
    right: View
    alpha: float = 1.0
    addend: View | None = None


def _operands(node: Node) -> _Operands | None:
    shape = node.output.shape
    match node.op, node.inputs:
        case ("mm" | "bmm" | "matmul", (View() as left, View() as right)):
            return _matching(left, right, shape)
        case ("linear", (View() as left, View() as weight, bias)):
            return _with_addend(_matching(left, _turned(weight), shape), bias, shape)
        case (
            "addmm" | "baddbmm",
            (View() as addend, View() as left, View() as right, 1, int() | float() as alpha),
        ):
            found = _matching(left, right, shape)
            return _with_addend(found and replace(found, alpha=float(alpha)), addend, shape)
        case _:
            return None


def _matching(left: View, right: View, shape: Shape) -> _Operands | None:
    """Both operands with the result's batch axes; along one that an operand lacks, it stays the same."""
    if len(left.shape) < 2 or len(right.shape) < 2:
        return None
    batch = shape[:-2]
    return _Operands(
        left=_spread(left, (*batch, *left.shape[-2:])), right=_spread(right, (*batch, *right.shape[-2:]))
    )


def _spread(view: View, shape: Shape) -> View:
    """`view` broadcast to `shape`."""
    missing = len(shape) - len(view.shape)
    sizes = (1,) * missing + view.shape
    strides = (0,) * missing + view.strides
    spread = tuple(0 if n == 1 else step for n, step in zip(sizes, strides, strict=True))
    return replace(view, shape=shape, strides=spread)


def _with_addend(operands: _Operands | None, addend: Operand, shape: Shape) -> _Operands | None:
    if operands is None or addend is None:
        return operands
    return replace(operands, addend=_spread(addend, shape)) if isinstance(addend, View) else None


def _turned(view: View) -> View:
    return replace(
        view,
        shape=(*view.shape[:-2], view.shape[-1], view.shape[-2]),
        strides=(*view.strides[:-2], view.strides[-1], view.strides[-2]),
    )


def _fold(left: View, right: View) -> tuple[int, Matrix, Matrix] | None:
    """The batch axes as one, or none: a Linear on [.., k] is one product of all its rows."""
    batch = left.shape[:-2]
    if not any(right.strides[:-2]) or math.prod(batch) == 1:
        rows = _merged(left.shape[:-1], left.strides[:-1])
        if rows is not None:
            first = _matrix(left, (rows[0], left.shape[-1]), (rows[1], left.strides[-1]))
            second = _matrix(right, right.shape[-2:], right.strides[-2:])
            return (1, first, second) if first is not None and second is not None else None
    merged = _merged(batch, left.strides[:-2]), _merged(batch, right.strides[:-2])
    if merged[0] is None or merged[1] is None:
        return None
    first = _matrix(left, left.shape[-2:], left.strides[-2:], merged[0][1])
    second = _matrix(right, right.shape[-2:], right.strides[-2:], merged[1][1])
    return (math.prod(batch), first, second) if first is not None and second is not None else None


def _merged(shape: Shape, strides: tuple[int, ...]) -> tuple[int, int] | None:
    """Size and stride of several axes seen as one; None if their elements are not evenly spaced."""
    size, stride = 1, 0
    for length, step in reversed(list(zip(shape, strides, strict=True))):
        if length == 1:
            continue
        if size > 1 and step != size * stride:
            return None
        size, stride = size * length, stride if size > 1 else step
    return size, stride


def _matrix(view: View, shape: Shape, strides: tuple[int, ...], batch_stride: int = 0) -> Matrix | None:
    rows, cols = shape
    row_step, col_step = strides
    for is_transposed, (lines, length, step, unit) in enumerate(
        ((rows, cols, row_step, col_step), (cols, rows, col_step, row_step))
    ):
        ld = length if lines == 1 else step
        if (unit == 1 or length == 1) and ld >= length:
            return Matrix(
                value=view.value,
                rows=rows,
                cols=cols,
                is_transposed=bool(is_transposed),
                ld=ld,
                offset=view.offset,
                batch_stride=batch_stride,
            )
    return None


def _is_same(view: View, product: Product) -> bool:
    """Whether `view` is the whole result, its rows still its last axis."""
    return view.is_in_order and (view.shape[-1:] == (product.n,) or view.shape == product.out.shape)


def _applied(product: Product, node: Node) -> Product | None:
    match node.op, node.inputs:
        case ("relu", (View(),)) | ("maximum", (View(), 0 | 0.0)):
            return replace(product, activation=Activation.RELU)
        case ("gelu_tanh", (View(),)) if product.dtype != "float32":
            # In fp32 cuBLASLt's own is too coarse: 17 times fp32's error, measured on an H200.
            return replace(product, activation=Activation.GELU)
        case ("mul", (View(), int() | float() as factor)):
            return _scaled(product, float(factor))
        case ("div", (View(), int() | float() as divisor)) if divisor:
            return _scaled(product, 1.0 / divisor)
        case ("add", (View() as first, View() as second)):
            other = second if first.value == product.out else first
            return _with_sum(product, other) if other.value != product.out else None
        case _:
            return None


def _scaled(product: Product, factor: float) -> Product | None:
    is_bare = product.bias is None and product.addend is None
    return replace(product, alpha=product.alpha * factor) if is_bare else None


def _with_sum(product: Product, other: View) -> Product | None:
    """`other`, in the result's shape, added as a bias along the last axis, or as a whole matrix."""
    if other.dtype != product.dtype:
        return None
    *outer, last = other.strides
    is_bias = last == 1 and not any(step for step, size in zip(outer, other.shape, strict=False) if size > 1)
    if (
        is_bias
        and other.offset == 0
        and other.value.numel == product.n == other.shape[-1]
        and not product.bias
    ):
        return replace(product, bias=other.value)
    if other.is_in_order and other.numel == product.out.numel and not product.addend:
        return replace(product, addend=other.value)
    return None
