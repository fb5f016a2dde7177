"""Convolutions whose results a thread sums alone: always right, and best where few channels meet."""

import math
from dataclasses import dataclass

from warpsmith.policy.builtin.graph import Value
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Group, Part
from warpsmith.policy.builtin.recipes.conv_geometry import Convolution
from warpsmith.policy.builtin.recipes.conv_methods import DIRECT_THREADS
from warpsmith.policy.builtin.recipes.conv_text import (
    Epilogue,
    constants,
    formula,
    geometry,
    headers_of,
    kernel,
    per_axis,
    source,
)

HEADER = "conv_direct.cuh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Direct:
    """One group, `tile` results a thread: channels at one position, or rows of one channel."""

    group: Group
    conv: Convolution
    tile: int
    is_rows: bool

    @property
    def part(self) -> Part:
        group, what = self.group, formula(self.conv, Epilogue.of(self.group).nodes)
        shared = f"{self.tile} {'rows' if self.is_rows else 'channels'} a thread"
        allocations = [text.allocation(value, group.inputs) for value in group.outputs]
        return Part(
            file=f"kernels/{group.name}.cu",
            source=self._source(f"{what}, {shared}"),
            forward=(*allocations, text.call(group.name, self._read, group.outputs, ())),
            note=f"{what}, {shared}.",
            headers=headers_of(HEADER),
        )

    @property
    def _read(self) -> tuple[Value, ...]:
        return tuple(dict.fromkeys([self.conv.x, self.conv.weight, *Epilogue.of(self.group).operands]))

    def _source(self, what: str) -> str:
        conv, group = self.conv, self.group
        heading = f"{what}.\n\n{conv.flops / 1e9:.4g} GFLOP. {text.traffic(group.cost.traffic_bytes)}"
        function = "convolve_rows<Geometry, Steps," if self.is_rows else "convolve_directly<Geometry,"
        convolution = kernel(
            f"__global__ void __launch_bounds__({DIRECT_THREADS}) {group.name}_kernel",
            text.parameters(self._read, group.outputs),
            f"{function} {self.tile}>({text.c_name(conv.x)}, {text.c_name(conv.weight)}",
            Epilogue.of(group),
        )
        steps = [self._steps()] if self.is_rows else []
        pieces = [
            "namespace {",
            geometry(conv, has_taps=not self.is_rows),
            *steps,
            convolution,
            "}  // namespace",
            self._launcher(),
        ]
        return source(group, heading, HEADER, pieces)

    def _steps(self) -> str:
        """What the loops over a row's taps need as constants."""
        axes = self.conv.axes
        rows: list[dict[str, object]] = [
            per_axis("kKernel", (axis.kernel for axis in axes)),
            per_axis("kPadding", (axis.padding for axis in axes)),
            per_axis("kDilation", (axis.dilation for axis in axes)),
            {"kStrideH": axes[1].stride, "kOutD": axes[0].out},
        ]
        lines = [constants("int", row) for row in rows]
        return "\n".join(["struct Steps {", *lines, "};"])

    def _launcher(self) -> str:
        conv, group = self.conv, self.group
        if self.is_rows:
            d, h, w = (axis.out for axis in conv.axes)
            positions = conv.batch * d * math.ceil(h / self.tile) * w
            blocks, lines_of_blocks = math.ceil(positions / DIRECT_THREADS), conv.groups * conv.filters
        else:
            positions = conv.batch * max(phase.num_outputs for phase in conv.phases)
            blocks = math.ceil(positions / DIRECT_THREADS) * len(conv.phases)
            lines_of_blocks = conv.groups * math.ceil(conv.filters / self.tile)
        formals = [*text.launcher_parameters(self._read, group.outputs), "cudaStream_t stream"]
        pointers = ", ".join(text.pointer_names(self._read, group.outputs))
        lines = [
            f"const dim3 conv_blocks({blocks}, {lines_of_blocks});",
            f"{group.name}_kernel<<<conv_blocks, {DIRECT_THREADS}, 0, stream>>>({pointers});",
            "return (int)cudaGetLastError();",
        ]
        return text.function(f'extern "C" int {group.name}', formals, lines)
