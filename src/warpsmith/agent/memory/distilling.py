"""A run's events to one candidate note, by rules: only a run whose program of record is right and faster."""

import ast
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpsmith.agent.events import Event, Finished
from warpsmith.agent.memory.cleaning import line
from warpsmith.agent.memory.nouns import Evidence, Note
from warpsmith.agent.memory.trying import change_of, steps_of
from warpsmith.agent.runs.past import Past, past_of
from warpsmith.agent.runs.record import BLOBS
from warpsmith.agent.runs.snapshot import Blobs
from warpsmith.agent.skills.iterations import iterations
from warpsmith.core import Passed, Provenance, Solution, Task, TaskError, Timing, UsageError
from warpsmith.tasks.synth.similarity import fingerprint
from warpsmith.tasks.synth.similarity.program import Program
from warpsmith.tasks.synth.skills import Left

MAX_OPERATORS = 24
ENVIRONMENT = ("gpu", "driver", "cuda", "torch", "nvcc", "arch")
LIBRARIES = ("torch.nn.functional.", "torch.nn.", "torch.")
NOT_CALLED = ("nn", "functional", "init", "Tensor", "Module", "Parameter", "no_grad")
MAKERS = ("randn", "rand", "zeros", "ones", "empty", "tensor")  # of weights, mostly
NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilling:
    """What makes a run worth a note."""

    margin: float = 0.05  # at least this much faster than eager; for a measured time the whole interval is


def distilled(folders: Iterable[Path], distilling: Distilling) -> Iterator[tuple[Task, Note] | Left]:
    """A note for each good run, with its task; a run that gives none says why."""
    for folder in folders:
        try:
            past = past_of(folder)
            yield _note(past, distilling)
        except (UsageError, NoNote) as error:
            yield Left(where=str(folder), why=line(str(error)))


class NoNote(Exception):
    """Why a run teaches nothing."""


def _note(past: Past, distilling: Distilling) -> tuple[Task, Note]:
    events = past.events
    best, timing = _of_record(events, distilling)
    seen = tuple(iterations(events, Blobs(past.folder / BLOBS)))
    evidence = _evidence(past, best, timing)
    operators = operators_of(past.task)
    note = Note(
        title=_title(past.task, operators, evidence),
        task=line(past.task.task_id, 80),
        reference=_reference(past.task),
        policy=line(past.started.policy, 80),
        operators=operators,
        steps=steps_of(seen, events),
        change=change_of(seen, best.candidate),
        evidence=evidence,
    )
    return past.task, note


def _evidence(past: Past, best: Solution, timing: Timing) -> Evidence:
    told = past.started.environment
    return Evidence(
        run=line(past.folder.name),
        started_at=past.entries[0].at[:10],
        task_digest=past.started.task_digest,
        candidate_digest=best.candidate.digest,
        device=line(past.started.device),
        gpu=line(timing.gpu),
        provenance=timing.provenance,
        candidate_us=timing.candidate.median_us,
        eager_us=timing.eager.median_us,
        compile_us=None if timing.compile is None else timing.compile.median_us,
        floor_us=timing.floor_us,
        low=timing.against_eager.low,
        high=timing.against_eager.high,
        gates=best.verdict.gates if isinstance(best.verdict, Passed) else (),
        environment={name: line(told[name]) for name in ENVIRONMENT if told.get(name, "None") != "None"},
    )


def _of_record(events: Sequence[Event], distilling: Distilling) -> tuple[Solution, Timing]:
    """The program of record, timed. Raises NoNote."""
    ends = [event for event in events if isinstance(event, Finished)]
    if not ends:
        raise NoNote("the run has not ended")
    best = ends[-1].best
    if best is None or not isinstance(best.verdict, Passed):
        raise NoNote("the run has no program that is right")
    timing = best.verdict.timing
    if timing is None or timing.trouble:
        raise NoNote("the program of record was not timed")
    if not _is_sound(timing):
        raise NoNote("the times of its program of record are no numbers")
    if timing.against_eager.low < 1.0 + distilling.margin:
        raise NoNote(f"the program of record is not {distilling.margin:.0%} faster than eager")
    return best, timing


def _is_sound(timing: Timing) -> bool:
    """A record may come from a stranger: no time that is empty, not finite or not positive."""
    series = [one for one in (timing.candidate, timing.eager, timing.compile) if one is not None]
    ratio = timing.against_eager
    numbers = [timing.floor_us, ratio.low, ratio.high, *(time for one in series for time in one.samples_us)]
    return all(one.samples_us for one in series) and all(0.0 < number < math.inf for number in numbers)


def _reference(task: Task) -> str:
    try:
        return fingerprint(task).reference
    except TaskError as error:
        raise NoNote(f"its task cannot be compared with others: {error}") from error


def operators_of(task: Task) -> tuple[str, ...]:
    """Names of what the module calls of torch, in the order of first use; empty if it cannot be read."""
    try:
        program = Program.of(task)
        nodes = [node for definition in program.used() for node in ast.walk(definition)]
    except (TaskError, RecursionError):
        return ()
    paths = (program.dotted(node) for node in nodes if isinstance(node, ast.Attribute | ast.Name))
    names = (_last_name(path) for path in paths if path)
    return tuple(dict.fromkeys(name for name in names if name))[:MAX_OPERATORS]


def _last_name(path: str) -> str:
    library = next((one for one in LIBRARIES if path.startswith(one)), None)
    rest = "" if library is None else path.removeprefix(library)
    return rest if NAME.fullmatch(rest) and rest not in (*NOT_CALLED, *MAKERS) else ""


def _title(task: Task, operators: tuple[str, ...], evidence: Evidence) -> str:
    what = ", ".join(operators[:6]) or line(task.task_id, 80)
    if evidence.provenance is Provenance.MEASURED:
        return f"{what}: {evidence.eager_us / evidence.candidate_us:.2f} times as fast on {evidence.gpu}"
    return f"{what}: {evidence.candidate_us:.1f} us against eager's {evidence.eager_us:.1f} us"


def essence(note: Note) -> str:
    """What makes a note another one than the next: what was done, without figures and names of runs."""
    told = (*note.operators, *(step.meant for step in note.steps), note.change)
    return re.sub(r"\d+", "0", "\n".join(told))
