"""Whole configurations, as functions: `<task>_<algorithm>_<machine>.py` has one, called `recipe`.

`cuda_agent` and `stitchcuda` hold what the papers tell, and what was chosen where they don't; the recipes
fit it to a model and a machine.
"""

from collections.abc import Callable
from typing import TypeVar

from warpsmith.core import UsageError
from warpsmith.learn.recipes import (
    agentic_ppo_qwen05b_h200,
    agentic_ppo_tiny_cpu,
    rft_qwen05b_h200,
    rft_tiny_cpu,
    rubric_grpo_qwen05b_h200,
    rubric_grpo_tiny_cpu,
    value_qwen05b_h200,
    value_tiny_cpu,
    warmup_ppo_qwen05b_h200,
    warmup_ppo_tiny_cpu,
)
from warpsmith.learn.recipes.base import (
    GrpoRecipe,
    Manner,
    PpoRecipe,
    Recipe,
    SftRecipe,
    Suite,
    ValueRecipe,
    Work,
)

__all__ = [
    "RECIPES",
    "GrpoRecipe",
    "Manner",
    "PpoRecipe",
    "Recipe",
    "SftRecipe",
    "Suite",
    "ValueRecipe",
    "Work",
    "recipe_called",
    "recipe_of",
]

RECIPES: dict[str, Callable[[], Recipe]] = {
    "rft_qwen05b_h200": rft_qwen05b_h200.recipe,
    "value_qwen05b_h200": value_qwen05b_h200.recipe,
    "warmup_ppo_qwen05b_h200": warmup_ppo_qwen05b_h200.recipe,
    "agentic_ppo_qwen05b_h200": agentic_ppo_qwen05b_h200.recipe,
    "rubric_grpo_qwen05b_h200": rubric_grpo_qwen05b_h200.recipe,
    "rft_tiny_cpu": rft_tiny_cpu.recipe,
    "value_tiny_cpu": value_tiny_cpu.recipe,
    "warmup_ppo_tiny_cpu": warmup_ppo_tiny_cpu.recipe,
    "agentic_ppo_tiny_cpu": agentic_ppo_tiny_cpu.recipe,
    "rubric_grpo_tiny_cpu": rubric_grpo_tiny_cpu.recipe,
}


R = TypeVar("R", SftRecipe, ValueRecipe, PpoRecipe, GrpoRecipe)


def recipe_of(kind: type[R], name: str) -> R:
    """The recipe called `name`. Raises UsageError, with names, if there is none, or it is another stage's."""
    recipe = recipe_called(name)
    if not isinstance(recipe, kind):
        own = ", ".join(other for other, make in RECIPES.items() if isinstance(make(), kind))
        raise UsageError(f"{name} is a recipe of train {recipe.verb}; those of train {kind.verb} are {own}")
    return recipe


def recipe_called(name: str) -> Recipe:
    """Raises UsageError, with all names, if there is none of this."""
    if name not in RECIPES:
        raise UsageError(f"unknown recipe {name!r:.80}; choose one of {', '.join(RECIPES)}")
    return RECIPES[name]()
