"""Composing by rules."""

import random
from collections.abc import Iterable, Iterator

from warpsmith.core import UsageError
from warpsmith.tasks.synth.base import Curriculum, Made, Seed
from warpsmith.tasks.synth.compose.curricula import COURSES
from warpsmith.tasks.synth.compose.recipe import Recipe

MOST_DRAWS = 200
"""For one task. Most take a few; where none of so many fits, none will."""


def composed(seeds: Iterable[Seed], recipe: Recipe) -> Iterator[Made]:
    """`recipe.n` tasks, no two alike in structure and sizes; the same ones for the same seeds and recipe.

    Raises UsageError if the seeds do not yield what the recipe asks for.
    """
    from warpsmith.tasks.synth.compose.drafting import Shelf
    from warpsmith.tasks.synth.compose.making import made

    shelf = Shelf.of(seeds)
    known: set[str] = set()
    for number in range(recipe.n):
        kind = random.Random(f"{recipe.seed} {number}")
        is_alone, depth = _plan(recipe, kind, has_alone=bool(shelf.alone), has_stacked=bool(shelf.stacked))
        for draw in range(MOST_DRAWS):
            rng = random.Random(f"{recipe.seed} {number} {draw}")
            one = made(shelf, recipe, rng, depth=None if is_alone else depth)
            if one is not None and one.task.source not in known:
                break
        else:
            what = "modules that stand alone" if is_alone else f"stacks of {depth}"
            of = f" for {recipe.curriculum}" if recipe.curriculum else ""
            low, high = recipe.band_ms
            raise UsageError(
                f"after {number} tasks, none of {MOST_DRAWS} further {what}{of} takes {low:g} to {high:g} ms "
                f"on {recipe.gpu} within {recipe.room.call_bytes >> 20} MiB"
            )
        known.add(one.task.source)
        yield one


def _plan(recipe: Recipe, rng: random.Random, *, has_alone: bool, has_stacked: bool) -> tuple[bool, int]:
    """Whether the next task is one of the modules that stand alone, and how deep it is otherwise."""
    takes_alone = has_alone and recipe.curriculum in (None, Curriculum.LAYERS)
    share = recipe.mix.transformers / (recipe.mix.transformers + sum(recipe.mix.depths))
    if takes_alone and (rng.random() < share or not has_stacked):
        return True, 1
    course = COURSES[recipe.curriculum] if recipe.curriculum else None
    least, most = (course.least, course.most) if course else (1, recipe.max_ops)
    if least > recipe.max_ops:
        raise UsageError(
            f"{recipe.curriculum} tasks have {least} operators or more; {recipe.max_ops} are allowed"
        )
    return False, recipe.mix.depth(rng, least=least, most=min(most, recipe.max_ops))
