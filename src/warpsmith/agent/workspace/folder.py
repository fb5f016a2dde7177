"""The folder that a policy works in: what lies where, what it may touch, and how its commands run."""

import errno
import hashlib
import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import resources
from pathlib import Path
from typing import Self

from warpsmith.agent.workspace.beneath import NoFile, TooLarge, read_bytes, write_bytes
from warpsmith.agent.workspace.changes import Change, Unfit, changed
from warpsmith.agent.workspace.program import MAX_LISTED, is_plain, kernel_entries, strays
from warpsmith.agent.workspace.shell import Shell
from warpsmith.core import Candidate, Completed, InfraError, Job, Task, UsageError
from warpsmith.core.candidate import KERNELS, MAX_BYTES, MAX_FILES, MODULE, SOURCE_SUFFIXES
from warpsmith.sandbox import Guarantee, Sandbox

__all__ = [
    "KERNELS",
    "OUR_FAULT",
    "PROTECTED",
    "REFERENCE",
    "SKILL",
    "Refused",
    "Workspace",
    "is_text",
    "skill_text",
]

Turn = Callable[[], AbstractContextManager[None]]

SKILL = "SKILL.md"
REFERENCE = "model.py"
PROTECTED = (SKILL, REFERENCE)
MAX_PATH = 200  # of a source, in the workspace: compilers work in deeper folders, and with longer names
OUR_FAULT = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE)


class Refused(ValueError):
    """A policy's wish that is not granted; the message tells it why, and what is."""


