"""The host's C++ compiler: where it is."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warpsmith.core import EnvironmentMissing

NAMES = ("g++", "clang++", "c++")
QUERY_LIMIT_S = 30.0
FIX = "apt-get install g++"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCompiler:
    """One installed compiler."""

    path: Path
    version: str  # its own first line: "g++ (Debian 12.2.0-14+deb12u1) 12.2.0"

    @property
    def is_clang(self) -> bool:
        return "clang" in self.version

    @property
    def root(self) -> Path:
        """The folder that holds the compiler with its headers and programs."""
        return self.path.resolve().parent.parent


def find_compiler() -> HostCompiler:
    """The one that CXX names, else the first of g++, clang++ and c++ on PATH. Raises EnvironmentMissing."""
    chosen = os.environ.get("CXX")
    for name in (chosen,) if chosen else NAMES:
        path = shutil.which(name)
        if path and (found := describe_compiler(Path(path))):
            return found
    if chosen:
        raise EnvironmentMissing(
            f"CXX names {chosen!r}, which is no compiler that runs; unset it or correct it"
        )
    raise EnvironmentMissing(f"no C++ compiler found (looked for {', '.join(NAMES)}); install one: {FIX}")


@cache
def describe_compiler(path: Path) -> HostCompiler | None:
    """What the compiler at `path` says of itself; None if it does not run."""
    try:
        done = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=QUERY_LIMIT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return HostCompiler(path=path, version=done.stdout.partition("\n")[0].strip())
