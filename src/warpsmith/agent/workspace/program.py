"""Which files of a workspace are the program, and which merely look like a part of it."""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from warpsmith.core.candidate import KERNELS, MODULE, SOURCE_SUFFIXES, TAKEN, imported_modules

NATIVE_SUFFIXES = tuple(suffix for suffix in SOURCE_SUFFIXES if suffix != ".py")
BUILT_SUFFIXES = (".pth", ".pyc", ".so")  # what Python would take for a module, or run at its start
NOT_PART = (MODULE, "model.py")
MAX_LISTED = 10_000  # entries of a folder, or of a tree, that are looked at
HOOKS = frozenset((*TAKEN, "conftest"))  # modules that others import by themselves


def kernel_entries(root: Path) -> list[os.DirEntry[str]]:
    """Everything below kernels/, by no link; of a flood the first MAX_LISTED entries."""
    return list(islice(entries_below(root / KERNELS), MAX_LISTED))


def entries_below(folder: Path, *, leaving_out: frozenset[str] = frozenset()) -> Iterator[os.DirEntry[str]]:
    """All that lies below, by no link, but for folders of the names left out.

    Without recursion: folders may be nested deeper than calls may.
    """
    waiting = [] if folder.is_symlink() else [os.fspath(folder)]
    while waiting:
        for entry in _listed(waiting.pop()):
            yield entry
            if entry.name not in leaving_out and entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def strays(root: Path, module: str) -> tuple[str, ...]:
    """Files beside the program, whose module's text is `module`, that one could take for a part of it."""
    if (root / KERNELS).is_symlink():
        links = [f"{KERNELS} (a link)"]
    else:
        entries = sorted(entry.path for entry in kernel_entries(root) if entry.is_symlink())
        links = [f"{Path(path).relative_to(root)} (a link)" for path in entries]
    wanted = HOOKS | imported_modules(module)
    beside = sorted(entry.name for entry in islice(_listed(root), MAX_LISTED))
    return (*(name for name in beside if _looks_like_a_part(name, wanted)), *links)


def is_plain(path: Path) -> bool:
    """Whether this is a regular file and no link: a link could show the judge what the sandbox hides."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _looks_like_a_part(name: str, wanted: frozenset[str]) -> bool:
    path = Path(name)
    is_module = path.suffix == ".py" and path.stem in wanted
    return name not in NOT_PART and (is_module or path.suffix in (*NATIVE_SUFFIXES, *BUILT_SUFFIXES))


def _listed(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    """None if it is gone, is no folder, or its path is longer than paths may be."""
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return