class Workspace:
    """SKILL.md and model.py, which stay as they are, and the policy's own model_new.py and kernels/.

    The judge reads neither of the first two: whoever manages to change them deceives only himself.
    """

    def __init__(
        self, root: Path, task: Task, sandbox: Sandbox, *, has_gpu: bool = False, turn: Turn = nullcontext
    ) -> None:
        """`turn` is held while a command that has the GPU runs: others may be timing on it."""
        self.root = root.resolve()
        self.has_gpu = has_gpu  # whether its programs may use one
        self._sandbox = sandbox
        self._turn = turn if has_gpu else nullcontext
        self._protected = {SKILL: skill_text(), REFERENCE: task.source}
        self._seen: dict[Path, str] = {}
        # Where the kernel does not keep a file read-only, it is we who restore it, and can say so.
        is_kept = Guarantee.READ_ONLY in sandbox.covers
        self.shell = Shell(
            root=self.root,
            protected=tuple(self.root / name for name in PROTECTED) if is_kept else (),
            has_gpu=has_gpu,
        )

    @classmethod
    def create(
        cls, root: Path, task: Task, sandbox: Sandbox, *, has_gpu: bool = False, turn: Turn = nullcontext
    ) -> Self:
        """A new folder at `root`. Raises InfraError if it cannot be made."""
        try:
            (root / KERNELS).mkdir(parents=True)
        except OSError as error:
            raise InfraError(f"{root}: no workspace can be made there ({error.strerror})") from error
        workspace = cls(root, task, sandbox, has_gpu=has_gpu, turn=turn)
        workspace.restore_protected()
        return workspace

    def candidate(self) -> Candidate:
        """The program as it stands. Raises Refused if there is none, or too much of it."""
        if not is_plain(self.root / MODULE):
            raise Refused(f"there is no file {MODULE} yet (a link is none); write it, and {KERNELS}/*.cu")
        sources = [MODULE, *self._kernel_sources()]
        sizes = [_size(self.root / path) for path in sources]
        if len(sources) > MAX_FILES or sum(sizes) > MAX_BYTES:
            raise Refused(
                f"a program has {MAX_FILES} files and {MAX_BYTES} bytes at most; clean up {KERNELS}/"
            )
        try:
            return Candidate.of({path: self._text(self.root / path) for path in sources})
        except UsageError as error:
            raise Refused(str(error)) from error

    def strays(self) -> tuple[str, ...]:
        """Files that one could take for a part of the program, and that no judge sees."""
        module = self._text(self.root / MODULE) if is_plain(self.root / MODULE) else ""
        return strays(self.root, module)

    def read(self, path: str) -> str:
        """A file's text. Raises Refused."""
        target = self._inside(path)
        text = self._text(target)
        self._seen[target] = _digest(text)
        return text

    def write(self, path: str, text: str) -> bool:
        """Write a whole file; True if it is new. Raises Refused, also when what it replaces is unread."""
        target = self._own(path)
        is_new = not target.exists()
        if not is_new:
            self._check_known(target, path)
        self._put(target, text)
        return is_new

    def edit(self, path: str, changes: Sequence[Change]) -> tuple[int, ...]:
        """Make all of `changes`, one after the other, or none; the first line of each. Raises Refused."""
        target = self._own(path)
        text = self._text(target)
        self._check_known(target, path)
        try:
            text, lines = changed(text, changes, MAX_BYTES)
        except Unfit as unfit:
            raise Refused(f"{path}: {unfit}") from unfit
        self._put(target, text)
        return lines

    def run(self, command: str, limit_s: float) -> Completed:
        """Run a shell command in the sandbox: this folder writable but for the protected files."""
        with self._turn():
            return self._sandbox.run(self.shell.command(command, limit_s))

    def begin(self, command: str, limit_s: float) -> Job:
        """The same in the background, with a share of what a command may have."""
        return self._sandbox.begin(self.shell.command(command, limit_s, in_background=True))

    def search(self, script: Path, path: str, request: str) -> Completed:
        """Run a search of ours below `path`. Raises Refused if that is outside."""
        self._inside(path)
        return self._sandbox.run(self.shell.search(script, request))

    def restore_protected(self) -> tuple[str, ...]:
        """Put the protected files back where they differ; their names. Raises InfraError if that fails."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self.root.chmod(0o755)
            return self._restored()
        except OSError as error:
            raise InfraError(f"{self.root}: the workspace cannot be restored ({error.strerror})") from error

    def _restored(self) -> tuple[str, ...]:
        changed = tuple(name for name, text in self._protected.items() if not self._is_intact(name, text))
        for name in changed:
            target = self.root / name
            if target.is_dir() and not target.is_symlink():
                # Not removed: it may be deeper than we can go.
                target.rename(self.root / f".{secrets.token_hex(8)}.theirs")
            write_bytes(self.root, Path(name), self._protected[name].encode())
        return changed

    def _is_intact(self, name: str, text: str) -> bool:
        body = text.encode()
        try:
            return read_bytes(self.root, Path(name), len(body)) == body
        except (OSError, NoFile, TooLarge):
            return False

    def _kernel_sources(self) -> list[str]:
        entries = kernel_entries(self.root)
        if len(entries) >= MAX_LISTED:
            raise Refused(f"{KERNELS}/ holds {MAX_LISTED} files or more; clean it up")
        files = [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
        sources = [path for path in files if path.suffix in SOURCE_SUFFIXES]
        names = [path.relative_to(self.root).as_posix() for path in sources]
        if not all(name.isprintable() for name in names):
            raise Refused(f"a file in {KERNELS}/ has a name that is no plain text; rename it")
        if any(len(name) > MAX_PATH for name in names):
            raise Refused(f"a path in {KERNELS}/ has more than {MAX_PATH} characters; shorten it")
        return names

    def _inside(self, path: str) -> Path:
        """The file that `path` names. Raises Refused if it lies outside, also by way of a link."""
        if not path or "\0" in path or not is_text(path):
            raise Refused(f"{path!r} is no path; give one relative to the workspace, such as {MODULE}")
        try:
            target = (self.root / path).resolve()
        except (OSError, RuntimeError) as error:  # a loop of links
            raise Refused(f"{path} cannot be followed: {error}") from error
        if not target.is_relative_to(self.root):
            raise Refused(
                f"{path} lies outside the workspace; paths are relative to it, such as {KERNELS}/a.cu"
            )
        return target

    def _own(self, path: str) -> Path:
        """A file that may be written."""
        target = self._inside(path)
        if target.relative_to(self.root).as_posix() in PROTECTED:
            raise Refused(f"{path} stays as it is; the program is {MODULE} and {KERNELS}/")
        return target

    def _check_known(self, target: Path, path: str) -> None:
        if target not in self._seen:
            raise Refused(f"{path} exists and was not read; read it first")
        if self._seen[target] != _digest(self._text(target)):
            raise Refused(f"{path} has changed since it was read; read it again")

    def _put(self, target: Path, text: str) -> None:
        if not is_text(text):
            raise Refused("the text has a character that UTF-8 cannot hold: half of a surrogate pair")
        body = text.encode()
        if len(body) > MAX_BYTES:
            raise Refused(f"the text has {len(body)} bytes; {MAX_BYTES} are accepted")
        name = target.relative_to(self.root)
        try:
            write_bytes(self.root, name, body)
        except OSError as error:
            raise _blamed(error, name) from error
        self._seen[target] = _digest(text)

    def _text(self, target: Path) -> str:
        name = target.relative_to(self.root)
        try:
            return read_bytes(self.root, name, MAX_BYTES).decode()
        except NoFile as error:
            raise Refused(f"{name} is no file; look into folders with glob, or bash (ls)") from error
        except TooLarge as error:
            raise Refused(
                f"{name} is larger than {MAX_BYTES} bytes; look at parts of it with grep, or bash (head, sed)"
            ) from error
        except UnicodeDecodeError as error:
            raise Refused(f"{name} is not UTF-8 text") from error
        except OSError as error:
            raise _blamed(error, name) from error


def skill_text() -> str:
    """The guide that every policy is given."""
    return (resources.files("warpsmith.agent.workspace") / "skill.md").read_text(encoding="utf-8")


def is_text(text: str) -> bool:
    """Whether UTF-8 can hold it: half of a surrogate pair is none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:  # gone meanwhile; reading it says so
        return 0


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _blamed(error: OSError, name: Path) -> Exception:
    """A full or broken disk is our failure; a path that leads nowhere is the policy's."""
    if error.errno in OUR_FAULT:
        return InfraError(f"{name} in the workspace: {error.strerror}")
    return Refused(f"{name}: {error.strerror}")
