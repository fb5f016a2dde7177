"""Two benches of the same tasks: what the later one gained and lost. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from warpsmith.bench.record import Fate, TaskRecord
from warpsmith.bench.suite import Mode
from warpsmith.core import Provenance, UsageError

SAME_MODEL = 0.01  # modelled times have no interval: a smaller change is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of them, and what a comparison depends on."""

    folder: str
    mode: Mode
    device: str
    policy: str
    records: tuple[TaskRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A task's outcome in both."""

    before: TaskRecord
    after: TaskRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Every task of either is in exactly one of these.

    Faster and slower: both passed, and the intervals of their ratios against eager do not meet; where times
    are modelled, these differ by more than 1 %.
    """

    before: Side
    after: Side
    gained: tuple[Pair, ...]  # passes only after
    lost: tuple[Pair, ...]  # passed only before
    faster: tuple[Pair, ...]
    slower: tuple[Pair, ...]
    level: tuple[Pair, ...]  # both passed, and no difference can be told
    failed: tuple[Pair, ...]  # neither passed
    untold: tuple[Pair, ...]  # in one of them we failed, or it was never timed
    changed: tuple[Pair, ...]  # its source is another, or how it is judged
    only_before: tuple[TaskRecord, ...]
    only_after: tuple[TaskRecord, ...]


def compare(before: Side, after: Side) -> Comparison:
    """Raises UsageError for benches of different modes or devices, and if no task is in both."""
    for what in ("mode", "device"):
        first, second = getattr(before, what), getattr(after, what)
        if first != second:
            raise UsageError(
                f"these do not compare: {before.folder} has the {what} {first}, {after.folder} {second}"
            )
    old, new = _by_key(before.records), _by_key(after.records)
    common = [Pair(before=old[key], after=new[key]) for key in old if key in new]
    if not common:
        raise UsageError(f"{before.folder} and {after.folder} have no finished task in common")
    sorted_by: dict[str, list[Pair]] = {}
    for pair in common:
        sorted_by.setdefault(_change(pair), []).append(pair)
    found = {change: tuple(sorted_by.get(change, ())) for change in CHANGES}
    return Comparison(
        before=before,
        after=after,
        only_before=tuple(record for key, record in old.items() if key not in new),
        only_after=tuple(record for key, record in new.items() if key not in old),
        **found,
    )


CHANGES = ("gained", "lost", "faster", "slower", "level", "failed", "untold", "changed")


def _by_key(records: Iterable[TaskRecord]) -> dict[str, TaskRecord]:
    return {record.name.key: record for record in records}


def _change(pair: Pair) -> str:
    before, after = pair.before, pair.after
    if before.name.digest != after.name.digest:
        return "changed"
    if Fate.OURS in (before.fate, after.fate):
        return "untold"
    match before.has_passed, after.has_passed:
        case False, True:
            return "gained"
        case True, False:
            return "lost"
        case False, False:
            return "failed"
        case _:
            return _speed_change(pair)


def _speed_change(pair: Pair) -> str:
    before, after = pair.before.timing, pair.after.timing
    if before is None or after is None or before.provenance is not after.provenance:
        return "untold"
    if before.trouble or after.trouble:
        return "untold"
    if after.provenance is Provenance.MODELLED:
        old_us, new_us = before.candidate.median_us, after.candidate.median_us
        is_faster, is_slower = new_us < (1 - SAME_MODEL) * old_us, new_us > (1 + SAME_MODEL) * old_us
    else:
        is_faster = after.against_eager.low > before.against_eager.high
        is_slower = after.against_eager.high < before.against_eager.low
    return "faster" if is_faster else "slower" if is_slower else "level"
