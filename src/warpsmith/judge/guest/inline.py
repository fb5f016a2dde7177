"""Stands in for `torch.utils.cpp_extension` while a candidate is imported: nothing is compiled in the guest.

A call of `load_inline` or `load` is turned into its InlineCall, and whoever installed the stand-in says what
the caller gets for it: in the guest the module that was built for an equal call, at capture an empty one.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from warpsmith.core import InlineCall

NAME = "torch.utils.cpp_extension"
Answer = Callable[[InlineCall], ModuleType]


class NotBuilt(RuntimeError):
    """A call for which nothing was built, or that cannot be built here."""


def install(candidate: Path, answer: Answer) -> None:
    """Put the stand-in where `import torch.utils.cpp_extension` finds it."""
    stand_in = ModuleType(NAME)

    def load_inline(
        _name: str = "",
        cpp_sources: str | list[str] | None = None,
        cuda_sources: str | list[str] | None = None,
        **options: Any,
    ) -> ModuleType:
        options.pop("name", None)
        return answer(_inline_call(cpp_sources, cuda_sources, options))

    def load(_name: str = "", sources: str | list[str] = "", **options: Any) -> ModuleType:
        return answer(_file_call(candidate, sources, options))

    def missing(attribute: str) -> object:
        raise AttributeError(f"{NAME}.{attribute} is not available here; load_inline and load are")

    offered = {
        "load_inline": load_inline,
        "load": load,
        "CUDA_HOME": "/usr/local/cuda",
        "__getattr__": missing,
    }
    vars(stand_in).update(offered)
    sys.modules[NAME] = stand_in
    vars(torch.utils)["cpp_extension"] = stand_in


def prebuilt(call: InlineCall) -> ModuleType:
    """The module that was built for `call`, from the generated `cuda_extension`."""
    import cuda_extension  # type: ignore[import-not-found]  # made by the toolchain, for each candidate

    find = vars(cuda_extension).get("_prebuilt")
    found = find(call.digest) if find is not None else None
    if found is None:
        raise NotBuilt(
            "these sources were not built: the call of load_inline was not seen when the module was imported "
            "before the judgement. Call it at import, with the same sources and flags each time"
        )
    assert isinstance(found, ModuleType)
    return found


def _inline_call(cpp: object, cuda: object, options: Mapping[str, Any]) -> InlineCall:
    _check(options)
    call = InlineCall(
        cpp_sources=_texts(cpp),
        cuda_sources=_texts(cuda),
        functions=_functions(options.get("functions")),
        has_implicit_headers=not options.get("no_implicit_headers"),
    )
    return _with_flags(call, options)


def _file_call(candidate: Path, sources: object, options: Mapping[str, Any]) -> InlineCall:
    _check(options)
    files = tuple(_relative(candidate, path) for path in _texts(sources))
    return _with_flags(InlineCall(files=files), options)


def _check(options: Mapping[str, Any]) -> None:
    if not options.get("is_python_module", True) or options.get("is_standalone"):
        raise NotBuilt("load_inline and load are available for Python modules only (is_python_module=True)")
    if options.get("sycl_sources"):
        raise NotBuilt("SYCL sources cannot be built here; write CUDA")


def _with_flags(call: InlineCall, options: Mapping[str, Any]) -> InlineCall:
    return replace(
        call,
        cflags=_texts(options.get("extra_cflags")),
        cuda_flags=_texts(options.get("extra_cuda_cflags")),
        ldflags=_texts(options.get("extra_ldflags")),
        include_paths=_texts(options.get("extra_include_paths")),
    )


def _texts(value: object) -> tuple[str, ...]:
    """A string, or several, or None, as strings."""
    if value is None:
        return ()
    if isinstance(value, str | os.PathLike):
        return (str(value),)
    if isinstance(value, Iterable):
        return tuple(str(item) for item in value)
    raise TypeError(f"expected a string or a list of strings, got {type(value).__name__}")


def _functions(value: object) -> tuple[tuple[str, str], ...] | None:
    """Names with their docstrings; None if the sources bind them."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return tuple((str(name), str(text)) for name, text in value.items())
    return tuple((name, name) for name in _texts(value))


def _relative(candidate: Path, path: str) -> str:
    """As the candidate's files are named; a path that leads out of its folder stays as it is."""
    whole = Path(os.path.normpath(candidate / path))
    return whole.relative_to(candidate).as_posix() if whole.is_relative_to(candidate) else path
