"""Programs to teach a student by: written without a model, judged correct, told as replies of one turn.

`writers` are who writes, from one kernel an operator to the builtin engineer; `plain` is the compact CUDA of
most of them; `demonstrating` has their programs judged; `kept` is the file that they are left in.
"""

from warpsmith.learn.demonstrations.demonstrating import (
    Demonstrating,
    Demonstration,
    Left,
    Reason,
    Tried,
    counted,
    programs_of,
    reply_lengths,
)
from warpsmith.learn.demonstrations.kept import Kept
from warpsmith.learn.demonstrations.writers import WRITERS, written

__all__ = [
    "WRITERS",
    "Demonstrating",
    "Demonstration",
    "Kept",
    "Left",
    "Reason",
    "Tried",
    "counted",
    "programs_of",
    "reply_lengths",
    "written",
]
