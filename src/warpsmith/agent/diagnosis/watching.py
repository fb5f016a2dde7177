"""Runs a candidate that has passed once more, in the judge's own sandbox, with a profiler looking on.

The profiler is in there too. What it leaves behind lies in a folder that the candidate can write to: a file
is read only if it is a plain one, and only so much of it.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from sys import executable

from warpsmith.agent.diagnosis import ncu, nsys
from warpsmith.agent.diagnosis.trace import CALL
from warpsmith.core import Command, Completed, Ending, InfraError, Limits
from warpsmith.core.codec import to_json
from warpsmith.judge.gates import forward
from warpsmith.judge.profile import Watched, Watcher
from warpsmith.judge.protocol import Load
from warpsmith.judge.trial import Trial, load_of
from warpsmith.toolchain.inventory import PROGRAMS, find_program

MODULE = "warpsmith.judge.guest.profiled"
NUM_CALLS = 5
LIMIT_S = 150.0
LISTING_LIMIT_S = 60.0
MAX_WRITTEN_BYTES = 1 << 30
MAX_READ_BYTES = 64 << 20
TOOL_FOLDERS = ("/opt/nvidia", "/usr/local/cuda")  # a profiler's program may be a script that looks there
OUT = "out.json"
INPUTS = "inputs"


class Unseen(Exception):
    """A rung of the ladder gave nothing: why, and what would change that."""

    def __init__(self, why: str, fix: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.fix = fix


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A profiler that is installed."""

    program: Path
    options: tuple[str, ...]


def find(name: str) -> Path:
    """Where a program of the toolkit is. Raises Unseen if it is not installed, with what installs it."""
    found = find_program(name)
    if found is None:
        fix = next(program.fix for program in PROGRAMS if program.name == name)
        raise Unseen(f"{name} is not installed", fix)
    return found


def by_nsys(trial: Trial) -> Path:
    """Nsight Systems' export of some calls. Raises Unseen."""
    program, home = find("nsys"), _home(trial, Watcher.SYSTEM)
    completed = _run(trial, home, Watcher.SYSTEM, Tool(program=program, options=nsys.options(home)))
    path = nsys.export(home)
    if not _is_plain(path):
        raise Unseen(f"nsys wrote no export: {_last_words(completed)}")
    return path


def by_torch(trial: Trial) -> str:
    """torch.profiler's trace of some calls. Raises Unseen."""
    return _own_words(trial, Watcher.TORCH, "torch.profiler wrote no trace")


def by_ncu(trial: Trial, kernel: str | None) -> str:
    """Nsight Compute's log of one launch, with counters or without. Raises Unseen."""
    text = _counted(trial, kernel, ())
    strange = ncu.unknown(text)
    return _counted(trial, kernel, strange) if strange else text


def _counted(trial: Trial, kernel: str | None, without: tuple[str, ...]) -> str:
    program, home = find("ncu"), _home(trial, Watcher.KERNEL, "again" if without else "")
    tool = Tool(program=program, options=ncu.options(home, kernel, without))
    completed = _run(trial, home, Watcher.KERNEL, tool)
    text = _text(home / ncu.LOG)
    if not text:
        raise Unseen(f"ncu wrote nothing: {_last_words(completed)}", _elsewhere(trial))
    return text


def by_cuobjdump(trial: Trial) -> str:
    """The machine code of the candidate's build. Raises Unseen."""
    assert trial.build is not None
    program, libraries = find("cuobjdump"), trial.build.libraries
    texts = [_listing(trial, program, library) for library in libraries]
    return "\n".join(texts)


def _listing(trial: Trial, program: Path, library: Path) -> str:
    listed = trial.toolchain.runner.run(
        Command(
            argv=(str(program), "-sass", str(library)),
            cwd=library.parent,
            env={"PATH": f"{program.parent}:/usr/bin:/bin"},  # it calls nvdisasm, which lies beside it
            readable=(library, program.resolve().parent),
            limits=Limits(wall_s=LISTING_LIMIT_S),
        )
    )
    if not listed.is_success:
        raise Unseen(f"cuobjdump failed: {_last_words(listed)}")
    return listed.stdout


