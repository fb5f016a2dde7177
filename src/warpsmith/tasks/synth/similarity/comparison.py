"""Many tasks against many: rows of similarities.

Every structural similarity is computed, none is estimated or skipped: with multisets written as sets, all
intersections are one product of sparse 0/1 matrices, which leaves a filter before it nothing to save. Token
similarities are computed likewise where every pair counts (`alike`); where the nearest is wanted they are
estimated by MinHash for all pairs, and computed for those that may reach the threshold.
"""

from collections.abc import Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from warpsmith.tasks.synth.similarity.fingerprint import Fingerprint
from warpsmith.tasks.synth.similarity.tokens import MARGIN, jaccard

Row = npt.NDArray[np.float32]
Counts = npt.NDArray[np.int32]

ROUNDING = 1e-6  # of similarities in float32
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
    signatures = np.stack([other.signature for other in others])
    features = [[one.features for one in all_] for all_ in (tasks, others)]
    for start, shared, totals in _blocks(*features):
        block = (2 * shared / np.maximum(totals, 1)).astype(np.float32)
        for offset, row in enumerate(block):
            mine = tasks[start + offset]
            yield Rows(at=start + offset, structure=row, others=others, signatures=signatures, mine=mine)


def alike(tasks: Sequence[Fingerprint], *, structure: float, tokens: float) -> Iterator[tuple[int, int]]:
    """Every pair, the first before the second, of which one similarity reaches its threshold."""
    graphs, texts = [one.features for one in tasks], [one.shingles for one in tasks]
    for (start, nodes, of_nodes), (_, words, of_words) in zip(
        _blocks(graphs, graphs), _blocks(texts, texts), strict=True
    ):
        near = 2 * nodes >= (structure - ROUNDING) * np.maximum(of_nodes, 1)
        near |= words >= (tokens - ROUNDING) * np.maximum(of_words - words, 1)
        for offset, other in np.argwhere(near).tolist():
            if start + offset < other:
                yield start + offset, other


def _blocks(
    left: Sequence[AbstractSet[Hashable]], right: Sequence[AbstractSet[Hashable]]
) -> Iterator[tuple[int, Counts, Counts]]:
    """From which of `left` on; how many members each shares with each of `right`; how many both have."""
    index: dict[Hashable, int] = {}
    columns = _matrix(right, index)
    lines = _matrix(left, index)
    columns = _widened(columns, len(index)).T.tocsr()
    left_sizes, right_sizes = (np.array([len(one) for one in all_]) for all_ in (left, right))
    for start in range(0, len(left), BLOCK):
        shared = (lines[start : start + BLOCK] @ columns).toarray()
        yield start, shared, left_sizes[start : start + BLOCK, None] + right_sizes[None, :]


def _matrix(sets: Sequence[AbstractSet[Hashable]], index: dict[Hashable, int]) -> sparse.csr_matrix:
    """[sets, members], 1 where a set has a member; `index` gives members their columns, and grows."""
    columns = [index.setdefault(one, len(index)) for members in sets for one in members]
    ends = np.cumsum([0, *(len(members) for members in sets)])
    ones = np.ones(len(columns), dtype=np.int32)
    return sparse.csr_matrix((ones, np.array(columns, dtype=np.int64), ends), shape=(len(sets), len(index)))


def _widened(matrix: sparse.csr_matrix, width: int) -> sparse.csr_matrix:
    parts = (matrix.data, matrix.indices, matrix.indptr)
    return sparse.csr_matrix(parts, shape=(matrix.shape[0], width))
