"""A candidate: the files of a program that claims to replace a task's reference."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Self

from warpsmith.core.errors import UsageError

MODULE = "model_new.py"
MAX_FILES = 64
MAX_BYTES = 4 << 20
SOURCE_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".py")


class Form(StrEnum):
    """The three ways a candidate may be written, told apart by its files."""

    LAUNCHER = "launcher"  # extern "C" launchers over raw pointers; `cuda_extension` is generated
    TORCH = "torch"  # *_binding.cpp files against torch's C++ API
    SINGLE_FILE = "single_file"  # model_new.py alone, which calls load_inline


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Relative POSIX path -> source text, sorted by path.

    Raises UsageError at construction for a path that is absolute, leaves the folder or is no source file,
    and for more than MAX_FILES files or MAX_BYTES bytes.
    """

    files: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        paths = [path for path, _ in self.files]
        if paths != sorted(set(paths)):
            raise UsageError("a candidate's files must be sorted and distinct; use Candidate.of")
        for path in paths:
            _check_path(path)
        if len(paths) > MAX_FILES or sum(_num_bytes(path, text) for path, text in self.files) > MAX_BYTES:
            raise UsageError(f"a candidate may have {MAX_FILES} files and {MAX_BYTES} bytes at most")

    @classmethod
    def of(cls, files: dict[str, str]) -> Self:
        return cls(files=tuple(sorted(files.items())))

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """`model_new.py` and all source files under `kernels/`. Raises UsageError if there is none."""
        if not (folder / MODULE).is_file():
            raise UsageError(f"{folder} has no {MODULE}; a candidate is {MODULE} and kernels/*.cu")
        paths = [folder / MODULE, *sorted((folder / "kernels").rglob("*"))]
        sources = [path for path in paths if path.is_file() and path.suffix in SOURCE_SUFFIXES]
        try:
            return cls.of({path.relative_to(folder).as_posix(): path.read_text() for path in sources})
        except UnicodeDecodeError as error:
            raise UsageError(f"{folder}: a source file is not UTF-8 text ({error})") from error

    def write(self, folder: Path) -> None:
        """Put the files into `folder`, making folders as needed."""
        for path, text in self.files:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def text(self, path: str) -> str:
        """One file's source. Raises KeyError if there is no such file."""
        return dict(self.files)[path]

    @property
    def digest(self) -> str:
        """A key over every path and byte; two candidates share it only if they are the same program."""
        key = hashlib.sha256()
        for path, text in self.files:
            body = text.encode()
            key.update(f"{path}\0{len(body)}\0".encode())
            key.update(body)
        return key.hexdigest()

    @property
    def form(self) -> Form:
        if any(path.endswith("_binding.cpp") for path, _ in self.files):
            return Form.TORCH
        return Form.LAUNCHER if any(path.endswith(".cu") for path, _ in self.files) else Form.SINGLE_FILE


def _num_bytes(path: str, text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise UsageError(f"{path} holds a character that UTF-8 cannot ({error.reason})") from error


def _check_path(path: str) -> None:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path or str(pure) != path:
        raise UsageError(f"{path!r} leaves the candidate's folder; use a plain relative path")
    if pure.suffix not in SOURCE_SUFFIXES:
        raise UsageError(f"{path!r} is no source file; a candidate holds {', '.join(SOURCE_SUFFIXES)}")
