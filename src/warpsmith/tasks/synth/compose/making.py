"""One task from one draw: drafted, sized, written and checked."""

import hashlib
import random

from warpsmith.core import Task, TaskError, UsageError
from warpsmith.tasks.file import check_format
from warpsmith.tasks.synth.base import Curriculum, Made
from warpsmith.tasks.synth.compose.bench import Unfit, calm
from warpsmith.tasks.synth.compose.curricula import classified
from warpsmith.tasks.synth.compose.drafting import Shelf, alone, drafted
from warpsmith.tasks.synth.compose.proof import answer_shape
from warpsmith.tasks.synth.compose.recipe import Recipe
from warpsmith.tasks.synth.compose.sizing import Sized, sized
from warpsmith.tasks.synth.compose.stage import Draft
from warpsmith.tasks.synth.compose.telling import structure_of
from warpsmith.tasks.synth.compose.text import task_text


def made(shelf: Shelf, recipe: Recipe, rng: random.Random, *, depth: int | None) -> Made | None:
    """A task of `depth` operators, or of one seed that stands alone; None if this draw came to nothing."""
    with calm(rng.getrandbits(32)):
        draft = (
            alone(rng.choice(shelf.alone), rng)
            if depth is None
            else drafted(shelf, recipe.curriculum, depth, rng)
        )
        if draft is None:
            return None
        curriculum = Curriculum.LAYERS if depth is None else classified(draft.kinds)
        if recipe.curriculum not in (None, curriculum):
            return None
        found = sized(draft, recipe, rng)
        return _written(found, recipe, curriculum) if found is not None else None


def _written(found: Sized, recipe: Recipe, curriculum: Curriculum | None) -> Made | None:
    """None if the text is not what the draft was."""
    try:
        source = task_text(found)
        check_format(source, "the composed task")
        is_same = answer_shape(source) == found.chosen.placed[-1].gives
    except (Unfit, TaskError, UsageError):
        return None
    if not is_same:
        return None
    draft = found.draft
    return Made(
        task=Task(task_id=_task_id(draft, source), source=source, provenance=_provenance(draft)),
        operators=draft.operators,
        depth=len(draft.operators),
        structure=structure_of(found),
        curriculum=curriculum,
        source=_source(draft),
        facts={
            f"modelled eager ms on {recipe.gpu}": f"{found.chosen.us / 1e3:.3f}",
            "bytes of all tensors": str(found.chosen.footprint.total),
        },
    )


def _library(draft: Draft) -> str:
    return draft.stages[0].seeds[0].provenance.library


def _source(draft: Draft) -> str:
    library = _library(draft)
    return f"torch#{len(draft.operators)}" if library == "torch" else library


def _task_id(draft: Draft, source: str) -> str:
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    return f"{_source(draft).replace('#', '')}_{digest}"


def _provenance(draft: Draft) -> str:
    seed = draft.stages[0].seeds[0].provenance
    return f"composed by rules of operators of {seed.library} {seed.version}"
