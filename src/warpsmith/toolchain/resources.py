"""What ptxas says of each kernel (`-Xptxas -v`): registers, spills, shared memory, stack."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator

from warpsmith.core import KernelResources

ENTRY = re.compile(r"Compiling entry function '(?P<kernel>[^']+)' for '(?P<arch>[^']+)'")
FRAME = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)
PROPERTIES = re.compile(r"Function properties for (?P<function>\S+)")
REGISTERS = re.compile(r"Used (?P<registers>\d+) registers")
SHARED = re.compile(r"(?P<shared>\d+)(?:\+\d+)? bytes smem")
DEMANGLE_LIMIT_S = 10.0


def parse_ptxas(log: str) -> tuple[KernelResources, ...]:
    """One entry a kernel, in the order of the log; names as the compiler mangled them."""
    parts = ENTRY.split(log)[1:]  # kernel, arch, text, kernel, arch, text, ...
    return tuple(_kernel(*parts[i : i + 3]) for i in range(0, len(parts), 3))


def _kernel(kernel: str, arch: str, text: str) -> KernelResources:
    frame = FRAME.search(_own_properties(kernel, text))
    registers, shared = REGISTERS.search(text), SHARED.search(text)
    return KernelResources(
        kernel=kernel,
        arch=arch,
        registers=int(registers["registers"]) if registers else 0,
        spill_bytes=int(frame["stores"]) + int(frame["loads"]) if frame else 0,
        shared_bytes=int(shared["shared"]) if shared else 0,
        stack_bytes=int(frame["stack"]) if frame else 0,
    )


def _own_properties(kernel: str, text: str) -> str:
    """The kernel's frame, not that of a function it calls, which ptxas lists beside it."""
    for match in PROPERTIES.finditer(text):
        if match["function"] == kernel:
            return text[match.end() :]
    return text


def demangled(resources: Iterable[KernelResources]) -> tuple[KernelResources, ...]:
    """With kernel names as a person writes them, where c++filt is installed; as they are elsewhere."""
    resources = tuple(resources)
    tool = shutil.which("c++filt") or shutil.which("cu++filt")
    if tool is None or not resources:
        return resources
    return tuple(_renamed(resources, _filtered(tool, [resource.kernel for resource in resources])))


def _filtered(tool: str, names: list[str]) -> list[str]:
    """`names` through the demangler; unchanged if it fails, since a mangled name is a name too."""
    try:
        done = subprocess.run(
            [tool],
            input="\n".join(names),
            capture_output=True,
            text=True,
            timeout=DEMANGLE_LIMIT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return names
    lines = done.stdout.splitlines()
    return lines if len(lines) == len(names) else names


def _renamed(resources: tuple[KernelResources, ...], names: list[str]) -> Iterator[KernelResources]:
    for resource, name in zip(resources, names, strict=True):
        yield KernelResources(
            kernel=name.replace("(anonymous namespace)::", ""),
            arch=resource.arch,
            registers=resource.registers,
            spill_bytes=resource.spill_bytes,
            shared_bytes=resource.shared_bytes,
            stack_bytes=resource.stack_bytes,
        )
