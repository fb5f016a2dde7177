"""Running compilers: bounded, sandboxed, side by side, each one's output kept."""

import errno
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.core import Command, Completed, Ending, EnvironmentMissing, Limits, Runner
from warpsmith.toolchain.store import NotKept

LIMITS = Limits(wall_s=120.0, memory_bytes=8 << 30)
MAX_PARALLEL = 8
MIN_FREE_BYTES = 16 << 20  # with less, a failed compilation says nothing about the program
SOURCE = "src"  # where compilers run, in the workplace, so that they name files as the candidate does


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A compiler with its flags."""

    name: str
    argv: tuple[str, ...]  # an output and inputs follow
    readable: tuple[Path, ...] = ()
    path: tuple[Path, ...] = ()  # folders where it looks for other programs


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One run of a tool."""

    tool: Tool
    label: str  # what it works on: "kernels/norm.cu"
    output: Path
    inputs: tuple[str, ...]
    cwd: Path
    options: tuple[str, ...] = ()  # after the inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """The folder in which one candidate is built; compilers may write nowhere else."""

    folder: Path
    runner: Runner
    limits: Limits = field(default=LIMITS)

    def run(self, steps: Sequence[Step]) -> tuple[Completed, ...]:
        """What came of each step, in order. Raises NotKept if one overran its limits."""
        if len(steps) == 1:
            return (self._run(steps[0]),)
        with ThreadPoolExecutor(max_workers=min(MAX_PARALLEL, os.cpu_count() or 1)) as pool:
            return tuple(pool.map(self._run, steps))

    def _run(self, step: Step) -> Completed:
        # A scratch folder for each: nvcc names files by its process id, which is the same in every sandbox.
        name = f"{step.label}.{step.tool.name}"
        scratch, log = self.folder / "tmp" / name, self.folder / "logs" / name
        for folder in (scratch, log.parent, step.output.parent):
            folder.mkdir(parents=True, exist_ok=True)
        completed = self.runner.run(self._command(step, scratch))
        log.with_name(log.name + ".out").write_text(completed.stdout)
        log.with_name(log.name + ".err").write_text(completed.stderr)
        if completed.ending is Ending.TIMED_OUT:
            raise NotKept(
                f"{step.label}: error: {step.tool.name} did not end within {self.limits.wall_s:.0f} s"
            )
        if completed.ending is Ending.OUT_OF_MEMORY:
            limit = (self.limits.memory_bytes or 0) / (1 << 30)
            raise NotKept(f"{step.label}: error: {step.tool.name} needed more than {limit:.0f} GiB of memory")
        if not completed.is_success and shutil.disk_usage(self.folder).free < MIN_FREE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # the store says what to do
        return completed

    def _command(self, step: Step, scratch: Path) -> Command:
        places = dict.fromkeys([*map(str, step.tool.path), "/usr/local/bin", "/usr/bin", "/bin"])
        return Command(
            argv=(*step.tool.argv, "-o", str(step.output), *step.inputs, *step.options),
            cwd=step.cwd,
            env={
                "PATH": os.pathsep.join(places),
                "TMPDIR": str(scratch),
                "HOME": str(scratch),
                "LC_ALL": "C",
            },
            readable=step.tool.readable,
            writable=(self.folder,),
            limits=self.limits,
        )


def check_tool(tool: Tool, workplace: Workplace) -> None:
    """Compile an empty program. Raises EnvironmentMissing if even that fails: no candidate is to blame."""
    folder = workplace.folder / "empty"
    folder.mkdir(exist_ok=True)
    (folder / "empty.cu").write_text('extern "C" int empty() { return 0; }\n')
    output = workplace.folder / "objects" / "empty"
    step = Step(tool=tool, label="empty.cu", output=output, inputs=("empty.cu",), cwd=folder)
    (completed,) = workplace.run([step])
    if not completed.is_success:
        lines = [line for line in completed.stderr.splitlines() if line.strip()] or [
            f"exit code {completed.exit_code}"
        ]
        raise EnvironmentMissing(f"{tool.argv[0]} does not compile an empty program: {lines[0]}")
