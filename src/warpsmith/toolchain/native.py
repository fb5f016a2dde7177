"""Python extensions written against torch's C++ library: what is compiled, and how compilers are called."""

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

from warpsmith.core import BuildFailed, EnvironmentMissing, Limits, NotRunnable, Runner
from warpsmith.device import cpu
from warpsmith.toolchain.base import Compiled, Sources
from warpsmith.toolchain.build_cpu import digest_of
from warpsmith.toolchain.compiling import Step, Tool, Workplace
from warpsmith.toolchain.flags import Flags
from warpsmith.toolchain.store import Store, content_key
from warpsmith.toolchain.torch_install import INCLUDES_TORCH, OWN_INCLUDE, WHOLE_TORCH, TorchInstall

# torch's headers in a .cu file take nvcc two minutes of one core.
LIMITS = Limits(wall_s=480.0, memory_bytes=12 << 30)
# Python's own names are found in the process that loads the extension; anything else must be found here.
UNDEFINED = re.compile(r"undefined reference to `(?P<name>[^']+)'")
OWN_HEADER = re.compile(r'#\s*include\s*[<"]([^>"\n]+)[>"]')
PYTHON = re.compile(r"_?Py[A-Z_]\w*\Z")
LINK_FLAGS = ("-shared", "-Wl,--no-undefined", "-Wl,--warn-unresolved-symbols")


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeModule:
    """One extension: its sources under paths relative to the workplace's SOURCE folder."""

    name: str  # of the Python module, where the sources leave it to TORCH_EXTENSION_NAME
    library: str  # the file that is made
    sources: Mapping[str, str]
    flags: Flags = field(default_factory=Flags)

    @property
    def needs_whole_torch(self) -> bool:
        return any(WHOLE_TORCH.search(text) for text in self.sources.values())

    def needs_torch(self, unit: str) -> bool:
        """Whether torch's headers are needed to compile `unit`, itself or through the program's headers."""
        by_name = {PurePosixPath(path).name: text for path, text in self.sources.items()}
        seen: set[str] = set()
        waiting = [self.sources[unit]]
        while waiting:
            text = waiting.pop()
            if INCLUDES_TORCH.search(text):
                return True
            named = {PurePosixPath(match[1]).name for match in OWN_HEADER.finditer(text)} - seen
            seen |= named
            waiting += [by_name[name] for name in named if name in by_name]
        return False

    @property
    def defines(self) -> tuple[str, ...]:
        whole = ("-DWARPSMITH_WHOLE_TORCH",) * self.needs_whole_torch
        return (f"-DTORCH_EXTENSION_NAME={self.name}", *whole)


class NativeBuilder(Protocol):
    """Compiles and links extensions for one kind of device."""

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """All that a library depends on besides sources and flags."""
        ...

    def compile(
        self, module: NativeModule, workplace: Workplace, store: Store
    ) -> Compiled | BuildFailed | NotRunnable:
        """Build the module's library in the workplace, whose SOURCE folder holds its sources."""
        ...


def unresolved(log: str) -> tuple[str, ...]:
    """Names that a linker did not find, Python's own left out."""
    found = dict.fromkeys(match["name"] for match in UNDEFINED.finditer(log))
    return tuple(name for name in found if not PYTHON.match(name))


def unresolved_failure(names: Iterable[str]) -> BuildFailed:
    return BuildFailed(log="\n".join(f"error: undefined reference to `{name}'" for name in names))


def precompiled(
    store: Store, runner: Runner, tool: Tool, compiler: str, torch: TorchInstall, text: str
) -> Path:
    """A header of `text` with its precompiled form beside it, for compilations with the same flags.

    The forms of most programs begin with the same headers of torch, which take longest.
    """
    own = (digest_of(OWN_INCLUDE), digest_of(cpu.INCLUDE))
    key = content_key(("precompiled header", *tool.argv, compiler, torch.version, *own, text))

    def make(folder: Path) -> None:
        (folder / "torch.h").write_text(text)
        header = Tool(
            name="header", argv=(*tool.argv, "-x", "c++-header"), readable=tool.readable, path=tool.path
        )
        workplace = Workplace(folder=folder, runner=runner, limits=LIMITS)
        output = folder / "torch.h.gch"
        step = Step(tool=header, label="torch.h", output=output, inputs=("torch.h",), cwd=folder)
        (done,) = workplace.run([step])
        shutil.rmtree(folder / "tmp", ignore_errors=True)
        if not done.is_success:
            lines = done.stderr.strip().splitlines() or [f"exit code {done.exit_code}"]
            raise EnvironmentMissing(f"{tool.argv[0]} does not compile torch's own headers: {lines[0]}")

    return store.fetch(key, make).folder / "torch.h"


def sources_of(modules: Iterable[NativeModule]) -> Sources:
    return {path: text for module in modules for path, text in module.sources.items()}
