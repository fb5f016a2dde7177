"""Many tasks against many: rows of similarities.

Every structural similarity is computed, none is estimated or skipped: with multisets written as sets, all
intersections are one product of sparse 0/1 matrices, which leaves a filter before it nothing to save. Token
similarities are estimated by MinHash for all pairs, and computed for those that may reach the threshold.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from warpsmith.tasks.synth.similarity.fingerprint import Fingerprint
from warpsmith.tasks.synth.similarity.tokens import MARGIN, jaccard

Row = npt.NDArray[np.float32]

BLOCK = 256  # rows of one product: 256 x 8,000 numbers are 8 MiB


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """One task against all others, in order."""

    at: int
    structure: Row  # [others]
    others: Sequence[Fingerprint]
    signatures: npt.NDArray[np.uint32]  # [others, PERMUTATIONS]
    mine: Fingerprint

    def tokens(self, threshold: float, among: npt.NDArray[np.bool_]) -> tuple[int, float] | None:
        """The other of highest token similarity, if that reaches `threshold`, of those marked in `among`."""
        estimates = (self.signatures == self.mine.signature).mean(axis=1)
        candidates = np.flatnonzero((estimates >= threshold - MARGIN) & among).tolist()
        found = [(jaccard(self.mine.shingles, self.others[at].shingles), -at) for at in candidates]
        best = max(found, default=(0.0, 0))
        return (-best[1], best[0]) if found and best[0] >= threshold else None


def rows(tasks: Sequence[Fingerprint], others: Sequence[Fingerprint]) -> Iterator[Rows]:
    """Each of `tasks` against all of `others`."""
    if not others:
        return
    index: dict[tuple[int, int], int] = {}
    right = _matrix(others, index)
    left = _matrix(tasks, index)
    left_sizes, right_sizes = (np.array([len(one.features) for one in all_]) for all_ in (tasks, others))
    right = _widened(right, len(index)).T.tocsr()
    signatures = np.stack([other.signature for other in others])
    for start in range(0, len(tasks), BLOCK):
        shared = (left[start : start + BLOCK] @ right).toarray()
        totals = left_sizes[start : start + BLOCK, None] + right_sizes[None, :]
        block = (2 * shared / np.maximum(totals, 1)).astype(np.float32)
        for offset, row in enumerate(block):
            mine = tasks[start + offset]
            yield Rows(at=start + offset, structure=row, others=others, signatures=signatures, mine=mine)


def _matrix(tasks: Sequence[Fingerprint], index: dict[tuple[int, int], int]) -> sparse.csr_matrix:
    """[tasks, features], 1 where a task has a feature; `index` gives features their columns, and grows."""
    columns = [index.setdefault(one, len(index)) for task in tasks for one in task.features]
    ends = np.cumsum([0, *(len(task.features) for task in tasks)])
    ones = np.ones(len(columns), dtype=np.int32)
    return sparse.csr_matrix((ones, np.array(columns, dtype=np.int64), ends), shape=(len(tasks), len(index)))


def _widened(matrix: sparse.csr_matrix, width: int) -> sparse.csr_matrix:
    parts = (matrix.data, matrix.indices, matrix.indptr)
    return sparse.csr_matrix(parts, shape=(matrix.shape[0], width))
