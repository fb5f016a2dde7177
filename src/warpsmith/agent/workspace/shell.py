"""The commands that run in a workspace: what each sees, and what bounds it."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import warpsmith
from warpsmith.core import Command, Limits
from warpsmith.sandbox.supervisor import used_bytes

WORKSPACE_BYTES = 8 << 30  # of all files in it
LEAST_ROOM_BYTES = 64 << 20  # that even a full one has: a shell must be able to clean up
MEMORY_BYTES = 16 << 30
BACKGROUND_SHARE = 4  # what a job may have is this part of a command's, for several run at once
LIMITS = Limits(
    memory_bytes=min(MEMORY_BYTES, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2),
    output_bytes=1 << 20,
    file_bytes=4 << 30,
    disk_bytes=WORKSPACE_BYTES,
)
SEARCH_LIMITS = Limits(
    wall_s=10.0, memory_bytes=1 << 30, output_bytes=1 << 20, file_bytes=0, disk_bytes=1 << 20, processes=4
)
OURS = Path(warpsmith.__path__[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """How commands run in the folder `root`. All of it is writable but for `protected`.

    They see the system and Python, and not this package: how a program is judged is no input to writing it.
    """

    root: Path
    protected: tuple[Path, ...]
    has_gpu: bool
    limits: Limits = LIMITS

    def command(self, text: str, limit_s: float, *, in_background: bool = False) -> Command:
        """One shell that runs `text`.

        A background one gets no GPU: it would hold it, or take part of it, while other programs are timed.
        """
        room = max(self.limits.disk_bytes - used_bytes([str(self.root)]), LEAST_ROOM_BYTES)
        limits = replace(self.limits, wall_s=limit_s, disk_bytes=min(room, self.limits.disk_bytes))
        python = str(Path(sys.executable).parent)
        return Command(
            argv=("/bin/bash", "-c", text),
            cwd=self.root,
            env={"PATH": os.pathsep.join((python, os.environ.get("PATH", "/usr/bin:/bin")))},
            readable=self.protected,
            writable=(self.root,),
            hidden=(OURS,),
            gpu=self.has_gpu and not in_background,
            limits=_shared(limits) if in_background else limits,
        )

    def search(self, script: Path, request: str) -> Command:
        """A Python script of ours that looks at the files and cannot change them."""
        return Command(
            argv=(sys.executable, "-I", "-S", str(script), request),
            cwd=self.root,
            readable=(script,),
            limits=SEARCH_LIMITS,
        )


def _shared(limits: Limits) -> Limits:
    memory = None if limits.memory_bytes is None else limits.memory_bytes // BACKGROUND_SHARE
    return replace(
        limits,
        memory_bytes=memory,
        processes=limits.processes // BACKGROUND_SHARE,
        output_bytes=limits.output_bytes // BACKGROUND_SHARE,
    )
