"""The two forms that bring their own bindings, as extension modules to build."""

import json
from pathlib import PurePosixPath

from warpsmith.core import Candidate, InlineCall
from warpsmith.core.candidate import MODULE as PROGRAM
from warpsmith.toolchain.base import Sources, units
from warpsmith.toolchain.extension import LIBRARY
from warpsmith.toolchain.flags import FlagRefused, flags_of
from warpsmith.toolchain.native import NativeModule
from warpsmith.toolchain.torch_install import OWN_INCLUDE

REGISTRY = "binding_registry.h"
FROZEN = ("binding.cpp", REGISTRY)  # ours, whatever the candidate has under these names
REGISTER = "REGISTER_BINDING"
APPLY = (
    "PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { BindingRegistry::getInstance().applyBindings(module); }"
)
TORCH_MODULE = "cuda_extension_native"
COMPILED = (".cu", ".cpp", ".cc", ".cxx", ".c")
HEADERS = ("#include <torch/extension.h>",)
CUDA_HEADERS = ("#include <warpsmith_inline.h>",)


def torch_module(sources: Sources) -> NativeModule:
    """A workspace's sources and our own registry as one extension.

    What the frozen binding.cpp does is put at the end of a file that registers bindings: as a file of its own
    it would take as long to compile.
    """
    own = {path: text for path, text in sources.items() if path not in FROZEN}
    place = next((path for path in units(own) if REGISTER in own[path]), None)
    if place is not None:
        up = "../" * place.count("/")
        own[place] += f'\n#include "{up}binding_registry.h"\n{APPLY}\n'
    registry = (OWN_INCLUDE / REGISTRY).read_text()
    return NativeModule(name=TORCH_MODULE, library=LIBRARY, sources={**own, REGISTRY: registry})


def inline_module(call: InlineCall, candidate: Candidate, library: str, device_kind: str) -> NativeModule:
    """What torch's loader would compile for `call`, under paths of its own. Raises FlagRefused."""
    sources = _files(call, candidate) if call.files else _texts(call, device_kind)
    if call.include_paths:
        raise FlagRefused(
            f"extra_include_paths {call.include_paths[0]!r} may not be given; put headers into the sources"
        )
    return NativeModule(
        name=f"inline_{call.digest}",
        library=library,
        sources={f"{call.digest}/{path}": text for path, text in sources.items()},
        flags=flags_of(call),
    )


def _texts(call: InlineCall, device_kind: str) -> dict[str, str]:
    """The C++ file with the bindings, and the CUDA file; on the CPU one for both, where they do not differ.

    There the same compiler takes both, and torch's headers are what takes its time.
    """
    cpp = (*HEADERS * call.has_implicit_headers, *call.cpp_sources)
    cuda = (*CUDA_HEADERS * call.has_implicit_headers, *call.cuda_sources)
    bindings = () if call.functions is None else _bindings(call)
    if device_kind == "cpu" and call.cuda_sources and not any("{" in text for text in call.cpp_sources):
        return {"cuda.cu": _joined(*cpp, *cuda, *bindings)}
    texts = {"main.cpp": _joined(*cpp, *bindings)}
    return {**texts, "cuda.cu": _joined(*cuda)} if call.cuda_sources else texts


def _joined(*parts: str) -> str:
    return "\n".join(parts) + "\n"


def _bindings(call: InlineCall) -> tuple[str, ...]:
    """The Python module of a call that names its functions."""
    lines = ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"]
    for name, text in call.functions or ():
        if not name.isidentifier():
            raise FlagRefused(f"{name!r} is no name of a function")
        lines.append(f'  m.def("{name}", &{name}, {json.dumps(text)});')
    return (*lines, "}")


def _files(call: InlineCall, candidate: Candidate) -> dict[str, str]:
    """The files that `load` names, and all headers; the rest of the program is not compiled."""
    known = {path: text for path, text in candidate.files if path != PROGRAM and not path.endswith(".py")}
    for path in call.files:
        if path not in known:
            raise FlagRefused(f"load names {path!r}, which is no source file of this program")
    return {
        path: text
        for path, text in known.items()
        if path in call.files or PurePosixPath(path).suffix not in COMPILED
    }
