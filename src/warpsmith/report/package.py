"""Makes a folder of sources usable as it is: puts the importable `cuda_extension` beside them."""

import shutil
from pathlib import Path

from warpsmith.core import Candidate, Passed, UsageError
from warpsmith.report.readme import readme
from warpsmith.report.runs import BrokenRun, read_run
from warpsmith.toolchain import Build, Toolchain
from warpsmith.toolchain.extension import LIBRARY, MODULE

README = "README.md"


def install(build: Build, folder: Path) -> tuple[Path, ...]:
    """Copy what `build` made into `folder`, each file in one step: who has the old one loaded keeps it.

    Returns the new files. Raises OSError if the folder cannot be written.
    """
    return tuple(_replace(build.folder / name, folder / name) for name in (LIBRARY, MODULE))


def _replace(source: Path, target: Path) -> Path:
    fresh = target.with_name(f".{target.name}.fresh")
    try:
        shutil.copyfile(source, fresh)
        fresh.chmod(0o644)
        return fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)


def finish(folder: Path, toolchain: Toolchain) -> tuple[Path, ...]:
    """Make the run in `folder` ready to use: its program importable, its README written; gives the new files.

    Raises:
        UsageError: there is no readable run.
        EnvironmentMissing, InfraError: its program cannot be built here; the README is written all the same.
    """
    run = read_run(folder)
    if isinstance(run, BrokenRun):
        raise UsageError(f"{folder} holds no readable run: {run.reason}")
    candidate = Candidate.from_folder(folder) if run.verdict is not None else None
    text = readme(run, candidate)
    (folder / README).write_text(text, encoding="utf-8", errors="replace")
    if candidate is None or not isinstance(run.verdict, Passed):
        return (folder / README,)
    build = toolchain.build(candidate)
    installed = install(build, folder) if isinstance(build, Build) else ()
    return (*installed, folder / README)
