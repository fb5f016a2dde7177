"""The folder that a policy works in: what lies where, what it may touch, and how its commands run."""

import errno
import hashlib
import os
import stat
import sys
from importlib import resources
from pathlib import Path
from typing import Self

from warpsmith.core import Candidate, Command, Completed, InfraError, Limits, Runner, Task, UsageError
from warpsmith.core.candidate import MAX_BYTES, MAX_FILES, MODULE, SOURCE_SUFFIXES

SKILL = "SKILL.md"
REFERENCE = "model.py"
KERNELS = "kernels"
PROTECTED = (SKILL, REFERENCE)
OUR_FAULT = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE)
SHELL_LIMITS = Limits(memory_bytes=16 << 30, output_bytes=1 << 20, file_bytes=4 << 30)


class Refused(ValueError):
    """A policy's wish that is not granted; the message tells it why, and what is."""


class Workspace:
    """SKILL.md and model.py, which stay as they are, and the policy's own model_new.py and kernels/.

    The judge reads neither of the first two: whoever manages to change them deceives only himself.
    """

    def __init__(self, root: Path, task: Task, runner: Runner, *, has_gpu: bool = False) -> None:
        self.root = root.resolve()
        self.has_gpu = has_gpu  # whether its programs may use one
        self._runner = runner
        self._protected = {SKILL: skill_text(), REFERENCE: task.source}
        self._seen: dict[Path, str] = {}

    @classmethod
    def create(cls, root: Path, task: Task, runner: Runner, *, has_gpu: bool = False) -> Self:
        """A new folder at `root`. Raises InfraError if it cannot be made."""
        try:
            (root / KERNELS).mkdir(parents=True)
        except OSError as error:
            raise InfraError(f"{root}: no workspace can be made there ({error.strerror})") from error
        workspace = cls(root, task, runner, has_gpu=has_gpu)
        workspace.restore_protected()
        return workspace

    def candidate(self) -> Candidate:
        """The program as it stands. Raises Refused if there is none, or too much of it."""
        if not self._is_plain(self.root / MODULE):
            raise Refused(f"there is no file {MODULE} yet (a link is none); write it, and {KERNELS}/*.cu")
        sources = [MODULE, *self._kernel_sources()]
        sizes = [(self.root / path).lstat().st_size for path in sources]
        if len(sources) > MAX_FILES or sum(sizes) > MAX_BYTES:
            raise Refused(
                f"a program has {MAX_FILES} files and {MAX_BYTES} bytes at most; clean up {KERNELS}/"
            )
        try:
            return Candidate.of({path: self._text(self.root / path) for path in sources})
        except UsageError as error:
            raise Refused(str(error)) from error

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

    def edit(self, path: str, old: str, new: str) -> int:
        """Replace the one place where `old` stands; its line. Raises Refused."""
        target = self._own(path)
        text = self._text(target)
        self._check_known(target, path)
        count = text.count(old) if old else 0
        if count != 1:
            found = f"stands there {count} times; give more of its surroundings" if count else "is not there"
            raise Refused(f"{path}: `old` {found}; it must match one place exactly, spaces included")
        self._put(target, text.replace(old, new))
        return text[: text.index(old)].count("\n") + 1

    def run(self, command: str, limit_s: float) -> Completed:
        """Run a shell command in the sandbox: this folder writable but for the protected files."""
        python = str(Path(sys.executable).parent)
        limits = Limits(
            wall_s=limit_s,
            memory_bytes=SHELL_LIMITS.memory_bytes,
            output_bytes=SHELL_LIMITS.output_bytes,
            file_bytes=SHELL_LIMITS.file_bytes,
        )
        return self._runner.run(
            Command(
                argv=("/bin/bash", "-c", command),
                cwd=self.root,
                env={"PATH": os.pathsep.join((python, os.environ.get("PATH", "/usr/bin:/bin")))},
                readable=tuple(self.root / name for name in PROTECTED),
                writable=(self.root,),
                gpu=self.has_gpu,
                limits=limits,
            )
        )

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
            if target.is_symlink() or target.exists():
                _remove(target)
            target.write_text(self._protected[name])
        return changed

    def _is_intact(self, name: str, text: str) -> bool:
        target = self.root / name
        return self._is_plain(target) and target.read_bytes() == text.encode()

    def _kernel_sources(self) -> list[str]:
        folder = self.root / KERNELS
        if folder.is_symlink() or not folder.is_dir():
            return []
        found = [Path(place) / name for place, _, names in os.walk(folder) for name in names]
        sources = [path for path in found if path.suffix in SOURCE_SUFFIXES and self._is_plain(path)]
        names = [path.relative_to(self.root).as_posix() for path in sources]
        if not all(name.isprintable() for name in names):
            raise Refused(f"a file in {KERNELS}/ has a name that is no plain text; rename it")
        return names

    def _inside(self, path: str) -> Path:
        """The file that `path` names. Raises Refused if it lies outside, also by way of a link."""
        if not path or "\0" in path:
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
        try:
            body = text.encode()
        except UnicodeEncodeError as error:
            raise Refused(f"the text has a character that UTF-8 cannot hold ({error.reason})") from error
        if len(body) > MAX_BYTES:
            raise Refused(f"the text has {len(body)} bytes; {MAX_BYTES} are accepted")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(body)
        except OSError as error:
            raise _blamed(error, target.relative_to(self.root)) from error
        self._seen[target] = _digest(text)

    def _text(self, target: Path) -> str:
        name = target.relative_to(self.root)
        try:
            if not stat.S_ISREG(target.stat().st_mode):
                raise Refused(f"{name} is no file; look into folders with bash (ls)")
            if target.stat().st_size > MAX_BYTES:
                raise Refused(
                    f"{name} is larger than {MAX_BYTES} bytes; look at parts of it with bash (head, sed)"
                )
            return target.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise Refused(f"{name} is not UTF-8 text") from error
        except OSError as error:
            raise _blamed(error, name) from error

    def _is_plain(self, path: Path) -> bool:
        """Whether this is a regular file and no link: a link could show the judge what the sandbox hides."""
        try:
            return stat.S_ISREG(path.lstat().st_mode)
        except OSError:
            return False


def skill_text() -> str:
    """The guide that every policy is given."""
    return (resources.files("warpsmith.agent") / "skill.md").read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _blamed(error: OSError, name: Path) -> Exception:
    """A full or broken disk is our failure; a path that leads nowhere is the policy's."""
    if error.errno in OUR_FAULT:
        return InfraError(f"{name} in the workspace: {error.strerror}")
    return Refused(f"{name}: {error.strerror}")


def _remove(target: Path) -> None:
    """Remove a file, a link or a whole folder that stands where a protected file belongs."""
    if target.is_symlink() or not target.is_dir():
        target.unlink()
        return
    for child in target.iterdir():
        _remove(child)
    target.rmdir()
