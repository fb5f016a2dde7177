"""What builds a candidate's library on one kind of device."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from warpsmith.core import BuildFailed, KernelResources, NotRunnable
from warpsmith.toolchain.compiling import Workplace

UNIT_SUFFIXES = (".cu", ".cpp")  # files that are compiled; the rest are included by them

Sources = Mapping[str, str]  # path -> text, all that a compiler may see of a candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A library, lying in the workplace under `extension.LIBRARY`, and what was said of it."""

    resources: tuple[KernelResources, ...]
    log: str


class Builder(Protocol):
    """Compiles and links a candidate's sources for one kind of device."""

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """All that the library depends on besides the sources: compilers, flags, headers."""
        ...

    def compile(self, sources: Sources, workplace: Workplace) -> Compiled | BuildFailed | NotRunnable:
        """Build the library in the workplace, whose SOURCE folder holds `sources`.

        Raises:
            NotKept: a compiler overran its limits.
            EnvironmentMissing: a compiler does not work at all.
        """
        ...


def units(sources: Sources) -> tuple[str, ...]:
    """The paths that are compiled."""
    return tuple(path for path in sources if path.endswith(UNIT_SUFFIXES))


def write_sources(sources: Sources, folder: Path) -> None:
    """Put `sources` into `folder`, making folders as needed."""
    for path, text in sources.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def plain(path: str) -> str:
    """`path` as an argument that no compiler takes for an option."""
    return path if path[0].isalnum() else f"./{path}"
