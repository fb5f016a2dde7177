"""Candidate in, importable folder out."""

import re
import shutil
import time
from collections.abc import Callable
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
    Runner,
)
from warpsmith.core.codec import from_data, to_data
from warpsmith.device import Device
from warpsmith.toolchain.base import UNIT_SUFFIXES, Builder, Compiled, Sources, write_sources
from warpsmith.toolchain.build_cpu import HostBuilder, digest_of
from warpsmith.toolchain.build_cuda import NvccBuilder
from warpsmith.toolchain.compiling import SOURCE, Workplace
from warpsmith.toolchain.extension import LIBRARY, MODULE, extension_source
from warpsmith.toolchain.host import find_compiler
from warpsmith.toolchain.launchers import ACCEPTED, Launcher
from warpsmith.toolchain.nvcc import FIX, find_nvcc
from warpsmith.toolchain.signatures import SignatureError, find_launchers, find_named
from warpsmith.toolchain.store import NotKept, Store, content_key
from warpsmith.toolchain.symbols import exported_functions

PATH = re.compile(r"[A-Za-z0-9_./+-]+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A built candidate: with `folder` on sys.path, `cuda_extension` can be imported."""

    folder: Path
    launchers: tuple[Launcher, ...]
    resources: tuple[KernelResources, ...]
    log: str  # warnings and notes
    is_cached: bool
    wall_s: float  # what this call took


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    """What the store keeps of a Build."""

    launchers: tuple[Launcher, ...]
    resources: tuple[KernelResources, ...]
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """What the store keeps: failures too."""

    outcome: _Built | BuildFailed | NotRunnable


@dataclass(slots=True)
class Toolchain:
    """Builds candidates for one device, each distinct one once."""

    device: Device
    store: Store
    runner: Runner
    builder: Builder | None = None  # the usual one of the device, found when first needed

    def build(self, candidate: Candidate) -> Build | BuildFailed | NotRunnable:
        """The candidate's importable folder, or the compiler's no.

        Raises:
            EnvironmentMissing: this machine has no compiler that works.
            InfraError: the store cannot be written, or a compiler could not be started.
        """
        started = time.perf_counter()
        form = FORMS.get(candidate.form)
        if form is None:
            built = ", ".join(FORMS)
            reason = f"a candidate in the {candidate.form} form cannot be built yet; forms that can: {built}"
            return NotRunnable(device=self.device.name, reason=reason)
        builder = self.builder = self.builder or BUILDERS[self.device.kind](self.device)
        sources = {path: text for path, text in candidate.files if not path.endswith(".py")}
        parts = (candidate.form, self.device.kind, self.device.arch, *builder.fingerprint, _own_version())
        key = content_key((*parts, *(part for item in sources.items() for part in item)))
        try:
            entry = self.store.fetch(key, lambda folder: to_data(form(sources, builder, self, folder)))
        except NotKept as overrun:
            return BuildFailed(log=str(overrun))
        outcome = from_data(_Record, entry.data).outcome
        if isinstance(outcome, NotRunnable):  # it may have been stored for another GPU of this architecture
            return NotRunnable(device=self.device.name, reason=outcome.reason)
        if isinstance(outcome, BuildFailed):
            return outcome
        return Build(
            folder=entry.folder,
            launchers=outcome.launchers,
            resources=outcome.resources,
            log=outcome.log,
            is_cached=entry.is_cached,
            wall_s=time.perf_counter() - started,
        )


def _launcher_form(sources: Sources, builder: Builder, toolchain: Toolchain, folder: Path) -> _Record:
    """Sources that export `extern "C"` launchers: the library and the Python module that calls it."""
    try:
        return _Record(outcome=_build_launchers(sources, builder, toolchain, folder))
    except SignatureError as error:
        return _Record(outcome=BuildFailed(log=str(error)))
    finally:
        for name in ("tmp", "objects", "empty"):
            shutil.rmtree(folder / name, ignore_errors=True)


def _build_launchers(
    sources: Sources, builder: Builder, toolchain: Toolchain, folder: Path
) -> _Built | BuildFailed | NotRunnable:
    for path in sources:
        if not PATH.match(path):
            raise SignatureError(f"{path}: error: name files with letters, digits and _ . + - only")
    launchers = find_launchers(sources)
    write_sources(sources, folder / SOURCE)
    compiled = builder.compile(sources, Workplace(folder=folder, runner=toolchain.runner))
    if not isinstance(compiled, Compiled):
        return compiled
    bound, notes = _reconciled(launchers, sources, folder / LIBRARY)
    (folder / MODULE).write_text(extension_source(bound, toolchain.device.kind))
    return _Built(
        launchers=bound, resources=compiled.resources, log="\n".join(filter(None, (compiled.log, *notes)))
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
FORMS: dict[Form, Callable[[Sources, Builder, Toolchain, Path], _Record]] = {Form.LAUNCHER: _launcher_form}
