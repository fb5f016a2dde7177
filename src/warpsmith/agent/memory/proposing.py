"""Which notes are proposed: none of a benchmark's task, none that says what another says already."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warpsmith.agent.memory.distilling import essence
from warpsmith.agent.memory.nouns import Note
from warpsmith.core import Task
from warpsmith.tasks.suites.kernelbench import FOLDER as KERNELBENCH
from warpsmith.tasks.synth.similarity import Thresholds, decontaminated
from warpsmith.tasks.synth.similarity.tokens import jaccard, shingles
from warpsmith.tasks.synth.skills import Left

ALIKE = 0.8
"""Jaccard coefficient of two notes' shingles from which on the later one says nothing new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposing:
    """What is left of candidates, and why the others went."""

    new: tuple[Note, ...]
    left: tuple[Left, ...]


def proposing(
    candidates: Iterable[tuple[Task, Note]],
    known: Iterable[Note],
    held: Sequence[Task],
    thresholds: Thresholds | None = None,
) -> Proposing:
    """Candidates that are no benchmark's (`held`), and unlike each other and all that are `known`."""
    pairs = list(candidates)
    benchmark = _of_benchmark([task for task, _ in pairs], held, thresholds or Thresholds())
    before = [(note, shingles(essence(note))) for note in known]
    new: list[Note] = []
    left: list[Left] = []
    for task, note in pairs:
        runs = shingles(essence(note))
        why = benchmark.get(task.digest) or _known_as(note, runs, before)
        if why is not None:
            left.append(Left(where=note.evidence.run, why=why))
            continue
        new.append(note)
        before.append((note, runs))
    return Proposing(new=tuple(new), left=tuple(left))


def _of_benchmark(tasks: Sequence[Task], held: Sequence[Task], thresholds: Thresholds) -> dict[str, str]:
    """Why a task is one that nobody may practise on, by its digest."""
    found = {
        task.digest: f"its task is {KERNELBENCH}'s"
        for task in tasks
        if task.provenance.startswith(KERNELBENCH)
    }
    if not held:
        return found
    compared = decontaminated({task.digest: task for task in tasks}.values(), held, thresholds)
    for dropped in compared.dropped:
        near = dropped.neighbour
        found[dropped.task.digest] = (
            f"its task is too close to {near.other_id} ({near.measure}, {near.similarity:.2f})"
        )
    for unread in compared.unread:
        found[unread.digest] = f"its task cannot be compared with a benchmark's: {unread.reason}"
    return found


def _known_as(note: Note, runs: frozenset[int], before: Iterable[tuple[Note, frozenset[int]]]) -> str | None:
    for other, of_other in before:
        if note.note_id == other.note_id:
            return f"it is known as {other.note_id}"
        is_same_kind = note.evidence.provenance is other.evidence.provenance
        if is_same_kind and note.evidence.gpu == other.evidence.gpu and jaccard(runs, of_other) >= ALIKE:
            return f"it says what {other.note_id} says"
    return None
