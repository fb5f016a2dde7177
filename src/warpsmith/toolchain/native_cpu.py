"""Extensions for the CPU device: kernels and bindings translated, compiled by the host's compiler.

torch's headers come before our own of CUDA, in a precompiled header: seen first, they take the file for plain
C++.
"""

import re
from dataclasses import dataclass

from warpsmith.core import BuildFailed, NotRunnable
from warpsmith.device import cpu
from warpsmith.toolchain.base import Compiled, plain, units, write_sources
from warpsmith.toolchain.build_cpu import QUIET, HostBuilder, unsupported_in
from warpsmith.toolchain.compiling import SOURCE, Step, Tool, Workplace
from warpsmith.toolchain.diagnostics import errors
from warpsmith.toolchain.native import LINK_FLAGS, NativeModule, precompiled, unresolved, unresolved_failure
from warpsmith.toolchain.store import Store
from warpsmith.toolchain.torch_install import TorchInstall

TRANSLATED = "host-extension"
ABSENT = re.compile(r"fatal error: (?P<header>(?:ATen|c10|torch|cu)[\w./]*): No such file")
HEADER = "#include <torch/extension.h>\n#include <cuda_runtime.h>\n#include <warpsmith/torch_cuda.h>\n"


@dataclass(frozen=True, slots=True)
class CpuExtensions:
    """Builds on what `HostBuilder` found."""

    host: HostBuilder
    torch: TorchInstall

    @property
    def fingerprint(self) -> tuple[str, ...]:
        return (*self.host.fingerprint, self.torch.version, *self._tool(needs_torch=True, whole=False).argv)

    def compile(
        self, module: NativeModule, workplace: Workplace, store: Store
    ) -> Compiled | BuildFailed | NotRunnable:
        if (reason := unsupported_in(module.sources)) is not None:
            return NotRunnable(device=self.host.device.name, reason=reason)
        write_sources(
            {path: cpu.translate(text) for path, text in module.sources.items()},
            workplace.folder / TRANSLATED,
        )
        steps = [self._step(unit, module, workplace, store) for unit in units(module.sources)]
        compiled = workplace.run(steps)
        if any(not one.is_success for one in compiled):
            return self._failure("\n".join(one.stderr for one in compiled), module, workplace)
        (linked,) = workplace.run([self._link(steps, module, workplace)])
        if not linked.is_success:
            return self._failure(linked.stderr, module, workplace)
        if missing := unresolved(linked.stderr):
            return unresolved_failure(missing)
        return Compiled(resources=(), log="no resource report: the program is compiled with torch's headers")

    def _tool(self, *, needs_torch: bool, whole: bool) -> Tool:
        host = self.host.host
        quiet = () if host.is_clang else QUIET
        first = ("-DWARPSMITH_WHOLE_TORCH",) * whole
        torch = (*first, *self.torch.flags) if needs_torch else ()
        return Tool(
            name="host",
            # Our headers of CUDA are searched before torch's, whose own stand for a GPU.
            argv=(str(host.path), *cpu.compile_flags(), *torch, *quiet),
            readable=(host.root, cpu.INCLUDE, *self.torch.readable),
            path=(host.path.parent,),
        )

    def _step(self, unit: str, module: NativeModule, workplace: Workplace, store: Store) -> Step:
        needs_torch = module.needs_torch(unit)
        tool = self._tool(needs_torch=needs_torch, whole=module.needs_whole_torch)
        if needs_torch:
            # The language's version and torch's flags are the same for the header: it would not be used else.
            bare = Tool(name=tool.name, argv=_without_own(tool.argv), readable=tool.readable, path=tool.path)
            header = precompiled(store, workplace.runner, bare, self.host.host.version, self.torch, HEADER)
            tool = Tool(
                name=tool.name,
                argv=(bare.argv[0], "-include", str(header), *bare.argv[1:]),
                readable=(*tool.readable, header.parent),
                path=tool.path,
            )
        return Step(
            tool=tool,
            label=unit,
            output=workplace.folder / "objects" / f"{unit}.o",
            inputs=("-c", "-x", "c++", plain(unit)),
            options=(f"-DTORCH_EXTENSION_NAME={module.name}", *module.flags.host),
            cwd=workplace.folder / TRANSLATED,
        )

    def _link(self, steps: list[Step], module: NativeModule, workplace: Workplace) -> Step:
        host = self.host.host
        tool = Tool(
            name="link",
            argv=(str(host.path), *cpu.compile_flags(), *LINK_FLAGS),
            readable=(host.root, *self.torch.readable),
            path=(host.path.parent,),
        )
        return Step(
            tool=tool,
            label=module.library,
            output=workplace.folder / module.library,
            inputs=tuple(str(step.output) for step in steps),
            options=tuple(map(str, self.torch.libraries)),
            cwd=workplace.folder,
        )

    def _failure(self, log: str, module: NativeModule, workplace: Workplace) -> BuildFailed | NotRunnable:
        roots = (workplace.folder / TRANSLATED, workplace.folder / SOURCE, workplace.folder, cpu.INCLUDE)
        said = errors(log, (*roots, self.torch.root / "include"), module.sources)
        if _needs_cuda_torch(log) is not None:
            return NotRunnable(device=self.host.device.name, reason=f"does not compile for the CPU:\n{said}")
        return BuildFailed(log=said)


def _without_own(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Without the header of CUDA that is put before every file, since torch's must come first, and without
    what is said to the linker, for which g++ would link a header.
    """
    place = argv.index("-include")
    return tuple(part for part in (*argv[:place], *argv[place + 2 :]) if not part.startswith("-Wl,"))


def _needs_cuda_torch(log: str) -> str | None:
    """A header of torch's that only its CUDA edition could compile, if the log names one."""
    found = ABSENT.search(log)
    return found["header"] if found else None
