"""What do compute-sanitizer's tools say of one call? On request, on a GPU, for a candidate that has passed.

The candidate is loaded anew in a process of its own for each tool, without torch's caching of memory, so that
each tensor ends where its memory ends. Only what a tool finds in kernels of the candidate's own build counts:
torch's copies of padded tensors make initcheck speak too. The sizes are those that were asked for, since a
program may be made for them. On the cpu device out-of-bounds accesses, races and divergent barriers are found
while gate `forward` runs.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import Command, Completed, Ending, InfraError, Limits, Sanitized, Wrong
from warpsmith.core.codec import to_json
from warpsmith.judge.protocol import Load
from warpsmith.judge.trial import Trial, load_of
from warpsmith.toolchain.inventory import find_program
from warpsmith.toolchain.symbols import holds_name

PROGRAM = "compute-sanitizer"
FINDINGS_CODE = 99  # its exit code where it found something
MAX_SHOWN = 20
SHOWN_LINES = 3  # of a finding
LOG = "log"
MAX_LOG_BYTES = 4 << 20
MAX_WRITTEN_BYTES = 64 << 20
ENVIRONMENT = {
    "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
}

# Memory tools show the kernel alone (`--show-backtrace device`): what called it is known.
TOOLS: dict[str, tuple[str, ...]] = {
    "memcheck": ("--report-api-errors", "no"),  # torch asks the driver for what it may not have
    "racecheck": ("--racecheck-report", "analysis"),
    "initcheck": ("--report-api-errors", "no"),
    "synccheck": (),
}

_SAID = re.compile(r"^=========\s?(?P<text>.*)$")
_SUMMARY = re.compile(r"(ERROR|RACECHECK) SUMMARY: \d+")
# Where it was: in the tools' present form, in the form of older ones, and in a frame of the device's stack.
_PLACES = (
    re.compile(r"\bat (?P<kernel>[^0\s].*?)\+0x"),
    re.compile(r"\bat 0x[0-9a-f]+ in (?:\S+:\d+:)?(?P<kernel>.+)$"),
    re.compile(r"\bDevice Frame:\s*(?P<kernel>.+?)(?:\+0x|\s\[|\sin\s|$)"),
)
# What a report that is none of the program's fault begins with.
_HARMLESS = (
    "Warning:",
    "Program hit ",
    "Target application",
    "Internal Sanitizer",
    "No attachable",
    "Error: No",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One finding: what is wrong, and the kernels and device functions that it names."""

    text: str
    kernels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What one tool wrote."""

    reports: tuple[Report, ...]
    is_whole: bool  # it came to its summary


def check(trial: Trial) -> Wrong | None:
    """Fills in `trial.sanitized` with the tools that came to an end; what kept others from it is advice."""
    if trial.device.kind != "cuda":
        return None
    program = find_program(PROGRAM)
    if program is None:
        trial.advice.append(f"not sanitized: {PROGRAM} is not installed (see `warpsmith doctor`)")
        return None
    done: list[str] = []
    for tool in TOOLS:
        completed, log = _run(trial, program, tool)
        own = [report for report in log.reports if _is_own(trial, report)]
        if own:
            return _wrong(tool, own)
        if log.is_whole and completed.exit_code in (0, FINDINGS_CODE):
            done.append(tool)
        else:
            trial.advice.append(f"not sanitized by {tool}: {_why_not(completed, log)}")
    if done:
        trial.sanitized = Sanitized(tools=tuple(done), scale=1.0)
        trial.gates.append("sanitizer")
    return None


def command(program: Path, tool: str, load: Load, home: Path, limits: Limits) -> Command:
    """One tool's run over one call of a candidate. The request lies beside `home`, the log in it."""
    return Command(
        argv=(
            str(program),
            *("--tool", tool, *TOOLS[tool]),
            *("--target-processes", "all", "--show-backtrace", "device"),
            *("--print-limit", str(MAX_SHOWN), "--error-exitcode", str(FINDINGS_CODE)),
            *("--log-file", str(home / LOG)),
            *(sys.executable, "-P", "-m", "warpsmith.judge.guest.sanitized"),
            str(_request(home)),
        ),
        cwd=home,
        env=ENVIRONMENT,
        readable=(
            load.candidate,
            load.extension,
            load.weights.parent,
            _request(home),
            program.resolve().parent,
        ),
        writable=(home,),
        gpu=True,
        limits=limits,
    )


