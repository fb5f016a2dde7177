"""The recipes, one family of kernels a file; `RECIPES` is the table that the plan goes through."""

from warpsmith.policy.builtin.recipes.base import Recipe
from warpsmith.policy.builtin.recipes.elementwise import Elementwise
from warpsmith.policy.builtin.recipes.gemm import Gemm
from warpsmith.policy.builtin.recipes.rows import Rows
from warpsmith.policy.builtin.recipes.totals import Totals

RECIPES: tuple[Recipe, ...] = (Gemm(), Rows(), Totals(), Elementwise())

__all__ = ["RECIPES"]
