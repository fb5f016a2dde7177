"""A product as text: its launchers in CUDA, and the lines of `model_new.py` that call them."""

from dataclasses import dataclass
from textwrap import indent

from warpsmith.policy.builtin.graph import Value
from warpsmith.policy.builtin.operators import STORAGE_TYPES
from warpsmith.policy.builtin.recipes.base import Part
from warpsmith.policy.builtin.recipes.gemm_methods import Method
from warpsmith.policy.builtin.recipes.gemm_parts import Parts, padded, split_header, template_text
from warpsmith.policy.builtin.recipes.gemm_product import Activation, Matrix, Product

CUDA_TYPES = {"float32": "CUDA_R_32F", "float16": "CUDA_R_16F", "bfloat16": "CUDA_R_16BF"}
MAX_LINE = 110
_TYPE_HEADERS = {"float16": ("cuda_fp16.h",), "bfloat16": ("cuda_bf16.h",)}
_BREAK = ",\n    "

SPLIT_ONCE = '''\
class SplitOnce:
    """The parts of a weight; made at first use, and again when the weight was changed or replaced."""

    def __init__(self, split, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        self.split, self.shape, self.dtype = split, shape, dtype
        self.weight = None  # kept alive, so that no other tensor can take its address
        self.version = -1
        self.parts = None

    def __call__(self, weight: torch.Tensor) -> torch.Tensor:
        # An inference tensor counts no versions; split it every time.
        version = -1 if weight.is_inference() else weight._version
        is_known = self.weight is not None and self.weight.data_ptr() == weight.data_ptr()
        if not is_known or version == -1 or version != self.version:
            self.parts = torch.empty(self.shape, dtype=self.dtype, device=weight.device)
            self.split(weight, self.parts)
            self.weight, self.version = weight.detach(), version
        return self.parts'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """An operand: "a" on the left, "b" on the right; `parts` if it is taken apart."""

    letter: str
    matrix: Matrix
    parts: Parts | None

    @property
    def is_kept(self) -> bool:
        """Whether its parts are kept from call to call."""
        return self.parts is not None and self.matrix.is_fixed

    @property
    def layout_text(self) -> str:
        """The braces of a `Layout`."""
        ld, stride = self.matrix.ld, self.matrix.batch_stride
        if self.parts:
            ld, stride = self.parts.ld, self.parts.batch_stride
        return f"{{{_bool(self.matrix.is_transposed)}, {ld}, {stride}}}"

    def start_text(self, slot: int) -> str:
        """Where the operand of a call begins."""
        if self.parts is None:
            return _shifted(self.letter, self.matrix.offset)
        return _shifted(f"{self.letter}_parts", slot * self.parts.slot_stride)

    @property
    def split_text(self) -> str:
        """The call that takes it apart."""
        assert self.parts is not None
        start = _shifted(self.letter, self.matrix.offset)
        constant = f"k{self.letter.upper()}"
        name, is_left = self.parts.split.name, _bool(self.parts.is_left)
        return f"{name}::launch({start}, {self.letter}_parts, {constant}, {is_left}, stream)"


def _shifted(pointer: str, offset: int) -> str:
    return f"{pointer} + {offset}" if offset else pointer


def _bool(value: object) -> str:
    return "true" if value else "false"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """One group in one variant."""

    name: str
    product: Product
    method: Method
    proposal: int

    @property
    def part(self) -> Part:
        split = self.method.split
        return Part(
            file=f"kernels/{self.name}.cu",
            source=self._source(),
            forward=self._forward(),
            note=self._note(),
            setup=self._setup(),
            headers=(
                ("kernels/product.cuh", template_text("product.cuh")),
                *((split_header(split),) if split else ()),
            ),
            helpers=(SPLIT_ONCE,) if any(side.is_kept for side in self._sides) else (),
        )

    @property
    def _sides(self) -> tuple[Side, Side]:
        split, product = self.method.split, self.product
        left = Parts.of(product, split, is_left=True) if split else None
        right = Parts.of(product, split, is_left=False) if split else None
        return (
            Side(letter="a", matrix=product.left, parts=left),
            Side(letter="b", matrix=product.right, parts=right),
        )

    # CUDA

    def _source(self) -> str:
        split = self.method.split
        includes = ["product.cuh", *([f"split_{split.name}.cuh"] if split else ())]
        types = [f"#include <{header}>" for header in _TYPE_HEADERS.get(self.product.dtype, ())]
        apart = [side for side in self._sides if side.parts]
        blocks = [
            f"// {self._formula()},\n// by cuBLASLt {self.method.summary}.",
            "\n".join((*types, *(f'#include "{include}"' for include in includes))),
            *(
                f"constexpr {side.parts.split.name}::Lines k{side.letter.upper()}{side.parts.lines_text};"
                for side in apart
                if side.parts
            ),
            *(self._weight_launcher(side) for side in apart if side.is_kept),
            self._launcher(),
        ]
        return "\n\n".join(blocks) + "\n"

    def _weight_launcher(self, side: Side) -> str:
        assert side.parts is not None
        value = side.matrix.value
        parameters = (f"const float* {side.letter}", f"{side.parts.split.ctype}* {side.letter}_parts")
        return _function(
            "cudaError_t", f"{self.name}_split_{side.letter}", parameters, (f"return {side.split_text};",)
        ).replace('extern "C"', f'// Only when {value.path or value.name} has changed.\nextern "C"', 1)

    def _launcher(self) -> str:
        body = [
            line
            for side in self._sides
            if side.parts and not side.is_kept
            for line in (
                f"if ({side.split_text} != cudaSuccess) {{",
                "    return CUBLAS_STATUS_EXECUTION_FAILED;",
                "}",
            )
        ]
        last = len(self.method.calls) - 1
        for call in range(last + 1):
            name = f"product_{call}" if last else "product"
            run = f"{name}.run({self._operands_text(call)}, stream)"
            body.append(f"static Planned {name}(Problem{self._problem_text(call)});")
            body.append(f"return {run};" if call == last else f"PRODUCT_TRY({run});")
        parameters = tuple(declaration for declaration, _ in self._tensors())
        return _function("cublasStatus_t", self.name, parameters, tuple(body))

    def _problem_text(self, call: int) -> str:
        """The braces of a `Problem`; the last call carries the epilogue."""
        product, split = self.product, self.method.split
        slots = self.method.calls[call][2]
        k = slots * padded(product.k) if split else product.k
        read = CUDA_TYPES[split.dtype if split else product.dtype]
        is_last = call == len(self.method.calls) - 1
        left, right = self._sides
        return "\n".join(
            (
                "{",
                f"    {product.m}, {product.n}, {k}, {product.batch},  // m, n, k, batch",
                f"    {left.layout_text}, {right.layout_text},  // a, b: transposed, line to line, batch",
                f"    {read}, {CUDA_TYPES[product.dtype]}, {self.method.compute},",
                f"    {_epilogue(product) if is_last else 'CUBLASLT_EPILOGUE_DEFAULT'}, {self.proposal},",
                "}",
            )
        )

    def _operands_text(self, call: int) -> str:
        """The braces of an `Operands`; a later call adds to what the earlier ones left in d."""
        product = self.product
        first_left, first_right, _ = self.method.calls[call]
        left, right = self._sides
        addend = "d" if call else "c" if product.addend else "nullptr"
        is_last = call == len(self.method.calls) - 1
        fields = (
            left.start_text(first_left),
            right.start_text(first_right),
            addend,
            "bias" if product.bias and is_last else "nullptr",
            "d",
            f"{product.alpha!r}f",
            "1.0f" if addend != "nullptr" else "0.0f",
        )
        return "{" + ", ".join(fields) + "}"

    # Python

    def _forward(self) -> tuple[str, ...]:
        out, device = self.product.out, f"{self.product.inputs[0].expression}.device"
        scratch = [
            f"{self._scratch(side)} = {_empty(side.parts.shape, side.parts.split.dtype, device)}"
            for side in self._sides
            if side.parts and not side.is_kept
        ]
        arguments = ", ".join(argument for _, argument in self._tensors())
        return (
            *scratch,
            f"{out.name} = {_empty(out.shape, out.dtype, device)}",
            f"cuda_extension.{self.name}({arguments})",
        )

    def _setup(self) -> tuple[str, ...]:
        return tuple(
            f"self.{self._scratch(side)} = SplitOnce(cuda_extension.{self.name}_split_{side.letter}, "
            f"{side.parts.shape}, torch.{side.parts.split.dtype})"
            for side in self._sides
            if side.parts and side.is_kept
        )

    def _scratch(self, side: Side) -> str:
        return f"{self.name}_{side.letter}_parts"

    def _tensors(self) -> list[tuple[str, str]]:
        """The launcher's parameters in C, and what `forward` passes: inputs first, d last."""
        storage = STORAGE_TYPES[self.product.dtype]
        read: list[tuple[str, str]] = []
        scratch: list[tuple[str, str]] = []
        for side in self._sides:
            expression, parts = side.matrix.value.expression, f"{side.letter}_parts"
            if side.parts and side.is_kept:
                kept = f"self.{self._scratch(side)}({expression})"
                read.append((f"const {side.parts.split.ctype}* {parts}", kept))
                continue
            read.append((f"const {storage}* {side.letter}", expression))
            if side.parts:
                scratch.append((f"{side.parts.split.ctype}* {parts}", self._scratch(side)))
        for role, value in (("c", self.product.addend), ("bias", self.product.bias)):
            if value is not None:
                read.append((f"const {storage}* {role}", value.expression))
        return [*read, *scratch, (f"{storage}* d", self.product.out.name)]

    # For a reader

    def _formula(self) -> str:
        """out[8, 16] = relu(x[8, 4] * up.weight[16, 4]^T + up.bias)"""
        product = self.product
        left, right = (_matrix_text(side.matrix) for side in self._sides)
        scale = f"{product.alpha:g} * " if product.alpha != 1.0 else ""
        terms = [f"{scale}{left} * {right}"]
        terms += [_value_text(value) for value in (product.addend, product.bias) if value is not None]
        total = " + ".join(terms)
        applied = f"{product.activation}({total})" if product.activation else total
        times = f"{product.batch} times " if product.batch > 1 else ""
        return f"{times}{product.out.name}[{product.m}, {product.n}] = {applied}"

    def _note(self) -> str:
        kept = any(side.is_kept for side in self._sides)
        again = " The weight's parts are kept, and made again when it changes." if kept else ""
        return f"{self._formula()}, by cuBLASLt {self.method.summary}.{again}"


def _function(returns: str, name: str, parameters: tuple[str, ...], body: tuple[str, ...]) -> str:
    """An exported function; its parameters on lines of their own where one line is too short."""
    formals = (*parameters, "cudaStream_t stream")
    head = f'extern "C" {returns} {name}({", ".join(formals)}) {{'
    if len(head) > MAX_LINE:
        head = f'extern "C" {returns} {name}(\n    {_BREAK.join(formals)}\n) {{'
    lines = indent("\n".join(body), "    ")
    return f"{head}\n{lines}\n}}"


def _epilogue(product: Product) -> str:
    names = {Activation.NONE: "", Activation.RELU: "_RELU", Activation.GELU: "_GELU"}
    name = names[product.activation] + ("_BIAS" if product.bias else "")
    return f"CUBLASLT_EPILOGUE{name or '_DEFAULT'}"


def _empty(shape: tuple[int, ...], dtype: str, device: str) -> str:
    return f"torch.empty({shape}, dtype=torch.{dtype}, device={device})"


def _matrix_text(matrix: Matrix) -> str:
    sizes = (matrix.cols, matrix.rows) if matrix.is_transposed else (matrix.rows, matrix.cols)
    return f"{_value_text(matrix.value)}[{sizes[0]}, {sizes[1]}]" + ("^T" if matrix.is_transposed else "")


def _value_text(value: Value) -> str:
    return value.path or value.name
