"""How a model says what it wants done: by tool calls, by one JSON object, or by writing whole files."""

from warpsmith.policy.actions.parse import parse, with_unique_ids
from warpsmith.policy.actions.reading import (
    MAX_CHARACTERS,
    bounded,
    printable,
    read_arguments,
    split_thinking,
    without_loop,
)
from warpsmith.policy.actions.render import guided, render
from warpsmith.policy.actions.style import Style, instructions, schema

__all__ = [
    "MAX_CHARACTERS",
    "Style",
    "bounded",
    "guided",
    "instructions",
    "parse",
    "printable",
    "read_arguments",
    "render",
    "schema",
    "split_thinking",
    "with_unique_ids",
    "without_loop",
]
