"""What a task is compared by, so that its source is read once."""

import hashlib
from dataclasses import dataclass

from warpsmith.core import Task
from warpsmith.tasks.synth.similarity.kernel import Features, dice, features
from warpsmith.tasks.synth.similarity.program import Program
from warpsmith.tasks.synth.similarity.reader import outputs
from warpsmith.tasks.synth.similarity.tokens import Signature, jaccard, normalised, shingles, signature


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fingerprint:
    """One task, ready to be held against others."""

    task: Task
    features: Features  # of the graph that forward computes
    shingles: frozenset[int]  # of the normalised source
    signature: Signature  # [PERMUTATIONS], MinHash of the shingles
    reference: str  # SHA-256 of the normalised source, hexadecimal

    @property
    def structure(self) -> str:
        """Equal for tasks whose graphs are told apart by nothing that `similarity` sees."""
        text = " ".join(f"{what:x}.{at}" for what, at in sorted(self.features))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprint(task: Task) -> Fingerprint:
    """Raises TaskError if the task's source cannot be read: no Python, no Model, or beyond all bounds."""
    graph = features(outputs(Program.of(task)))
    text = normalised(task)
    runs = shingles(text)
    return Fingerprint(
        task=task,
        features=graph,
        shingles=runs,
        signature=signature(runs),
        reference=hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest(),
    )


def similarity(left: Task, right: Task) -> float:
    """Structural similarity of two models in [0, 1], as `kernel.py` defines it. Raises TaskError."""
    return dice(*(features(outputs(Program.of(task))) for task in (left, right)))


def token_similarity(left: Task, right: Task) -> float:
    """Jaccard coefficient of the token shingles of two models' normalised sources, in [0, 1]."""
    return jaccard(*(shingles(normalised(task)) for task in (left, right)))
