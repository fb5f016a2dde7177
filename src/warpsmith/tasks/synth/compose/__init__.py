"""Tasks composed of seeds: by rules, or by a model that is asked."""

from warpsmith.tasks.synth.compose.asking import Ask, Junk, Outcome, Written, asked, invented, prompt
from warpsmith.tasks.synth.compose.recipe import Mix, Recipe
from warpsmith.tasks.synth.compose.rules import composed

__all__ = ["Ask", "Junk", "Mix", "Outcome", "Recipe", "Written", "asked", "composed", "invented", "prompt"]
