"""A sub-task's files in launcher form, as far as they follow from what it takes and gives.

The launcher launches nothing: the program builds and runs, and its answer is whatever memory held.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from warpsmith.core import Candidate
from warpsmith.core.candidate import KERNELS, MODULE
from warpsmith.tasks.synth.skills.cutting import Piece
from warpsmith.tasks.synth.skills.protocol import Looked, Tensor
from warpsmith.tasks.synth.skills.skill import Contract, Operand, Role
from warpsmith.tasks.synth.skills.straight import OUTPUT, Uncut

CTYPES: dict[str, str] = {
    "float32": "float", "float64": "double", "float16": "__half", "bfloat16": "__nv_bfloat16",
    "int64": "long long", "int32": "int", "int16": "short", "int8": "signed char",
    "uint8": "unsigned char", "bool": "bool",
}  # fmt: skip
"""torch's dtypes in C, as launchers take them."""

HEADERS = {"__half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h"}
ALLOWED = frozenset({"torch", "math", "typing", "__future__"})
"""Packages that a program may import."""

UNREAD = ("num_batches_tracked",)
"""Buffers that only training looks at."""

TAKEN = frozenset(
    (
        *("auto", "bool", "break", "case", "char", "class", "const", "continue", "default", "delete", "do"),
        *("double", "else", "enum", "extern", "float", "for", "if", "int", "long", "namespace", "new"),
        *("operator", "register", "return", "short", "signed", "sizeof", "static", "struct", "switch"),
        *("template", "this", "union", "unsigned", "using", "void", "volatile", "while", "stream"),
    )
)
"""Names that a launcher's parameter cannot have."""

KERNEL = """\
// {title}
//
{table}
//
// All are contiguous, the last size next to itself; sizes are those of the task as its file has it.
{headers}

extern "C" {launcher} {{
  // To be filled in: launch on `stream` what writes all of `{output}`.
  return (int)cudaGetLastError();
}}
"""

PROGRAM = """\
import cuda_extension
{preamble}

class ModelNew(torch.nn.Module):
{init}    def forward(self, {arguments}):
        {output} = torch.empty({shape}, dtype=torch.{dtype}, device={first}.device)
        cuda_extension.{name}({given})
        return {output}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A part, run at two scales: what differs grows with SCALE."""

    piece: Piece
    now: Looked
    smaller: Looked


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What a sub-task's writer is given."""

    contract: Contract
    template: Candidate


def drawn(name: str, title: str, seen: Seen) -> Drawn:
    """Raises Uncut if a launcher cannot be given what the part takes."""
    return _Drawing(name, title, seen).drawn()


