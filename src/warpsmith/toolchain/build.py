"""Candidate in, importable folder out."""

import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from warpsmith import core
from warpsmith.core import (
    BuildFailed,
    Candidate,
    EnvironmentMissing,
    Form,
    KernelResources,
    NotRunnable,
    Rejected,
    Runner,
)
from warpsmith.core.candidate import imported_modules
from warpsmith.core.codec import from_data, to_data
from warpsmith.device import Device
from warpsmith.toolchain.base import UNIT_SUFFIXES, Builder, Compiled, Sources, write_sources
from warpsmith.toolchain.build_cpu import HostBuilder, digest_of
from warpsmith.toolchain.build_cuda import NvccBuilder
from warpsmith.toolchain.capture import Captured, capture
from warpsmith.toolchain.compiling import SOURCE, Workplace
from warpsmith.toolchain.extension import LIBRARY, MODULE, extension_source
from warpsmith.toolchain.extension_native import native_source
from warpsmith.toolchain.flags import FlagRefused
from warpsmith.toolchain.host import find_compiler
from warpsmith.toolchain.launchers import ACCEPTED, Launcher
from warpsmith.toolchain.native import LIMITS as NATIVE_LIMITS
from warpsmith.toolchain.native import NativeBuilder, NativeModule, sources_of
from warpsmith.toolchain.native_cpu import CpuExtensions
from warpsmith.toolchain.native_cuda import CudaExtensions
from warpsmith.toolchain.native_forms import inline_module, torch_module
from warpsmith.toolchain.nvcc import FIX, find_nvcc
from warpsmith.toolchain.signatures import SignatureError, find_launchers, find_named
from warpsmith.toolchain.store import NotKept, Store, content_key
from warpsmith.toolchain.symbols import exported_functions, imported, needed_by
from warpsmith.toolchain.torch_install import find_torch

PATH = re.compile(r"[A-Za-z0-9_./+-]+\Z")
ENTRY = "PyInit_"
OTHER_LANGUAGES = {
    "triton": "Triton",
    "tilelang": "TileLang",
    "cutlass": "the CuTe DSL",
    "numba": "Numba",
    "cupy": "CuPy",
}


Outcome = Rejected | BuildFailed | NotRunnable


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A built candidate: with `folder` on sys.path, `cuda_extension` can be imported."""

    folder: Path
    launchers: tuple[Launcher, ...]
    resources: tuple[KernelResources, ...]
    log: str  # warnings and notes
    is_cached: bool
    wall_s: float  # what this call took
    linked_needs: tuple[str, ...] = ()  # what a library needs that was linked in, and the program does not

    @property
    def libraries(self) -> tuple[Path, ...]:
        """All shared objects of the program: one, or one a call of load_inline; none if it has none."""
        return tuple(sorted(self.folder.glob("*.so")))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    """What the store keeps of a Build."""

    launchers: tuple[Launcher, ...]
    resources: tuple[KernelResources, ...]
    log: str
    linked_needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """What the store keeps: failures too."""

    outcome: _Built | Rejected | BuildFailed | NotRunnable


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What the store keeps of a capture."""

    outcome: Captured | BuildFailed


