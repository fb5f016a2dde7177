"""The CUDA device's build: nvcc for each file, then one link by the host's compiler."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.core import BuildFailed, EnvironmentMissing
from warpsmith.toolchain.base import Compiled, Sources, plain, units
from warpsmith.toolchain.compiling import SOURCE, Step, Tool, Workplace, check_tool
from warpsmith.toolchain.diagnostics import errors, warnings
from warpsmith.toolchain.extension import LIBRARY
from warpsmith.toolchain.host import HostCompiler
from warpsmith.toolchain.nvcc import COMPILE_FLAGS, LIBRARIES, Nvcc, gencode, nvcc_tool
from warpsmith.toolchain.resources import demangled, parse_ptxas


@dataclass(slots=True)
class NvccBuilder:
    """Builds for a GPU: each file by nvcc, side by side, then one link by the host compiler."""

    nvcc: Nvcc
    host: HostCompiler
    arch: str
    _is_sound: bool = field(default=False, init=False)

    @property
    def fingerprint(self) -> tuple[str, ...]:
        return (self.nvcc.version, self.host.version, *self._compiler().argv[1:], *self._linker().argv[1:])

    def compile(self, sources: Sources, workplace: Workplace) -> Compiled | BuildFailed:
        needed = self.needed_libraries(sources)
        steps = [self._compilation(unit, sources, workplace) for unit in units(sources)]
        compiled = workplace.run(steps)
        failed = [completed.stderr for completed in compiled if not completed.is_success]
        if failed:
            return self.failure("\n".join(failed), workplace)
        (linked,) = workplace.run([self._link(steps, needed, workplace)])
        if not linked.is_success:
            return self.failure(linked.stderr, workplace)
        said = "\n".join(completed.stderr for completed in compiled)
        return Compiled(resources=demangled(parse_ptxas(said)), log=warnings(said, self.roots(workplace)))

    def _compiler(self) -> Tool:
        return nvcc_tool(self.nvcc, self.host, ("-c", gencode(self.arch), *COMPILE_FLAGS))

    def _linker(self) -> Tool:
        return Tool(
            name="link",
            argv=(str(self.host.path), "-shared", "-Wl,--no-undefined"),
            readable=(self.host.root, *self.nvcc.library_folders),
            path=(self.host.path.parent,),
        )

    def _compilation(self, unit: str, sources: Sources, workplace: Workplace) -> Step:
        return Step(
            tool=self._compiler(),
            label=unit,
            output=workplace.folder / "objects" / f"{unit}.o",
            inputs=(plain(unit),),
            options=tuple(self.extra_includes(sources)),
            cwd=workplace.folder / SOURCE,
        )

    def extra_includes(self, sources: Sources) -> Iterator[str]:
        """Folders of headers that lie outside the toolkit, searched after it: the wheels' cuBLAS."""
        for header in _included(sources):
            found = self.nvcc.header(header)
            if found is not None and self.nvcc.root not in found.parents:
                yield from ("-isystem", str(found.parent))

    def needed_libraries(self, sources: Sources) -> tuple[Path, ...]:
        """The CUDA runtime and what the headers ask for. Raises EnvironmentMissing if one is absent."""
        headers = _included(sources)
        names = ["cudart", *dict.fromkeys(LIBRARIES[header] for header in headers)]
        absent = [header for header in headers if self.nvcc.header(header) is None]
        if absent:
            raise EnvironmentMissing(
                f"{absent[0]} not found beside {self.nvcc.path}; install it: pip install nvidia-cublas"
            )
        found: list[Path] = []
        for name in names:
            library = self.nvcc.library(name)
            if library is None:
                package = (
                    "nvidia-cuda-runtime" if name == "cudart" else f"nvidia-{name.lower().removesuffix('lt')}"
                )
                raise EnvironmentMissing(
                    f"lib{name} not found beside {self.nvcc.path}; install it: pip install {package}"
                )
            found.append(library)
        return tuple(found)

    def _link(self, steps: list[Step], needed: tuple[Path, ...], workplace: Workplace) -> Step:
        rpaths = dict.fromkeys(
            f"-Wl,-rpath,{library.parent}" for library in needed if library.parent.name != "stubs"
        )
        return Step(
            tool=self._linker(),
            label=LIBRARY,
            output=workplace.folder / LIBRARY,
            inputs=tuple(str(step.output) for step in steps),
            options=(*map(str, needed), *rpaths),
            cwd=workplace.folder,
        )

    def failure(self, log: str, workplace: Workplace) -> BuildFailed:
        """The candidate's failure, once the compiler has shown that an empty program passes."""
        if not self._is_sound:
            check_tool(self._compiler(), workplace)
            self._is_sound = True
        return BuildFailed(log=errors(log, self.roots(workplace), {}))

    def roots(self, workplace: Workplace) -> tuple[Path, ...]:
        return (workplace.folder / SOURCE, workplace.folder, *self.nvcc.include_folders)


def _included(sources: Sources) -> tuple[str, ...]:
    """Those headers of LIBRARIES that `sources` include anywhere."""
    text = "\n".join(sources.values())
    return tuple(
        header for header in LIBRARIES if re.search(rf'#\s*include\s*[<"]{re.escape(header)}[>"]', text)
    )
