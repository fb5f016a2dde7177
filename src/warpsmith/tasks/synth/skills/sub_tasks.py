"""Sub-tasks of tasks: parts that are taken out, looked at, and put into the form of a skill."""

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from warpsmith.core import Task, TaskError, UsageError
from warpsmith.sandbox import Sandbox
from warpsmith.tasks.scale import with_scale
from warpsmith.tasks.synth.similarity.kernel import operators
from warpsmith.tasks.synth.similarity.program import Program
from warpsmith.tasks.synth.similarity.reader import outputs
from warpsmith.tasks.synth.skills.cutting import Piece, pieces
from warpsmith.tasks.synth.skills.looking import LookAt, looking
from warpsmith.tasks.synth.skills.protocol import Looked, NoLook
from warpsmith.tasks.synth.skills.skill import Left, SubTask
from warpsmith.tasks.synth.skills.straight import Uncut
from warpsmith.tasks.synth.skills.template import Seen, drawn, titled

MOST_NAMED = 4
SMALLER = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutting:
    """How parts are chosen. The same seed chooses the same."""

    sandbox: Sandbox  # where strangers' code runs
    most: int = 4  # parts of one task
    seed: int = 0


def sub_tasks(tasks: Iterable[Task], cutting: Cutting) -> Iterator[SubTask | Left]:
    """Up to `most` parts of each task, chosen at random; those of which nothing can be made are told.

    Raises InfraError if the sandbox does not work.
    """
    for task in tasks:
        try:
            found = pieces(task, random.Random(f"{cutting.seed} {task.digest}"))
        except Uncut as uncut:
            yield Left(where=task.task_id, why=str(uncut))
            continue
        yield from _chosen(task, found, cutting)


def _chosen(task: Task, found: Iterator[Piece], cutting: Cutting) -> Iterator[SubTask | Left]:
    num_made = 0
    with looking(cutting.sandbox) as look:
        for piece in found:
            if num_made == cutting.most:
                return
            try:
                yield _sub_task(task, piece, look)
            except Uncut as uncut:
                yield Left(where=piece.task.task_id, why=str(uncut))
            else:
                num_made += 1


def _sub_task(task: Task, piece: Piece, look: LookAt) -> SubTask:
    """Raises Uncut."""
    try:
        names = operators(outputs(Program.of(piece.task)))
    except TaskError as error:
        raise Uncut(str(error)) from error
    own, smaller = _at_two_scales(piece.task)
    now = _looked(look(own))
    seen = Seen(piece=piece, now=now, smaller=now if own == smaller else _looked(look(smaller)))
    name = _identifier(names)
    found = drawn(name, titled(names), seen)
    return SubTask(
        name=name,
        operators=names,
        task=replace(piece.task, provenance=f"taken out of {task.task_id} ({task.provenance})"),
        contract=found.contract,
        template=found.template,
        origin=task.digest,
    )


def _looked(answer: Looked | NoLook) -> Looked:
    if isinstance(answer, NoLook):
        raise Uncut(answer.why)
    return answer


def _at_two_scales(task: Task) -> tuple[str, str]:
    """The source as it is, and at a smaller scale; the same where it has none to set."""
    try:
        scale = with_scale(task.source, task.task_id, None, "cuda")[1]
        return task.source, with_scale(task.source, task.task_id, scale * SMALLER, "cuda")[0]
    except UsageError:
        return task.source, task.source


def _identifier(names: tuple[str, ...]) -> str:
    short = [re.sub(r"\W+", "", name, flags=re.ASCII) or "op" for name in names]
    if len(short) > MOST_NAMED:
        short = [*short[: MOST_NAMED - 1], f"and_{len(short) - MOST_NAMED + 1}_more"]
    return "_".join(short)
