"""Which files a program sees: a plan of mounts, from the paths that are named."""

import importlib.util
import os
import site
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from warpsmith.core import Command, InfraError
from warpsmith.sandbox.environment import package_folder, python_path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime")
GPU = ("/sys", "/usr/local/nvidia", "/usr/local/cuda", "/etc/nvidia", "/etc/OpenCL")
GPU_FOLDERS = ("CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH")  # variables that name folders


class Kind(Enum):
    """What stands at a path inside."""

    READ = "the same files, read-only"
    WRITE = "the same files"
    DEVICE = "a device node"
    SCRATCH = "an empty folder in memory"
    EMPTY = "an empty folder"
    DEVICES = "a minimal /dev"
    PROCESSES = "a /proc of its own"
    LINK = "a symbolic link"


BOUND = (Kind.READ, Kind.WRITE, Kind.DEVICE)  # what stands below comes along


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """`path` has no link in it. `target` is a link's."""

    path: Path
    kind: Kind
    target: str = ""


OWN = (
    Mount(path=Path("/proc"), kind=Kind.PROCESSES),
    Mount(path=Path("/dev"), kind=Kind.DEVICES),
    Mount(path=Path("/dev/shm"), kind=Kind.SCRATCH),
    Mount(path=Path("/tmp"), kind=Kind.SCRATCH),
)


def plan(command: Command, program: Path) -> tuple[Mount, ...]:
    """What `command` sees, shallow paths first: the more specific path is mounted later, and wins.

    Of one path named twice the command's own naming beats the system's, and writable beats readable.

    Raises:
        InfraError: the command names a path that does not exist or that leads out of a writable folder.
    """
    _check(command)
    system = [*_system(command), program, command.cwd]
    named = [*system, *command.readable, *command.writable]
    links = {Mount(path=link, kind=Kind.LINK, target=str(link.readlink())) for link in _links(named)}
    by_path = {
        mount.path: mount
        for mount in (  # later ones win
            *links,
            *_at(system, Kind.READ),
            *OWN,
            *_at((path for path in command.hidden if path.is_dir()), Kind.EMPTY),
            *_at(_gpu_devices(command), Kind.DEVICE),
            *_at(command.readable, Kind.READ),
            *_at(command.writable, Kind.WRITE),
        )
    }
    return tuple(_without_repeats(sorted(by_path.values(), key=lambda mount: len(mount.path.parts))))


def _at(paths: Iterable[Path], kind: Kind) -> Iterator[Mount]:
    return (Mount(path=path.resolve(), kind=kind) for path in paths)


def _check(command: Command) -> None:
    for path in (*command.readable, *command.writable):
        if not path.exists():
            raise InfraError(f"{path} does not exist, and {command.argv[0]} was to see it")
        for folder in command.writable:
            # A link in a folder that the program could write to may be its own, to see more the next time.
            if path.is_relative_to(folder) and not path.resolve().is_relative_to(folder.resolve()):
                raise InfraError(f"{path} leads out of {folder}, where a program could have put that link")


def _system(command: Command) -> list[Path]:
    paths = [Path(path) for path in (*SYSTEM, *SETTINGS)] + _python()
    if command.gpu:
        paths += [Path(path) for path in GPU] + _gpu_folders()
    return [path for path in paths if path.exists()]


def _python() -> list[Path]:
    """Python itself and all packages that it would find, but no folder of the user's own."""
    prefixes = [
        Path(prefix) for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    ]
    sites = [Path(folder) for folder in site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        sites.append(Path(site.getusersitepackages()))
    editable = [folder for site_folder in sites for folder in _named_in_pth_files(site_folder)]
    own = package_folder()
    found = [*prefixes, *sites, *editable, *python_path(), *_torch()]
    # Of our own source tree the package alone: tests and what else lies there is nobody's business.
    return [own if folder == own.parent and folder not in sites else folder for folder in found]


def _named_in_pth_files(folder: Path) -> Iterator[Path]:
    for file in folder.glob("*.pth"):
        for line in file.read_text(errors="replace").splitlines():
            if line.startswith("/") and Path(line).is_dir():
                yield Path(line)


def _torch() -> list[Path]:
    """The folder of torch's packages, wherever the search path finds them."""
    found = importlib.util.find_spec("torch")
    return [Path(found.origin).parent.parent] if found and found.origin else []


def _gpu_folders() -> list[Path]:
    entries = [entry for name in GPU_FOLDERS for entry in os.environ.get(name, "").split(":")]
    return [Path(entry) for entry in entries if entry.startswith("/")]


def _gpu_devices(command: Command) -> list[Path]:
    return sorted(Path("/dev").glob("nvidia*")) if command.gpu else []


def _without_repeats(mounts: list[Mount]) -> Iterator[Mount]:
    """Drop what the nearest mount around it brings along anyway."""
    kept: dict[Path, Kind] = {}
    for mount in mounts:
        around = next((kept[parent] for parent in mount.path.parents if parent in kept), None)
        if around is not mount.kind and not (mount.kind is Kind.LINK and around in BOUND):
            kept[mount.path] = mount.kind
            yield mount


def _links(paths: Iterable[Path]) -> set[Path]:
    return {link for path in paths for link in _links_on_the_way(path)}


def _links_on_the_way(path: Path) -> Iterator[Path]:
    """Every symbolic link that resolving `path` meets."""
    rest = list(path.absolute().parts[1:])
    here = Path("/")
    while rest:
        name = rest.pop(0)
        here = here.parent if name == ".." else here / name
        if here.is_symlink():
            yield here
            target = here.readlink()
            rest = [*(part for part in target.parts if part != "/"), *rest]
            here = Path("/") if target.is_absolute() else here.parent
