"""Which samples are worth imitating (rejection fine-tuning; CUDA Agent, arXiv 2602.24286)."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from warpsmith.learn.trajectory.nouns import Sample

MAX_SAME = 3  # replies in a row that are equal, token by token


class Reason(StrEnum):
    """Why a sample is left out."""

    UNJUDGED = "unjudged"
    NO_REWARD = "no reward"
    POOR = "poor"  # earned too little
    LOOP = "loop"  # says the same again and again
    CUT = "cut"  # a reply ended by a limit: its last token is no end that one should learn


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is left, and how many went for which reason."""

    samples: tuple[Sample, ...]
    dropped: dict[Reason, int]


def filtered(samples: Iterable[Sample], *, above: float = 0.0) -> Kept:
    """Those that earned more than `above`, without loops and without replies that were cut."""
    kept, dropped = [], Counter[Reason]()
    for sample in samples:
        reason = _reason(sample, above)
        if reason is None:
            kept.append(sample)
        else:
            dropped[reason] += 1
    return Kept(samples=tuple(kept), dropped=dict(dropped))


def _reason(sample: Sample, above: float) -> Reason | None:
    if sample.reward is None:
        return Reason.NO_REWARD if sample.is_unrewarded else Reason.UNJUDGED
    if not sample.reward > above:  # also of a reward that is no number
        return Reason.POOR
    if any(span.is_cut for span in sample.spans):
        return Reason.CUT
    replies = [sample.ids[span.start : span.end] for span in sample.spans]
    longest = max(len(list(equal)) for _, equal in groupby(replies))
    return Reason.LOOP if longest >= MAX_SAME else None
