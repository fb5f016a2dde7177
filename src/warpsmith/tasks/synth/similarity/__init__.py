"""How alike two tasks are, whatever they call things and however large; and what is left of a set.

`similarity` and `token_similarity` compare two tasks. `decontaminated` holds a set against a benchmark or the
other split, `without_near_duplicates` against itself. Nothing of a task is executed.
"""

from warpsmith.tasks.synth.similarity.decontamination import (
    Decontaminated,
    Dropped,
    Measure,
    Neighbour,
    Thresholds,
    Unread,
    decontaminated,
    without_near_duplicates,
)
from warpsmith.tasks.synth.similarity.fingerprint import (
    Fingerprint,
    fingerprint,
    similarity,
    token_similarity,
)

__all__ = [
    "Decontaminated",
    "Dropped",
    "Fingerprint",
    "Measure",
    "Neighbour",
    "Thresholds",
    "Unread",
    "decontaminated",
    "fingerprint",
    "similarity",
    "token_similarity",
    "without_near_duplicates",
]
