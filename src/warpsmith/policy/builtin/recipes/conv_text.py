"""A convolution as text: its constants and tables, what follows it on each sum, and its launchers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import cast

from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import Node, Value, View, contiguous_strides
from warpsmith.policy.builtin.operators import COMPUTE_TYPES, STORAGE_TYPES, Term
from warpsmith.policy.builtin.operators import cast as converted
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Group
from warpsmith.policy.builtin.recipes.conv_geometry import Convolution
from warpsmith.policy.builtin.recipes.conv_methods import slabs_of
from warpsmith.policy.builtin.recipes.text import Read

AXES = ("D", "H", "W")


# A header, and those that it includes.
HEADERS = {
    "conv_direct.cuh": ("conv.cuh", "conv_direct.cuh"),
    "conv_tile.cuh": ("conv.cuh", "conv_tile.cuh"),
    "conv_mma.cuh": ("conv.cuh", "conv_tile.cuh", "mma.cuh", "conv_mma.cuh"),
}


@cache
def headers_of(name: str) -> tuple[tuple[str, str], ...]:
    """Path and text of a CUDA header that lies beside this file, and of those that it includes."""
    here = files(__package__)
    return tuple(
        (f"kernels/{header}", here.joinpath(header).read_text(encoding="utf-8")) for header in HEADERS[name]
    )


def source(group: Group, heading: str, header: str, pieces: list[str]) -> str:
    """A CUDA file: what it does, its includes, kernels in a namespace of their own, launchers."""
    includes = [text.headers(group.inputs + group.outputs), f'#include "{header}"']
    return "\n\n".join([text.comment(heading), *includes, *pieces]) + "\n"


# Constants and tables


def geometry(conv: Convolution, *, arranged_rows: int = 0, has_taps: bool = True) -> str:
    """The struct G of conv.cuh and the tables that it reads.

    `arranged_rows` are those of the arranged weight; without `has_taps`, G knows sizes only.
    """
    slabs = slabs_of(conv)
    taps = [_braces(conv.offset(tap), *tap.deltas, tap.index) for phase in conv.phases for tap in phase.taps]
    phases = _phase_rows(conv, slabs)
    is_one = len(phases) == 1
    arranged = {"kSlabs": sum(slabs), "kArranged": arranged_rows}
    members = [
        f"    using Item = {STORAGE_TYPES[conv.x.dtype]};",
        *(constants("int", row) for row in _sizes(conv)),
        constants("bool", per_axis("kMayMiss", (str(axis.may_miss).lower() for axis in conv.axes))),
        *([constants("int", arranged)] if arranged_rows else []),
    ]
    tables: list[str] = []
    if has_taps:
        tables = [_table("Tap", taps), *([] if is_one else [_table("Phase", phases)])]
        phase = f"Phase{phases[0]}" if is_one else "kPhaseTable[k]"
        members += [
            constants("int", {"kTaps": conv.num_taps}),
            "    static __device__ __forceinline__ Tap tap(int k) { return kTapTable[k]; }",
            f"    static __device__ __forceinline__ Phase phase(int k) {{ return {phase}; }}",
        ]
    return "\n\n".join([*tables, "\n".join(["struct Geometry {", *members, "};"])])


def _table(ctype: str, rows: list[str]) -> str:
    return f"__constant__ {ctype} k{ctype}Table[] = {{\n{_filled(rows)}\n}};"


def _sizes(conv: Convolution) -> list[dict[str, object]]:
    """The members of G that are integers, as lines."""
    taps = conv.num_taps
    filter_stride, channel_stride = (
        (taps, conv.filters * taps) if conv.is_transposed else (conv.channels * taps, taps)
    )
    return [
        {"kBatch": conv.batch, "kGroups": conv.groups},
        {"kChannels": conv.channels, "kFilters": conv.filters},
        per_axis("k", (axis.size for axis in conv.axes)),
        {f"kOut{letter}": axis.out for letter, axis in zip(AXES[1:], conv.axes[1:], strict=True)},
        per_axis("kRead", (axis.read_step for axis in conv.axes)),
        per_axis("kStep", (axis.step for axis in conv.axes)),
        {"kPlane": conv.plane, "kOutPlane": conv.out_plane},
        {"kFilterStride": filter_stride, "kChannelStride": channel_stride},
        {"kPhases": len(conv.phases)},
    ]


def per_axis(name: str, items: Iterable[object]) -> dict[str, object]:
    """One item for each axis, under the name with the axis's letter."""
    return {f"{name}{letter}": item for letter, item in zip(AXES, items, strict=True)}


def constants(ctype: str, numbers: Mapping[str, object]) -> str:
    """A struct's constants, as one line."""
    listed = ", ".join(f"{name} = {number}" for name, number in numbers.items())
    return f"    static constexpr {ctype} {listed};"


def _phase_rows(conv: Convolution, slabs: tuple[int, ...]) -> list[str]:
    rows: list[str] = []
    first_tap = first_slab = 0
    for phase, num_slabs in zip(conv.phases, slabs, strict=True):
        # The sizes of the only phase are constants, which the compiler divides by itself.
        sizes = [
            _braces(size) if len(conv.phases) == 1 else _braces(size, *reciprocal(size))
            for size in phase.sizes
        ]
        rows.append(_braces(first_tap, len(phase.taps), first_slab, *phase.starts, *sizes))
        first_tap += len(phase.taps)
        first_slab += num_slabs
    return rows