class _Drawing:
    def __init__(self, name: str, title: str, seen: Seen) -> None:
        _check(seen)
        self._name = f"launch_{name}"
        self._file = name
        self._title = title
        self._seen = seen
        self._names: set[str] = set(TAKEN)
        arguments = seen.piece.arguments
        kept = [one for one in seen.now.parameters if not one.name.endswith(UNREAD)]
        self._output = OUTPUT if OUTPUT not in arguments else f"{OUTPUT}_"
        self._operands = (
            *(_operand(n, Role.INPUT, one) for n, one in zip(arguments, seen.now.inputs, strict=True)),
            *(_operand(one.name, Role.PARAMETER, one) for one in kept),
            _operand(self._output, Role.OUTPUT, seen.now.output),
        )
        self._sizes = _sizes(seen)

    def drawn(self) -> Drawn:
        contract = Contract(operands=self._operands, launcher=self._launcher())
        files = {MODULE: self._program(), f"{KERNELS}/{self._file}.cu": self._kernel(contract)}
        return Drawn(contract=contract, template=Candidate.of(files))

    def _launcher(self) -> str:
        pointers = [
            f"{'' if one.role is Role.OUTPUT else 'const '}{CTYPES[one.dtype]}* {self._c_name(one.name)}"
            for one in self._operands
        ]
        sizes = [f"long long {self._c_name(_size_name(text))}" for text in self._sizes.values()]
        return f"int {self._name}({', '.join((*pointers, *sizes, 'cudaStream_t stream'))})"

    def _c_name(self, name: str) -> str:
        plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "t"
        plain = f"t{plain}" if plain[0].isdigit() else plain
        found, number = plain, 2
        while found in self._names:
            found, number = f"{plain}{number}", number + 1
        self._names.add(found)
        return found

    def _kernel(self, contract: Contract) -> str:
        ctypes = {CTYPES[one.dtype] for one in self._operands}
        headers = ["cuda_runtime.h", *(HEADERS[one] for one in sorted(ctypes) if one in HEADERS)]
        width = max(len(one.name) for one in self._operands)
        table = [
            f"//   {one.name:{width}}  {one.role:9}  {one.dtype} [{', '.join(map(str, one.shape))}]"
            for one in self._operands
        ]
        return KERNEL.format(
            title=self._title,
            table="\n".join(table),
            headers="\n".join(f"#include <{header}>" for header in headers),
            launcher=contract.launcher,
            output=self._output,
        )

    def _program(self) -> str:
        piece, output = self._seen.piece, self._seen.now.output
        given = [
            f"self.{_path(one.name)}" if one.role is Role.PARAMETER else one.name for one in self._operands
        ]
        init = ""
        if piece.init:
            head = f"    def __init__({', '.join(('self', *piece.init_arguments))}):\n"
            lines = ("super().__init__()", *piece.init)
            init = head + "".join(f"        {line}\n" for line in lines) + "\n"
        return PROGRAM.format(
            preamble=piece.preamble,
            init=init,
            arguments=", ".join(piece.arguments),
            output=self._output,
            shape=self._shape(),
            dtype=output.dtype,
            first=piece.arguments[0],
            name=self._name,
            given=", ".join((*given, *self._sizes.values())),
        )

    def _shape(self) -> str:
        now, smaller = self._seen.now.output.shape, self._seen.smaller.output.shape
        sizes = [self._size(pair) for pair in zip(now, smaller, strict=True)]
        return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"

    def _size(self, pair: tuple[int, int]) -> str:
        """A size of the output, in terms of the inputs'. Raises Uncut."""
        now, smaller = pair
        if pair in self._sizes:
            return self._sizes[pair]
        if now == smaller:
            return str(now)
        for (own, own_smaller), text in self._sizes.items():
            if own != own_smaller and now % own == 0 and (now // own) * own_smaller == smaller:
                return f"{now // own} * {text}"
        raise Uncut("its answer grows otherwise than its inputs")


def _check(seen: Seen) -> None:
    foreign = seen.piece.imports - ALLOWED
    if foreign:
        raise Uncut(f"its parameters are made by {', '.join(sorted(foreign))}")
    tensors = (*seen.now.inputs, *seen.now.parameters, seen.now.output)
    unknown = {one.dtype for one in tensors} - CTYPES.keys()
    if unknown:
        raise Uncut(f"no launcher takes {', '.join(sorted(unknown))}")
    if not all(one.is_contiguous for one in (*seen.now.inputs, *seen.now.parameters)):
        raise Uncut("it takes tensors that are not contiguous")
    parts = [part for one in seen.now.parameters for part in one.name.split(".")]
    if not all(part.isidentifier() or part.isdigit() for part in parts):
        raise Uncut("a parameter's name is no name in Python")
    if not seen.now.num_launches:
        raise Uncut("nothing is computed in it: there are only views")
    if not seen.now.output.shape or 0 in seen.now.output.shape:
        raise Uncut("its answer is one number, or none")


def _operand(name: str, role: Role, one: Tensor) -> Operand:
    return Operand(name=name, role=role, shape=one.shape, dtype=one.dtype)


def _sizes(seen: Seen) -> dict[tuple[int, int], str]:
    """Each size that an input has, now and at the smaller scale, and how forward says it."""
    found: dict[tuple[int, int], str] = {}
    for name, now, smaller in zip(seen.piece.arguments, seen.now.inputs, seen.smaller.inputs, strict=True):
        for axis, pair in enumerate(zip(now.shape, smaller.shape, strict=True)):
            found.setdefault(pair, f"{name}.shape[{axis}]")
    return found


def _size_name(text: str) -> str:
    return text.replace(".shape[", "_size").rstrip("]")


def _path(name: str) -> str:
    """A state_dict's name as Python reaches it: "net.0.weight" is net[0].weight."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", name)


def titled(operators: Iterable[str]) -> str:
    """Operators in words."""
    names = list(operators)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])}, then {names[-1]}"
