"""The CPU device's build: CUDA source translated to C++ and compiled by the host's compiler.

Where nvcc is present it compiles the same files too, for the architecture whose time is modelled: the
resource report is then real, and what is no CUDA fails here as it would on a GPU.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from warpsmith.core import BuildFailed, Completed, EnvironmentMissing, NotRunnable
from warpsmith.device import Device, cpu
from warpsmith.toolchain.base import Compiled, Sources, plain, units, write_sources
from warpsmith.toolchain.compiling import SOURCE, Step, Tool, Workplace, check_tool
from warpsmith.toolchain.diagnostics import errors, warnings
from warpsmith.toolchain.extension import LIBRARY
from warpsmith.toolchain.host import HostCompiler
from warpsmith.toolchain.nvcc import COMPILE_FLAGS, LIBRARIES, Nvcc, gencode, nvcc_tool
from warpsmith.toolchain.resources import demangled, parse_ptxas

QUIET = ("-fno-diagnostics-show-caret", "-fmax-errors=20")  # an excerpt would show the translated text
TRANSLATED = "host"  # the folder, in the workplace, of the translated sources, under the same paths
ABSENT_HEADER = re.compile(r"fatal error: (?P<header>[\w./]+): No such file")

# A function of a library that our headers offer in part: only its own header could tell whether it exists.
LIBRARY_FUNCTION = re.compile(
    r"'(?:cublas|CUBLAS)\w+' was not declared|undeclared identifier '(?:cublas|CUBLAS)\w+'"
)
# What a compiler says of a line of the sources. Without one, a program was beyond what may be built at all.
OF_A_LINE = re.compile(r":\d+: (?:fatal )?error: ")


@dataclass(slots=True)
class HostBuilder:
    """Builds for the CPU device."""

    host: HostCompiler
    nvcc: Nvcc | None
    device: Device
    _is_sound: bool = field(default=False, init=False)
    _nvcc_is_sound: bool = field(default=False, init=False)
    _no_report: str | None = field(
        default=None, init=False
    )  # why nvcc cannot report here, once that is known

    @property
    def fingerprint(self) -> tuple[str, ...]:
        compiler, linker = self._compiler(), self._linker()
        own = Path(cpu.__file__).parent
        report = (self.nvcc.version, *COMPILE_FLAGS) if self.nvcc else ("no nvcc",)
        return (
            self.host.version,
            *compiler.argv[1:],
            *linker.argv[1:],
            *report,
            digest_of(own),
        )

    def compile(self, sources: Sources, workplace: Workplace) -> Compiled | BuildFailed | NotRunnable:
        if (reason := unsupported_in(sources)) is not None:
            return NotRunnable(device=self.device.name, reason=reason)
        write_sources(
            {path: cpu.translate(text) for path, text in sources.items()}, workplace.folder / TRANSLATED
        )
        compilations = [self._compilation(unit, workplace) for unit in units(sources)]
        reports = self._reports(sources, workplace)
        completed = workplace.run([*compilations, *reports])
        compiled, reported = completed[: len(compilations)], completed[len(compilations) :]
        if any(not one.is_success for one in compiled):
            return self._failure(compiled, reported, sources, workplace)
        (linked,) = workplace.run([self._link(compilations, workplace)])
        if not linked.is_success:
            return self._failure((linked,), (), sources, workplace)
        return self._with_report(compiled, reported, workplace)

    def _compiler(self) -> Tool:
        return Tool(
            name="host",
            argv=(
                str(self.host.path),
                *cpu.compile_flags(),
                *(() if self.host.is_clang else QUIET),
                "-c",
                "-x",
                "c++",
            ),
            readable=(self.host.root, cpu.INCLUDE),
            path=(self.host.path.parent,),
        )

    def _linker(self) -> Tool:
        return Tool(
            name="link",
            argv=(str(self.host.path), *cpu.compile_flags(), "-shared", "-Wl,--no-undefined"),
            readable=(self.host.root,),
            path=(self.host.path.parent,),
        )

    def _compilation(self, unit: str, workplace: Workplace) -> Step:
        return Step(
            tool=self._compiler(),
            label=unit,
            output=workplace.folder / "objects" / f"{unit}.o",
            inputs=(plain(unit),),
            cwd=workplace.folder / TRANSLATED,
        )

    def _link(self, compilations: list[Step], workplace: Workplace) -> Step:
        return Step(
            tool=self._linker(),
            label=LIBRARY,
            output=workplace.folder / LIBRARY,
            inputs=tuple(str(step.output) for step in compilations),
            cwd=workplace.folder,
        )

    def _report_tool(self, nvcc: Nvcc) -> Tool:
        return nvcc_tool(nvcc, self.host, ("-cubin", gencode(self.device.arch), *COMPILE_FLAGS))

    def _reports(self, sources: Sources, workplace: Workplace) -> list[Step]:
        """One run of nvcc a .cu file, up to machine code; none if there is no nvcc that works."""
        if self.nvcc is None or self._no_report is not None:
            return []
        return [
            Step(
                tool=self._report_tool(self.nvcc),
                label=unit,
                output=workplace.folder / "objects" / f"{unit}.cubin",
                inputs=(plain(unit),),
                cwd=workplace.folder / SOURCE,
            )
            for unit in units(sources)
            if unit.endswith(".cu")
        ]

    def _failure(
        self,
        failed: Iterable[Completed],
        reported: tuple[Completed, ...],
        sources: Sources,
        workplace: Workplace,
    ) -> BuildFailed | NotRunnable:
        """Whose failure it is: of what nvcc accepts, or cannot look at, our headers may fall short."""
        said = errors(
            "\n".join(one.stderr for one in failed if not one.is_success), self._roots(workplace), sources
        )
        if not self._is_sound:
            check_tool(self._compiler(), workplace)
            self._is_sound = True
        refused = self._report_failure(reported, workplace)
        if isinstance(refused, BuildFailed):
            return refused
        is_cuda = reported and all(one.is_success for one in reported) and OF_A_LINE.search(said)
        if is_cuda or LIBRARY_FUNCTION.search(said):
            return NotRunnable(device=self.device.name, reason=f"does not compile for the CPU:\n{said}")
        return BuildFailed(log=said)

    def _with_report(
        self, compiled: tuple[Completed, ...], reported: tuple[Completed, ...], workplace: Workplace
    ) -> Compiled | BuildFailed:
        note = self._no_report or ("" if self.nvcc else "no resource report: nvcc is not installed")
        refused = self._report_failure(reported, workplace)
        if isinstance(refused, BuildFailed):
            return refused
        said = "\n".join(one.stderr for one in reported if one.is_success)
        spoken = warnings("\n".join(one.stderr for one in compiled), self._roots(workplace))
        log = "\n".join(part for part in (spoken, refused or note) if part)
        return Compiled(resources=demangled(parse_ptxas(said)), log=log)

    def _report_failure(self, reported: tuple[Completed, ...], workplace: Workplace) -> BuildFailed | str:
        """Why nvcc refused the candidate; a note if the candidate is not to blame; empty if all went well."""
        failed = [one.stderr for one in reported if not one.is_success]
        blamed = [log for log in failed if not self._lacks_header(log)]
        if blamed and self._nvcc_works(workplace):
            return BuildFailed(log=errors("\n".join(blamed), self._roots(workplace), {}))
        if blamed:
            return self._no_report or ""
        absent = sorted({match["header"] for log in failed for match in ABSENT_HEADER.finditer(log)})
        return f"no resource report: this CUDA toolkit has no {', '.join(absent)}" if absent else ""

    def _lacks_header(self, log: str) -> bool:
        found = ABSENT_HEADER.search(log)
        return bool(
            found and self.nvcc and found["header"] in LIBRARIES and not self.nvcc.header(found["header"])
        )

    def _nvcc_works(self, workplace: Workplace) -> bool:
        """Whether nvcc compiles an empty program for this architecture; if not, it is asked no more."""
        if self.nvcc is None or self._nvcc_is_sound:
            return self._nvcc_is_sound
        try:
            check_tool(self._report_tool(self.nvcc), workplace)
            self._nvcc_is_sound = True
        except EnvironmentMissing as error:
            self._no_report = f"no resource report: {error}"
        return self._nvcc_is_sound

    def _roots(self, workplace: Workplace) -> tuple[Path, ...]:
        toolkit = self.nvcc.include_folders if self.nvcc else ()
        folder = workplace.folder
        return (folder / TRANSLATED, folder / SOURCE, folder, cpu.INCLUDE, *toolkit)


def unsupported_in(sources: Mapping[str, str]) -> str | None:
    """The first construct that this device cannot execute, with its place."""
    for path, text in sources.items():
        for found in cpu.unsupported(text):
            return f"{path}:{found.line}: {found.construct}"
    return None


@cache
def digest_of(folder: Path) -> str:
    """A key over names and contents of all files in `folder` and below, read once a process."""
    key = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        key.update(f"{path.name}\0".encode() + path.read_bytes())
    return key.hexdigest()