def reciprocal(divisor: int) -> tuple[int, int]:
    """(m, s) for which (n * m >> 32) >> s is n // divisor, for 0 <= n < 2^31 and a divisor of 2 or more.

    m = ceil(2^(32 + s) / divisor) is too large by less than 1, where 2^s < divisor <= 2^(s + 1); so the
    product is too large by less than n / 2^(32 + s) < 1 / divisor, which moves it over no whole number.
    """
    shift = max((divisor - 1).bit_length() - 1, 0)
    return min(-(-(2 ** (32 + shift)) // divisor), 2**32 - 1), shift


def _braces(*numbers: int | str) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"


def _filled(rows: list[str]) -> str:
    """Rows of a table, as many on a line as fit."""
    lines, line = list[str](), ""
    for row in rows:
        if len(line) + len(row) > 104:
            lines.append(line.rstrip())
            line = ""
        line += f"{row}, "
    return "\n".join(f"    {line}" for line in [*lines, line.rstrip().rstrip(",")])


# What is done with each sum


@dataclass(frozen=True, slots=True, kw_only=True)
class Epilogue:
    """The nodes after the convolution, and the operands that they read from memory."""

    conv: Convolution
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]

    @classmethod
    def of(cls, group: Group) -> "Epilogue":
        conv = cast(Convolution, group.details)
        nodes = tuple(node for node in group.nodes if node.op != "convolution")
        return cls(conv=conv, nodes=nodes, outputs=group.outputs)

    @property
    def operands(self) -> tuple[Value, ...]:
        """What is read besides the sums, each value once."""
        bias = (self.conv.bias,) if self.conv.bias is not None else ()
        return tuple(dict.fromkeys([*bias, *(read.view.value for read in self.reads)]))

    @property
    def reads(self) -> tuple[Read, ...]:
        made = {value for node in self.nodes for value in node.outputs} | {self.conv.out}
        outside = [view for node in self.nodes for view in node.views if view.value not in made]
        return text.distinct_reads(tuple(outside))

    @property
    def lines(self) -> list[str]:
        """The body of a lambda over conv_sum, conv_filter and conv_place."""
        conv, out = self.conv, self.conv.out
        terms = {read.view: Term(text=read.name, ctype=read.ctype) for read in self.reads}
        sum_text = "conv_sum"
        if conv.bias is not None:
            sum_text += f" + (float){text.c_name(conv.bias)}[conv_filter]"
        return [
            "const long long conv_at = conv_place.at + (long long)conv_filter * Geometry::kOutPlane;",
            f"const {COMPUTE_TYPES[out.dtype]} {text.c_name(out)} = {sum_text};",
            *(self._load(read) for read in self.reads),
            *(text.node_line(node, terms) for node in self.nodes),
            *(f"{text.out_name(value)}[conv_at] = {text.stored(value)};" for value in self.outputs),
        ]

    def _load(self, read: Read) -> str:
        loaded = Term(text=f"{read.pointer}[{self._place(read.view)}]", ctype=STORAGE_TYPES[read.view.dtype])
        return f"const {read.ctype} {read.name} = {converted(loaded, read.ctype)};"

    def _place(self, view: View) -> str:
        shape = self.conv.out.shape
        shaped = views.reshape(view, shape)
        assert shaped is not None  # or the node would not be in the group
        names = ("conv_place.n", "conv_filter", "conv_place.d", "conv_place.h", "conv_place.w")
        coordinates = (*names[:2], *names[len(names) + 2 - len(shape) :])
        if shaped.strides == contiguous_strides(shape):
            place = "conv_at"
        else:
            terms = [
                name if step == 1 else f"(long long){name} * {step}"
                for name, step, size in zip(coordinates, shaped.strides, shape, strict=True)
                if step and size > 1
            ]
            place = " + ".join(terms) or "0"
        return f"{place} + {shaped.offset}" if shaped.offset else place


def kernel(head: str, formals: list[str], body: str, epilogue: Epilogue) -> str:
    """A kernel that calls `body`, whose last argument is the epilogue."""
    lines = [
        "const auto conv_finish = [&](float conv_sum, int conv_filter, const Place& conv_place) {",
        *("    " + line for line in epilogue.lines),
        "};",
        f"{body}, conv_finish);",
    ]
    return text.function(head, formals, lines)


def formula(conv: Convolution, nodes: tuple[Node, ...]) -> str:
    """As in: convolution 3 x 3 of x[8, 4, 32, 32] by conv.weight, bias, relu."""
    kernel_text = " x ".join(str(n) for n in conv.weight.shape[2:])
    kind = "transposed convolution" if conv.is_transposed else "convolution"
    parts = [f"{kind} {kernel_text} of {conv.x.name}{list(conv.x.shape)} by {_path(conv.weight)}"]
    if conv.groups > 1:
        parts[0] += f" in {conv.groups} groups"
    if conv.bias is not None:
        parts.append("bias")
    return ", ".join([*parts, *(node.op for node in nodes)])


def _path(value: Value) -> str:
    return value.path or value.name
