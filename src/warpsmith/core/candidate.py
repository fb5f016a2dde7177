"""A candidate: the files of a program that claims to replace a task's reference."""

import ast
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Self

from warpsmith.core.errors import UsageError
from warpsmith.core.syntax import parsed

MODULE = "model_new.py"
KERNELS = "kernels"
MAX_FILES = 64
MAX_BYTES = 4 << 20
SOURCE_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".py")

# What lies beside model_new.py in a workspace and is not the candidate's: reference and generated module.
NOT_PART = ("model", "reference", "cuda_extension")
# A helper by one of these names would stand in the way of what everybody imports.
TAKEN = frozenset((*NOT_PART, "torch", "numpy", "warpsmith", "triton", "sitecustomize", "usercustomize"))

LOADERS = frozenset(("load_inline", "cpp_extension"))


class Form(StrEnum):
    """The three ways a candidate may be written, told apart by its files."""

    LAUNCHER = "launcher"  # extern "C" launchers over raw pointers; `cuda_extension` is generated
    TORCH = "torch"  # bindings against torch's C++ API, registered by REGISTER_BINDING
    SINGLE_FILE = "single_file"  # model_new.py compiles by load_inline, or load on its own files


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Relative POSIX path -> source text, sorted by path.

    Raises UsageError at construction for a path that is absolute, leaves the folder, is no source file, or
    cannot lie beside another; and for more than MAX_FILES files or MAX_BYTES bytes.
    """

    files: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        paths = [path for path, _ in self.files]
        if paths != sorted(set(paths)):
            raise UsageError("a candidate's files must be sorted and distinct; use Candidate.of")
        for path in paths:
            _check_path(path)
        _check_neighbours(paths)
        if len(paths) > MAX_FILES or sum(_num_bytes(path, text) for path, text in self.files) > MAX_BYTES:
            raise UsageError(f"a candidate may have {MAX_FILES} files and {MAX_BYTES} bytes at most")

    @classmethod
    def of(cls, files: dict[str, str]) -> Self:
        return cls(files=tuple(sorted(files.items())))

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """`model_new.py`, the Python files beside it that it imports, and all sources under `kernels/`.

        A Python file in place of a folder is a program of that file alone. Raises UsageError if there is no
        program, or if a file of it cannot be taken as it is.
        """
        if folder.is_file() and folder.suffix == ".py":
            return cls.of({MODULE: _read(folder, folder.parent)})
        if folder.is_file():
            raise UsageError(f"{folder} is no program; name a folder with {MODULE}, or one .py file")
        if not (folder / MODULE).is_file():
            raise UsageError(f"{folder} has no {MODULE}; a candidate is {MODULE} and kernels/*.cu")
        paths = [path for path in _walk(folder / KERNELS) if path.suffix in SOURCE_SUFFIXES]
        if len(paths) >= MAX_FILES:
            raise UsageError(f"{folder} holds more than {MAX_FILES} source files")
        kernels = {path.relative_to(folder).as_posix(): _read(path, folder) for path in paths}
        return cls.of({**_modules(folder), **kernels})

    def write(self, folder: Path) -> None:
        """Put the files into `folder`, making folders as needed."""
        for path, text in self.files:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

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
        if any(path.endswith("_binding.cpp") or _registers(path, text) for path, text in self.files):
            return Form.TORCH
        compiles = any(path.endswith(".py") and _names(text) & LOADERS for path, text in self.files)
        has_kernels = any(path.endswith(".cu") for path, _ in self.files)
        return Form.LAUNCHER if has_kernels and not compiles else Form.SINGLE_FILE


def imported_modules(text: str) -> frozenset[str]:
    """The first parts of all modules that are imported anywhere in `text`; empty if it is no Python."""
    found: set[str] = set()
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return frozenset(found)


# --- reading a folder ---


def _modules(folder: Path) -> dict[str, str]:
    """`model_new.py` and what of its neighbours it imports, directly or through another of them."""
    found: dict[str, str] = {}
    waiting = [MODULE]
    while waiting:
        name = waiting.pop()
        if name not in found and len(found) < MAX_FILES:
            found[name] = _read(folder / name, folder)
            waiting += [
                f"{module}.py" for module in imported_modules(found[name]) if _is_helper(folder, module)
            ]
    return found


def _is_helper(folder: Path, module: str) -> bool:
    return module not in NOT_PART and (folder / f"{module}.py").is_file()


def _walk(folder: Path) -> Iterator[Path]:
    """All files below, sorted. Raises UsageError for a link to a folder, which may lead anywhere."""
    if folder.is_symlink():
        raise UsageError(f"{folder} is a symbolic link; put the files themselves there")
    for parent, folders, names in os.walk(folder):
        for name in sorted(folders):
            if Path(parent, name).is_symlink():
                raise UsageError(f"{Path(parent, name)} is a symbolic link; put the files themselves there")
        folders.sort()
        yield from (Path(parent, name) for name in sorted(names))


def _read(path: Path, folder: Path) -> str:
    """One source. Raises UsageError unless it is a text file of moderate size that lies in `folder`."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{str(path)!r} is a symbolic link that leaves {folder}; put the file itself there")
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise UsageError(f"{str(path)!r} is no regular file")
        if about.st_size > MAX_BYTES:
            raise UsageError(f"{str(path)!r} holds {about.st_size} bytes; a candidate {MAX_BYTES} at most")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{str(path)!r}: a source file is not UTF-8 text ({error})") from error
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


# --- what a text says ---


def _tree(text: str) -> ast.Module:
    """Empty if it is no Python: the judge says so."""
    try:
        return parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def _registers(path: str, text: str) -> bool:
    return path.endswith((".cu", ".cpp")) and "REGISTER_BINDING" in text


def _names(text: str) -> set[str]:
    """Every name, attribute and imported name in `text`."""
    found: set[str] = set()
    for node in ast.walk(_tree(text)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.Import(names=aliases):
                found |= {part for alias in aliases for part in alias.name.split(".")}
            case ast.ImportFrom(module=module, names=aliases):
                found |= {*(module or "").split("."), *(alias.name for alias in aliases)}
            case _:
                pass
    return found


# --- paths ---


def _num_bytes(path: str, text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise UsageError(f"{path} holds a character that UTF-8 cannot ({error.reason})") from error


def _check_path(path: str) -> None:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path or str(pure) != path:
        raise UsageError(f"{path!r} leaves the candidate's folder; use a plain relative path")
    if not path.isprintable():
        raise UsageError(f"{path!r} has a character that cannot be printed; use letters and digits")
    if pure.suffix not in SOURCE_SUFFIXES:
        raise UsageError(f"{path!r} is no source file; a candidate holds {', '.join(SOURCE_SUFFIXES)}")
    is_module = pure.suffix == ".py" and len(pure.parts) == 1
    if is_module and (pure.stem in TAKEN or pure.stem in sys.stdlib_module_names):
        raise UsageError(f"{path!r} has the name of a module that others import; choose another name")


def _check_neighbours(paths: list[str]) -> None:
    """Whether all of them can lie in one folder, on any file system."""
    seen: dict[str, str] = {}
    for path in paths:
        other = seen.setdefault(path.casefold(), path)
        if other != path:
            raise UsageError(f"{path!r} and {other!r} differ in upper and lower case alone; rename one")
    for path in paths:
        for folder in PurePosixPath(path.casefold()).parents:
            if str(folder) in seen:
                raise UsageError(f"{seen[str(folder)]!r} is a file, and {path!r} needs a folder there")
