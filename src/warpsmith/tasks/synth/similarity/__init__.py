"""How alike two tasks are, whatever they call things and however large; and what is left of a set.

`similarity` and `token_similarity` compare two tasks. `decontaminated` holds a set against a benchmark or the
other split, `without_near_duplicates` against itself. `divided` splits it. Nothing of a task is executed.
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
from warpsmith.tasks.synth.similarity.splitting import Divided, Split, Splitting, divided

__all__ = [
    "Decontaminated",
    "Divided",
    "Dropped",
    "Fingerprint",
    "Measure",
    "Neighbour",
    "Split",
    "Splitting",
    "Thresholds",
    "Unread",
    "decontaminated",
    "divided",
    "fingerprint",
    "similarity",
    "token_similarity",
    "without_near_duplicates",
]