class _Stopped(NotKept):
    """A capture that goes on with what it saw, and that nobody should rely on later."""

    def __init__(self, captured: Captured) -> None:
        super().__init__(captured.log)
        self.captured = captured


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One thing to build: `parts` is all that it depends on beside the builder."""

    parts: tuple[str, ...]
    fingerprint: tuple[str, ...]
    make: Callable[[Path], _Record]


@dataclass(slots=True)
class Toolchain:
    """Builds candidates for one device, each distinct one once."""

    device: Device
    store: Store
    runner: Runner
    builder: Builder | None = None  # the usual one of the device, found when first needed

    def build(self, candidate: Candidate) -> Build | Outcome:
        """The candidate's importable folder, or the compiler's no.

        `Rejected` is for what a program asks of the compiler and may not.

        Raises:
            EnvironmentMissing: this machine has no compiler that works.
            InfraError: the store cannot be written, or a compiler could not be started.
        """
        started = time.perf_counter()
        self.builder = self.builder or BUILDERS[self.device.kind](self.device)
        try:
            job = FORMS[candidate.form](candidate, self)
            if not isinstance(job, _Job):
                return job
            entry = self.store.fetch(self._key(candidate, job), lambda folder: to_data(job.make(folder)))
        except NotKept as overrun:
            return BuildFailed(log=str(overrun))
        outcome = from_data(_Record, entry.data).outcome
        if isinstance(outcome, NotRunnable):  # it may have been stored for another GPU of this architecture
            return NotRunnable(device=self.device.name, reason=outcome.reason)
        if isinstance(outcome, BuildFailed | Rejected):
            return outcome
        return Build(
            folder=entry.folder,
            launchers=outcome.launchers,
            resources=outcome.resources,
            log=outcome.log,
            is_cached=entry.is_cached,
            wall_s=time.perf_counter() - started,
            linked_needs=outcome.linked_needs,
        )

    def _key(self, candidate: Candidate, job: _Job) -> str:
        device = self.device
        return content_key(
            (candidate.form, device.kind, device.arch, *job.fingerprint, _own_version(), *job.parts)
        )


def _launcher_form(candidate: Candidate, toolchain: Toolchain) -> _Job:
    """Sources that export `extern "C"` launchers: the library and the Python module that calls it."""
    assert toolchain.builder is not None
    sources, builder = _native_sources(candidate), toolchain.builder
    return _Job(
        parts=_flat(sources),
        fingerprint=builder.fingerprint,
        make=lambda folder: _make_launchers(sources, builder, toolchain, folder),
    )


def _torch_form(candidate: Candidate, toolchain: Toolchain) -> _Job | BuildFailed:
    """Bindings that register themselves: one extension, whose functions `cuda_extension` has."""
    sources = _native_sources(candidate)
    if (failure := _misnamed(sources)) is not None:
        return failure
    return _native_job({"": torch_module(sources)}, toolchain, is_whole=True)


def _single_file_form(candidate: Candidate, toolchain: Toolchain) -> _Job | Outcome:
    """A module that compiles for itself: what it asks for is seen in the sandbox, and built here."""
    if (failure := _misnamed(_native_sources(candidate))) is not None:
        return failure
    seen = _seen(candidate, toolchain)
    if isinstance(seen, BuildFailed):
        return seen
    if not seen.calls and (language := _other_language(candidate)) is not None:
        reason = f"it is written in {language}; only CUDA programs are judged: kernels/*.cu, or load_inline"
        return NotRunnable(device=toolchain.device.name, reason=reason)
    calls = {call.digest: call for call in seen.calls}
    names = [LIBRARY, *(f"libcandidate-{key}.so" for key in list(calls)[1:])]
    try:
        modules = {
            key: inline_module(call, candidate, name, toolchain.device.kind)
            for (key, call), name in zip(calls.items(), names, strict=False)
        }
    except FlagRefused as error:
        return Rejected(rule="flags", where="model_new.py", message=str(error))
    return _native_job(modules, toolchain, is_whole=False)


def _seen(candidate: Candidate, toolchain: Toolchain) -> Captured | BuildFailed:
    """The calls of load_inline that the candidate makes; it is asked once, unless it was stopped."""
    key = content_key(("capture", _own_version(), _capture_version(), sys.version, candidate.digest))

    def make(folder: Path) -> object:
        try:
            outcome = capture(candidate, folder, toolchain.runner)
            if isinstance(outcome, Captured) and outcome.was_stopped:
                raise _Stopped(outcome)
            return to_data(_Seen(outcome=outcome))
        finally:  # what a stranger's module wrote there is not kept
            for name in ("candidate", "work"):
                shutil.rmtree(folder / name, ignore_errors=True)

    try:
        return from_data(_Seen, toolchain.store.fetch(key, make).data).outcome
    except _Stopped as stopped:
        return stopped.captured


def _other_language(candidate: Candidate) -> str | None:
    imported = frozenset().union(*(imported_modules(text) for _, text in candidate.files))
    return next((name for module, name in OTHER_LANGUAGES.items() if module in imported), None)


def _native_job(modules: dict[str, NativeModule], toolchain: Toolchain, *, is_whole: bool) -> _Job:
    builder = _extensions(toolchain)
    flags = [(module.name, *module.flags.host, *module.flags.device) for module in modules.values()]
    return _Job(
        parts=(*_flat(sources_of(modules.values())), *(part for group in flags for part in group)),
        fingerprint=builder.fingerprint,
        make=lambda folder: _make_native(modules, builder, toolchain, folder, is_whole=is_whole),
    )


def _make_native(
    modules: dict[str, NativeModule],
    builder: NativeBuilder,
    toolchain: Toolchain,
    folder: Path,
    *,
    is_whole: bool,
) -> _Record:
    write_sources(sources_of(modules.values()), folder / SOURCE)
    workplace = Workplace(folder=folder, runner=toolchain.runner, limits=NATIVE_LIMITS)
    resources: list[KernelResources] = []
    logs: list[str] = []
    named: dict[str, tuple[str, str]] = {}
    try:
        for key, module in modules.items():
            compiled = builder.compile(module, workplace, toolchain.store)
            if not isinstance(compiled, Compiled):
                return _Record(outcome=compiled)
            resources += compiled.resources
            logs.append(compiled.log)
            named[key] = (module.library, _module_name(folder / module.library, module.name))
        (folder / MODULE).write_text(native_source(named, toolchain.device.kind, is_whole=is_whole))
        built = _Built(
            launchers=(),
            resources=tuple(resources),
            log="\n".join(dict.fromkeys(filter(None, logs))),
            linked_needs=_linked_needs(folder),
        )
    finally:
        _clear(folder)
    return _Record(outcome=built)


def _module_name(library: Path, usual: str) -> str:
    """The name of the Python module in `library`: its sources may give it another than they were told."""
    names = [name.removeprefix(ENTRY) for name in exported_functions(library) if name.startswith(ENTRY)]
    return usual if usual in names or not names else sorted(names)[0]


def _extensions(toolchain: Toolchain) -> NativeBuilder:
    match toolchain.builder:
        case HostBuilder() as host:
            return CpuExtensions(host, find_torch())
        case NvccBuilder() as nvcc:
            return CudaExtensions(nvcc, find_torch())
        case other:
            raise TypeError(f"{type(other).__name__} builds no extensions")


def _native_sources(candidate: Candidate) -> dict[str, str]:
    return {path: text for path, text in candidate.files if not path.endswith(".py")}


def _flat(sources: Sources) -> tuple[str, ...]:
    return tuple(part for item in sources.items() for part in item)


def _misnamed(paths: Iterable[str]) -> BuildFailed | None:
    """The compilers' command lines and logs take plain names only."""
    for path in paths:
        if not PATH.match(path):
            return BuildFailed(log=f"{path}: error: name files with letters, digits and _ . + - only")
    return None


