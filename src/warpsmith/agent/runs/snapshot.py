"""A workspace as it stood when a turn ended: its text files, kept by what they hold."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath

from warpsmith.agent.workspace.beneath import NoFile, TooLarge, read_bytes, remove_tree
from warpsmith.agent.workspace.folder import KERNELS, OUR_FAULT, PROTECTED
from warpsmith.agent.workspace.program import entries_below
from warpsmith.core import InfraError, UsageError
from warpsmith.core.candidate import MODULE

MAX_FILE_BYTES = 1_000_000
MAX_FILES = 500
MAX_BYTES = 32_000_000
MAX_SEEN = 20_000  # files and folders that are looked at; a workspace can be flooded
MAX_NAMED = 100  # of what was skipped

DIGEST = re.compile("[0-9a-f]{64}")

# What can be built again, and would fill the run folder with a copy a turn.
BUILT_FOLDERS = frozenset(("__pycache__", "build", ".git", ".cache", ".pytest_cache"))
BUILT_SUFFIXES = frozenset((".o", ".so", ".a", ".pyc", ".cubin", ".fatbin", ".npy", ".pt"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Path in the workspace -> digest of its text. `skipped` are files beyond the bounds."""

    files: dict[str, str] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()


class Blobs:
    """Texts by their sha256, a file each; the same text is kept once, however many turns it lasts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, body: bytes) -> str:
        """Its digest. On disk before this returns, also if the power goes. Raises InfraError."""
        digest = hashlib.sha256(body).hexdigest()
        path = self._folder / digest
        if not path.exists():
            fresh = self._folder / f".{digest}.fresh"
            try:
                self._folder.mkdir(exist_ok=True)
                with fresh.open("wb") as file:
                    file.write(body)
                    file.flush()
                    os.fsync(file.fileno())
                fresh.replace(path)
                _sync_folder(self._folder)
            except OSError as error:
                raise InfraError(
                    f"{path} cannot be written ({error.strerror}); make room; what was written before is kept"
                ) from error
        return digest

    def get(self, digest: str) -> bytes:
        """Raises UsageError if it is gone, or is not what it was."""
        if not DIGEST.fullmatch(str(digest)):
            raise UsageError(f"{digest!r:.80} is no name of a blob; the record has been changed")
        path = self._folder / digest
        try:
            body = path.read_bytes()
        except OSError as error:
            raise UsageError(
                f"{path} is missing ({error.strerror}); the run cannot go on from a turn that needs it, "
                f"fork it from an earlier one"
            ) from error
        if hashlib.sha256(body).hexdigest() != digest:
            raise UsageError(f"{path} has been changed; fork the run from a turn that does not need it")
        return body


def taken(root: Path, blobs: Blobs) -> Snapshot:
    """The regular text files below `root`, the program's first. Raises InfraError if ours fails."""
    files: dict[str, str] = {}
    skipped: list[str] = []
    left = MAX_BYTES
    for name in sorted(_names(root), key=_order):
        try:
            body = read_bytes(root, PurePath(name), MAX_FILE_BYTES)
        except TooLarge:
            skipped.append(name)
        except (NoFile, OSError) as error:
            _check_ours(root / name, error)
        else:
            if not _is_text(body):
                continue
            if len(files) == MAX_FILES or len(body) > left:
                skipped.append(name)
                continue
            left -= len(body)
            files[name] = blobs.put(body)
    executable = tuple(name for name in files if _may_run(root / name))
    return Snapshot(files=files, skipped=tuple(skipped[:MAX_NAMED]), executable=executable)


def restored(root: Path, snapshot: Snapshot, blobs: Blobs) -> None:
    """Make `root` hold what `snapshot` does, and of the rest only what had been skipped for its size.

    The folder is made anew beside the old one and takes its place: a link in the old one leads nowhere.
    Raises UsageError for a blob that is missing, before anything is touched; InfraError if the disk refuses.
    """
    for name in (*snapshot.files, *snapshot.skipped):
        if PurePath(name).is_absolute() or ".." in PurePath(name).parts:
            raise UsageError(f"{name!r:.200} leads out of the workspace; the record has been changed")
    texts = {name: blobs.get(digest) for name, digest in snapshot.files.items()}
    fresh, stale = (root.with_name(f".{root.name}.{word}") for word in ("fresh", "stale"))
    try:
        for leftover in (fresh, stale):
            _removed(leftover)
        (fresh / KERNELS).mkdir(parents=True)
        for name, body in texts.items():
            target = fresh / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(body)
            target.chmod(0o755 if name in snapshot.executable else 0o644)
        for name in snapshot.skipped:
            _carried_over(root, fresh, name)
        if os.path.lexists(root):
            root.rename(stale)
        fresh.rename(root)
        _removed(stale)
    except OSError as error:
        raise InfraError(f"{root}: the workspace cannot be restored ({error.strerror})") from error


def _order(name: str) -> tuple[bool, str]:
    """The program first: a flood of other files must not push it out."""
    return name != MODULE and not name.startswith(f"{KERNELS}/"), name


def _names(root: Path) -> Iterator[str]:
    """Regular files by their path below `root`; no link is followed."""
    for entry in islice(entries_below(root, leaving_out=BUILT_FOLDERS), MAX_SEEN):
        name = os.path.relpath(entry.path, root)
        is_kept = name not in PROTECTED and PurePath(name).suffix not in BUILT_SUFFIXES and _is_utf8(name)
        if is_kept and entry.is_file(follow_symlinks=False):
            yield name


def _is_utf8(name: str) -> bool:
    """Whether the name can stand in a record: the file system takes any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_ours(path: Path, error: Exception) -> None:
    """Raises InfraError if it is our machine that fails: what a background job removes meanwhile is gone."""
    if isinstance(error, OSError) and error.errno in OUR_FAULT:
        raise InfraError(f"{path} cannot be read ({error.strerror})") from error


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in body


def _may_run(path: Path) -> bool:
    try:
        return bool(path.lstat().st_mode & 0o100)
    except OSError:
        return False


def _carried_over(old: Path, fresh: Path, name: str) -> None:
    """Move a file that no blob holds, unless a link stands in its way."""
    source = old / name
    parents = [old / parent for parent in Path(name).parents]
    if all(stat.S_ISDIR(parent.lstat().st_mode) for parent in parents if os.path.lexists(parent)) and (
        os.path.lexists(source) and stat.S_ISREG(source.lstat().st_mode)
    ):
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        source.rename(fresh / name)


def _sync_folder(folder: Path) -> None:
    """Else a power cut may take the name of a file whose text it leaves."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _removed(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        remove_tree(path)
