"""A part of a set that is made up as the whole is: so many of each depth, and of each curriculum in it."""

import random
from collections.abc import Callable, Iterable, Sequence

from warpsmith.core import UsageError
from warpsmith.tasks.synth.base import Made


def sampled(rows: Iterable[Made], n: int, seed: int) -> list[Made]:
    """`n` of `rows`, in their order: depths in proportion, and within each its curricula.

    The same `n` and `seed` take the same tasks of the same set, in whatever order it is in. Raises UsageError
    if there are fewer than `n` rows.
    """
    whole = list(rows)
    if n > len(whole):
        raise UsageError(f"{n} tasks cannot be taken of {len(whole)}; ask for fewer")
    rng = random.Random(seed)
    taken: set[str] = set()
    for depth, many in _divided(sorted(whole, key=lambda row: row.task.digest), n, depth_of):
        for stratum, few in _divided(depth, many, lambda row: row.curriculum or ""):
            taken.update(row.task.digest for row in rng.sample(stratum, few))
    return [row for row in whole if row.task.digest in taken]


def depth_of(row: Made) -> str:
    """Such as "torch#2"; a number alone where the row does not say whose operators they are."""
    return row.source or str(row.depth)


def _divided(rows: Sequence[Made], n: int, kind: Callable[[Made], str]) -> list[tuple[list[Made], int]]:
    """The rows of each kind, and how many of `n` are theirs."""
    kinds: dict[str, list[Made]] = {}
    for row in rows:
        kinds.setdefault(kind(row), []).append(row)
    parts = [kinds[name] for name in sorted(kinds)]
    return list(zip(parts, shares([len(part) for part in parts], n), strict=True))


def shares(sizes: Sequence[int], n: int) -> list[int]:
    """How many of each part, `n` in all and in proportion to `sizes`; no part more than it has.

    Whole numbers by largest remainder; then parts that would get none take one of the largest, if `n` is
    enough for one each.
    """
    total = sum(sizes)
    if not total:
        return [0] * len(sizes)
    found = [n * size // total for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda at: (-(n * sizes[at] % total), at))
    for at in by_remainder[: n - sum(found)]:
        found[at] += 1
    if n >= sum(1 for size in sizes if size):
        for at in [at for at, size in enumerate(sizes) if size and not found[at]]:
            found[found.index(max(found))] -= 1
            found[at] = 1
    return found