def parse(text: str) -> Log:
    """The findings in a log. Lines that do not begin as a tool's do are somebody else's."""
    lines = [match["text"] for line in text.splitlines() if (match := _SAID.match(line))]
    reports = tuple(_report(block) for block in _blocks(lines))
    return Log(
        reports=tuple(
            report for report in reports if report.kernels and not report.text.startswith(_HARMLESS)
        ),
        is_whole=any(_SUMMARY.search(line) for line in lines),
    )


def base_name(kernel: str) -> str:
    """A kernel's name without return type, template arguments and parameters: as all tools spell it."""
    plain = kernel.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    depth, kept = 0, ""
    for character in plain:
        if character == "(" and depth == 0:
            break
        depth += (character == "<") - (character == ">")
        if depth == 0 and character != ">":
            kept += character
    return kept.split()[-1] if kept.split() else plain


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines of each finding: its first is not indented, the others are."""
    block: list[str] = []
    for line in lines:
        if block and not line.startswith(" "):
            yield block
            block = []
        if line.strip():
            block.append(line)
    if block:
        yield block


def _report(block: list[str]) -> Report:
    found = [match["kernel"].strip() for line in block for place in _PLACES if (match := place.search(line))]
    text = " ".join(line.strip() for line in block[:SHOWN_LINES])
    return Report(text=text, kernels=tuple(dict.fromkeys(found)))


def _run(trial: Trial, program: Path, tool: str) -> tuple[Completed, Log]:
    home, load = trial.guest.folder / f"sanitizer-{tool}", load_of(trial)
    try:
        home.mkdir()
        _request(home).write_text(to_json(load), encoding="utf-8")
    except OSError as error:
        raise InfraError(f"cannot write to {home}: {error.strerror or error}") from error
    limits = Limits(
        wall_s=trial.config.limits.sanitizer_s,
        memory_bytes=trial.config.memory_bytes,
        disk_bytes=MAX_WRITTEN_BYTES,
    )
    completed = trial.toolchain.runner.run(command(program, tool, load, home, limits))
    return completed, parse(_text(home / LOG))


def _request(home: Path) -> Path:
    return home.with_suffix(".json")


def _text(log: Path) -> str:
    """The log as far as it is worth reading. The candidate could write there, or put a link in its place."""
    if log.is_symlink() or not log.is_file():
        return ""
    with log.open("rb") as file:
        return file.read(MAX_LOG_BYTES).decode(errors="replace")


def _is_own(trial: Trial, report: Report) -> bool:
    assert trial.build is not None
    kernels = [kernel.kernel for kernel in trial.build.resources]
    if trial.coverage is not None:
        kernels += trial.coverage.own_kernels
    own = {base_name(name) for name in kernels}
    return any(base_name(name) in own for name in report.kernels) or any(
        holds_name(library, name) for library in trial.build.libraries for name in report.kernels
    )


def _wrong(tool: str, own: list[Report]) -> Wrong:
    more = f" (and {len(own) - 1} more)" if len(own) > 1 else ""
    return Wrong(what="sanitizer", message=f"{tool}: {own[0].text}{more}")


def _why_not(completed: Completed, log: Log) -> str:
    if completed.ending is Ending.TIMED_OUT:
        return "it took too long"
    if completed.ending is Ending.OUT_OF_MEMORY:
        return "it needs more memory than there is"
    said = (completed.stderr or completed.stdout).strip().splitlines() or ["it said nothing"]
    reason = "the program does not run under it" if log.is_whole else "it did not come to its summary"
    return f"{reason} ({said[-1]:.200})"