def by_counters(trial: Trial) -> str:
    """What the cpu device counts of one call, as JSON. Raises Unseen."""
    return _own_words(trial, Watcher.COUNTERS, "the cpu device counted nothing")


def _own_words(trial: Trial, watcher: Watcher, why: str) -> str:
    home = _home(trial, watcher)
    completed = _run(trial, home, watcher, None)
    text = _text(home / OUT)
    if not text:
        raise Unseen(f"{why}: {_last_words(completed)}")
    return text


def command(trial: Trial, load: Load, home: Path, tool: Tool | None) -> Command:
    """One run. The request lies beside `home`, what comes of it in `home`."""
    words = () if tool is None else (str(tool.program), *tool.options)
    folders = () if tool is None else (tool.program.resolve().parent, *_existing(TOOL_FOLDERS))
    is_gpu = trial.device.kind == "cuda"
    return Command(
        argv=(*words, executable, "-P", "-m", MODULE, str(_request(home))),
        cwd=home,
        readable=(load.candidate, load.extension, load.weights.parent, _request(home), *folders),
        writable=(home,),
        gpu=is_gpu,
        limits=Limits(wall_s=LIMIT_S, memory_bytes=trial.config.memory_bytes, disk_bytes=MAX_WRITTEN_BYTES),
    )


def _run(trial: Trial, home: Path, watcher: Watcher, tool: Tool | None) -> Completed:
    is_gpu = trial.device.kind == "cuda"
    load = _load(trial, home)
    watched = Watched(
        load=load,
        watcher=watcher,
        out=home / OUT,
        range_name=CALL,
        num_calls=NUM_CALLS if is_gpu else 1,
        num_warm=3 if is_gpu else 0,
        flush_bytes=trial.config.clock.flush_bytes(trial.device.gpu) if is_gpu else 0,
    )
    try:
        _request(home).write_text(to_json(watched), encoding="utf-8")
    except OSError as error:
        raise InfraError(f"cannot write {_request(home)}: {error.strerror or error}") from error
    return trial.toolchain.runner.run(command(trial, load, home, tool))


def _load(trial: Trial, home: Path) -> Load:
    """On the cpu device a program gets its inputs as they lie in their file, and might write there."""
    load = load_of(trial)
    if trial.device.kind == "cuda":
        return load
    forward.copy(load.inputs[0], home / INPUTS)
    return replace(load, inputs=(home / INPUTS,))


def _home(trial: Trial, watcher: Watcher, which: str = "") -> Path:
    home = trial.guest.folder / f"profile-{watcher}{which}"
    try:
        home.mkdir()
    except OSError as error:
        raise InfraError(f"cannot make {home}: {error.strerror or error}") from error
    return home


def _request(home: Path) -> Path:
    return home.with_suffix(".json")


def _existing(folders: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple(Path(folder) for folder in folders if Path(folder).is_dir())


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_READ_BYTES


def _text(path: Path) -> str:
    """Empty if it is no plain file, or larger than is worth reading."""
    return path.read_text(encoding="utf-8", errors="replace") if _is_plain(path) else ""


def _last_words(completed: Completed) -> str:
    if completed.ending is Ending.TIMED_OUT:
        return f"it took longer than {LIMIT_S:g} s"
    if completed.ending is Ending.OUT_OF_MEMORY:
        return "it needs more memory than there is"
    said = (completed.stderr.strip() or completed.stdout.strip()).splitlines()
    return f"{said[-1]:.200}" if said else f"it ended with {completed.exit_code} and said nothing"


def _elsewhere(trial: Trial) -> str:
    """What to do where a tool does not run in a sandbox. Nobody weakens it but who asked for the profile."""
    name = getattr(trial.toolchain.runner, "name", "process")
    return "" if name == "process" else "for a program that you trust: --sandbox process"
