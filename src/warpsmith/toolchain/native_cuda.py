"""Extensions for a GPU: nvcc for the .cu files, the host's compiler for the rest, one link."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import BuildFailed
from warpsmith.toolchain.base import Compiled, plain, units
from warpsmith.toolchain.build_cuda import NvccBuilder
from warpsmith.toolchain.compiling import SOURCE, Step, Tool, Workplace
from warpsmith.toolchain.diagnostics import warnings
from warpsmith.toolchain.native import LINK_FLAGS, NativeModule, precompiled, unresolved, unresolved_failure
from warpsmith.toolchain.nvcc import COMPILE_FLAGS, gencode, nvcc_tool
from warpsmith.toolchain.resources import demangled, parse_ptxas
from warpsmith.toolchain.store import Store
from warpsmith.toolchain.torch_install import TorchInstall

# As torch's own loader gives them, so that a program that was written with it means the same here.
TORCH_FLAGS = (
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr",
)
HOST_FLAGS = ("-O2", "-fPIC", "-w")
HEADER = "#include <torch/extension.h>\n#include <cuda_runtime.h>\n"


@dataclass(frozen=True, slots=True)
class CudaExtensions:
    """Builds on what `NvccBuilder` found."""

    nvcc: NvccBuilder
    torch: TorchInstall

    @property
    def fingerprint(self) -> tuple[str, ...]:
        return (*self.nvcc.fingerprint, self.torch.version, *self._host().argv, *TORCH_FLAGS)

    def compile(self, module: NativeModule, workplace: Workplace, store: Store) -> Compiled | BuildFailed:
        needed = (*self.nvcc.needed_libraries(module.sources), *self._named(module))
        header = self._header(module, workplace, store)
        steps = [self._step(unit, module, workplace, header) for unit in units(module.sources)]
        compiled = workplace.run(steps)
        failed = [completed.stderr for completed in compiled if not completed.is_success]
        if failed:
            return self.nvcc.failure("\n".join(failed), workplace)
        (linked,) = workplace.run([self._link(steps, needed, module, workplace)])
        if not linked.is_success:
            return self.nvcc.failure(linked.stderr, workplace)
        if missing := unresolved(linked.stderr):
            return unresolved_failure(missing)
        said = "\n".join(completed.stderr for completed in compiled)
        roots = self.nvcc.roots(workplace)
        return Compiled(resources=demangled(parse_ptxas(said)), log=warnings(said, roots))

    def _host(self) -> Tool:
        host, nvcc = self.nvcc.host, self.nvcc.nvcc
        folders = [part for folder in nvcc.include_folders for part in ("-isystem", str(folder))]
        return Tool(
            name="host",
            argv=(str(host.path), *HOST_FLAGS, *self.torch.flags, *folders, *self._wheels()),
            readable=(host.root, *nvcc.include_folders, *self.torch.readable),
            path=(host.path.parent,),
        )

    def _wheels(self) -> tuple[str, ...]:
        """Headers of the libraries that torch's CUDA headers include, where the toolkit has none."""
        nvidia = self.torch.root.parent / "nvidia"
        folders = sorted(nvidia.glob("*/include"))
        return tuple(part for folder in folders for part in ("-isystem", str(folder)))

    def _device(self, *, needs_torch: bool) -> Tool:
        flags = [flag for flag in COMPILE_FLAGS if not (needs_torch and flag.startswith("-std="))]
        extra = (*self.torch.flags, *self._wheels()) if needs_torch else ()
        nvcc = nvcc_tool(
            self.nvcc.nvcc,
            self.nvcc.host,
            ("-c", gencode(self.nvcc.arch), *flags, *TORCH_FLAGS, *extra),
        )
        return Tool(
            name=nvcc.name,
            argv=nvcc.argv,
            readable=(*nvcc.readable, *self.torch.readable, *self._wheel_folders()),
            path=nvcc.path,
        )

    def _wheel_folders(self) -> Iterator[Path]:
        nvidia = self.torch.root.parent / "nvidia"
        if nvidia.is_dir():
            yield nvidia

    def _header(self, module: NativeModule, workplace: Workplace, store: Store) -> Path | None:
        """The precompiled header for the module's .cpp files; None where one would be of no use."""
        is_useful = any(unit.endswith(".cpp") and module.needs_torch(unit) for unit in units(module.sources))
        if not is_useful or module.needs_whole_torch or self.nvcc.host.is_clang:
            return None
        return precompiled(store, workplace.runner, self._host(), self.nvcc.host.version, self.torch, HEADER)

    def _step(self, unit: str, module: NativeModule, workplace: Workplace, header: Path | None) -> Step:
        if unit.endswith(".cu"):
            tool = self._device(needs_torch=module.needs_torch(unit))
            options = (*module.flags.device, *self.nvcc.extra_includes(module.sources))
        else:
            tool = self._host()
            if header is not None:
                argv = (tool.argv[0], "-include", str(header), *tool.argv[1:])
                tool = Tool(name="host", argv=argv, readable=(*tool.readable, header.parent), path=tool.path)
            options = ("-c", *module.flags.host)
        return Step(
            tool=tool,
            label=unit,
            output=workplace.folder / "objects" / f"{unit}.o",
            inputs=(plain(unit),),
            options=(*module.defines, *options),
            cwd=workplace.folder / SOURCE,
        )

    def _named(self, module: NativeModule) -> Iterator[Path]:
        """Libraries that the module asks for by flag, and those whose headers torch's wheels hold."""
        text = "\n".join(module.sources.values())
        wanted = [*module.flags.libraries, *(("cudnn",) * ("cudnn.h" in text))]
        for name in dict.fromkeys(wanted):
            found = self.nvcc.nvcc.library(name) or self._in_wheels(name)
            if found is not None:
                yield found

    def _in_wheels(self, name: str) -> Path | None:
        nvidia = self.torch.root.parent / "nvidia"
        return next(iter(sorted(nvidia.glob(f"*/lib/lib{name}.so*"))), None)

    def _link(
        self, steps: list[Step], needed: tuple[Path, ...], module: NativeModule, workplace: Workplace
    ) -> Step:
        libraries = [*map(str, self.torch.libraries), *map(str, needed)]
        folders = dict.fromkeys(path.parent for path in needed if path.parent.name != "stubs")
        tool = Tool(
            name="link",
            argv=(str(self.nvcc.host.path), *LINK_FLAGS),
            readable=(self.nvcc.host.root, *self.nvcc.nvcc.library_folders, *self.torch.readable, *folders),
            path=(self.nvcc.host.path.parent,),
        )
        return Step(
            tool=tool,
            label=module.library,
            output=workplace.folder / module.library,
            inputs=tuple(str(step.output) for step in steps),
            options=(*libraries, *(f"-Wl,-rpath,{folder}" for folder in folders)),
            cwd=workplace.folder,
        )
