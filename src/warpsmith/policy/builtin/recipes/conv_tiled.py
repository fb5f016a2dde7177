"""Tiled convolutions as parts of a program: the weight is arranged first, once if it is a parameter."""

import math
from dataclasses import dataclass

from warpsmith.policy.builtin.graph import Source, Value
from warpsmith.policy.builtin.operators import STORAGE_TYPES
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Group, Part
from warpsmith.policy.builtin.recipes.conv_geometry import Convolution
from warpsmith.policy.builtin.recipes.conv_methods import DEPTH, Method, Tile, slabs_of
from warpsmith.policy.builtin.recipes.conv_text import Epilogue, formula, geometry, headers_of, kernel, source
from warpsmith.policy.builtin.recipes.gemm_text import SPLIT_ONCE

ARRANGED = "conv_arranged"  # the weight as the kernel reads it
ARRANGE_THREADS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiled:
    """One group by one method in one tile."""

    group: Group
    conv: Convolution
    method: Method
    tile: Tile

    @property
    def part(self) -> Part:
        what = formula(self.conv, self._epilogue.nodes)
        again = " The arranged weight is kept, and made again when it changes." if self._is_kept else ""
        return Part(
            file=f"kernels/{self.group.name}.cu",
            source=self._source(what),
            forward=self._forward(),
            note=f"{what}, {self.method.summary}, in {self.tile.name}.{again}",
            setup=self._setup(),
            headers=headers_of(self.method.header),
            helpers=(SPLIT_ONCE,) if self._is_kept else (),
        )

    @property
    def _epilogue(self) -> Epilogue:
        return Epilogue.of(self.group)

    @property
    def _is_kept(self) -> bool:
        """Whether the weight stays the same from call to call, unless somebody changes the module."""
        return self.conv.weight.source in (Source.PARAMETER, Source.BUFFER, Source.CONSTANT)

    @property
    def _row_tiles(self) -> int:
        return math.ceil(self.conv.filters / self.tile.rows)

    @property
    def _num_quads(self) -> int:
        """Of the arranged weight."""
        return self.conv.groups * sum(slabs_of(self.conv)) * DEPTH // 4 * self._row_tiles * self.tile.rows

    @property
    def _read(self) -> tuple[Value, ...]:
        """What the kernel reads besides the arranged weight."""
        return tuple(dict.fromkeys([self.conv.x, *self._epilogue.operands]))

    # CUDA

    def _source(self, what: str) -> str:
        conv, name = self.conv, self.group.name
        heading = (
            f"{what}, {self.method.summary}.\n\n{self.conv.flops / 1e9:.4g} GFLOP. "
            f"{text.traffic(self.group.cost.traffic_bytes)}"
        )
        struct = self.method.struct.format(tile=self.tile.template_arguments)
        arranged = f"const Quad* __restrict__ {ARRANGED}"
        convolution = kernel(
            f"__global__ void __launch_bounds__(Multiplying::kThreads, Multiplying::kBlocks) {name}_kernel",
            [*text.parameters(self._read, ()), arranged, *text.parameters((), self.group.outputs)],
            f"convolve_tile<Geometry, Multiplying>({text.c_name(conv.x)}, {ARRANGED}",
            self._epilogue,
        )
        pieces = [
            "namespace {",
            geometry(conv, arranged_rows=self._row_tiles * self.tile.rows),
            f"using Multiplying = {struct};",
            self._arrange_kernel(),
            convolution,
            "}  // namespace",
            self._arrange_launcher(),
            self._launcher(),
        ]
        return source(self.group, heading, self.method.header, pieces)

    def _arrange_kernel(self) -> str:
        item = STORAGE_TYPES[self.conv.weight.dtype]
        return text.function(
            f"__global__ void {self.group.name}_arrange_kernel",
            [f"const {item}* weight", "Quad* arranged"],
            ["arrange<Geometry, Multiplying>(weight, arranged);"],
        )

    def _arrange_launcher(self) -> str:
        name, item = self.group.name, STORAGE_TYPES[self.conv.weight.dtype]
        blocks = math.ceil(self._num_quads / ARRANGE_THREADS)
        launcher = text.function(
            f'extern "C" int {name}_arrange',
            [f"const {item}* weight", "float* arranged", "cudaStream_t stream"],
            [
                f"{name}_arrange_kernel<<<{blocks}, {ARRANGE_THREADS}, 0, stream>>>"
                "(weight, reinterpret_cast<Quad*>(arranged));",
                "return (int)cudaGetLastError();",
            ],
        )
        when = f"Only when {self.conv.weight.path} has changed." if self._is_kept else "Before each call."
        return f"// {when}\n{launcher}"

    def _launcher(self) -> str:
        conv, group = self.conv, self.group
        col_tiles = max(math.ceil(conv.batch * phase.num_outputs / self.tile.cols) for phase in conv.phases)
        blocks = col_tiles * len(conv.phases) * self._row_tiles
        formals = [
            *text.launcher_parameters(self._read, ()),
            f"const float* {ARRANGED}",
            *text.launcher_parameters((), group.outputs),
            "cudaStream_t stream",
        ]
        arguments = [
            *text.pointer_names(self._read, ()),
            f"reinterpret_cast<const Quad*>({ARRANGED})",
            *text.pointer_names((), group.outputs),
        ]
        lines = [
            f"const dim3 conv_blocks({blocks}, {conv.groups});",
            f"{group.name}_kernel<<<conv_blocks, Multiplying::kThreads, 0, stream>>>(",
            f"    {', '.join(arguments)});",
            "return (int)cudaGetLastError();",
        ]
        return text.function(f'extern "C" int {group.name}', formals, lines)

    # Python

    @property
    def _scratch(self) -> str:
        return f"{self.group.name}_arranged"

    def _setup(self) -> tuple[str, ...]:
        if not self._is_kept:
            return ()
        shape = f"({4 * self._num_quads},)"
        return (
            f"self.{self._scratch} = SplitOnce(cuda_extension.{self.group.name}_arrange, {shape}, "
            "torch.float32)",
        )

    def _forward(self) -> tuple[str, ...]:
        group, weight = self.group, self.conv.weight.expression
        lines: list[str] = []
        if self._is_kept:
            arranged = f"self.{self._scratch}({weight})"
        else:
            arranged = self._scratch
            options = f"dtype=torch.float32, device={weight}.device"
            lines += [
                f"{arranged} = torch.empty(({4 * self._num_quads},), {options})",
                f"cuda_extension.{group.name}_arrange({weight}, {arranged})",
            ]
        lines += [text.allocation(value, group.inputs) for value in group.outputs]
        arguments = [value.expression for value in self._read] + [arranged]
        arguments += [value.expression for value in group.outputs]
        return (*lines, f"cuda_extension.{group.name}({', '.join(arguments)})")
