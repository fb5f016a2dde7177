"""The recipes, one family of kernels a file; `RECIPES` is the table that the plan goes through."""

from warpsmith.policy.builtin.recipes.assembly import Assembly
from warpsmith.policy.builtin.recipes.attention import Attention
from warpsmith.policy.builtin.recipes.base import Recipe
from warpsmith.policy.builtin.recipes.conv import Conv
from warpsmith.policy.builtin.recipes.elementwise import Elementwise
from warpsmith.policy.builtin.recipes.extremum import Extremum
from warpsmith.policy.builtin.recipes.gemm import Gemm
from warpsmith.policy.builtin.recipes.lookup import Lookup
from warpsmith.policy.builtin.recipes.pool import Pool
from warpsmith.policy.builtin.recipes.recurrent import Recurrent
from warpsmith.policy.builtin.recipes.rows import Rows
from warpsmith.policy.builtin.recipes.scan import Scan
from warpsmith.policy.builtin.recipes.totals import Totals

RECIPES: tuple[Recipe, ...] = (
    Attention(),
    Gemm(),
    Conv(),
    Recurrent(),
    Lookup(),
    Rows(),
    Totals(),
    Pool(),
    Extremum(),
    Scan(),
    Assembly(),
    Elementwise(),
)

__all__ = ["RECIPES"]