def _linked_needs(folder: Path) -> tuple[str, ...]:
    """What the libraries import, but none of the compiled files: some compilers link their runtime in."""
    own = needed_by((folder / "objects").rglob("*.o"))
    return tuple(sorted(frozenset().union(*map(imported, folder.glob("*.so"))) - own))


def _clear(folder: Path) -> None:
    """What a build leaves beside what is wanted of it."""
    for name in ("tmp", "objects", "empty"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _make_launchers(sources: Sources, builder: Builder, toolchain: Toolchain, folder: Path) -> _Record:
    try:
        return _Record(outcome=_misnamed(sources) or _build_launchers(sources, builder, toolchain, folder))
    except SignatureError as error:
        return _Record(outcome=BuildFailed(log=str(error)))
    finally:
        _clear(folder)


def _build_launchers(
    sources: Sources, builder: Builder, toolchain: Toolchain, folder: Path
) -> _Built | BuildFailed | NotRunnable:
    launchers = find_launchers(sources)
    write_sources(sources, folder / SOURCE)
    compiled = builder.compile(sources, Workplace(folder=folder, runner=toolchain.runner))
    if not isinstance(compiled, Compiled):
        return compiled
    bound, notes = _reconciled(launchers, sources, folder / LIBRARY)
    (folder / MODULE).write_text(extension_source(bound, toolchain.device.kind))
    return _Built(
        launchers=bound,
        resources=compiled.resources,
        log="\n".join(filter(None, (compiled.log, *notes))),
        linked_needs=_linked_needs(folder),
    )


def _reconciled(
    launchers: tuple[Launcher, ...], sources: Sources, library: Path
) -> tuple[tuple[Launcher, ...], list[str]]:
    """The launchers that the library really exports, and a note on each that it does not.

    Raises SignatureError if there is none.
    """
    exported = exported_functions(library)
    bound = {launcher.name: launcher for launcher in launchers if launcher.name in exported}
    notes = [
        f"{one.where}: note: launcher {one.name} is not in the library"
        for one in launchers
        if one.name not in bound
    ]
    for name in sorted(exported - bound.keys()):
        if not name.startswith("_") and (missed := find_named(sources, name)) is not None:
            bound[name] = missed
    if not bound:
        where = next(path for path in sources if path.endswith(UNIT_SUFFIXES))
        raise SignatureError(
            f'{where}: error: no launcher: export one as `extern "C" int name(…)`; {ACCEPTED}'
        )
    return tuple(bound[name] for name in sorted(bound)), notes


def _capture_version() -> str:
    """Changes with the program that captures, which lies in another room."""
    return digest_of(Path(__file__).parents[1] / "judge" / "guest")


def _own_version() -> str:
    """Changes with this code and the nouns, so that what an older version built is not taken for its own."""
    return digest_of(Path(__file__).parent) + digest_of(Path(core.__file__).parent)


def _for_cuda(device: Device) -> Builder:
    nvcc = find_nvcc()
    if nvcc is None:
        raise EnvironmentMissing(
            f"no nvcc found (looked on PATH, CUDA_HOME, /usr/local/cuda and in wheels); {FIX}"
        )
    return NvccBuilder(nvcc=nvcc, host=find_compiler(), arch=device.arch)


def _for_cpu(device: Device) -> Builder:
    return HostBuilder(host=find_compiler(), nvcc=find_nvcc(), device=device)


BUILDERS: dict[str, Callable[[Device], Builder]] = {"cuda": _for_cuda, "cpu": _for_cpu}
FORMS: dict[Form, Callable[[Candidate, Toolchain], _Job | Outcome]] = {
    Form.LAUNCHER: _launcher_form,
    Form.TORCH: _torch_form,
    Form.SINGLE_FILE: _single_file_form,
}
