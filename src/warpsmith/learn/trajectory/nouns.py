"""What a model read and drew in one piece, in its own tokens: the truth that training goes by."""

import math
from dataclasses import dataclass

from warpsmith.core import UsageError
from warpsmith.learn.rewards.base import NoReward, Outcome, Reward


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One reply: ids[start:end] were drawn, the end of the turn included unless it was cut."""

    start: int
    end: int
    weights: str = ""  # which version of the model drew them
    is_cut: bool = False  # by a limit
    logprobs: tuple[float, ...] | None = None  # one each, as they were drawn; None: a teacher's words


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Tokens with the spans that a policy drew; all others are what it read.

    >>> spans = (Span(start=2, end=4), Span(start=5, end=7))
    >>> Sample(sample_id="a", task_id="softmax", ids=(5, 6, 7, 2, 9, 8, 2), spans=spans).mask
    (0, 0, 1, 1, 0, 1, 1)

    The last token is a drawn one: what came after it taught nobody. Raises UsageError at construction where
    that does not hold, or spans overlap, are empty or lie outside, or log-probabilities are none.
    """

    sample_id: str
    task_id: str
    ids: tuple[int, ...]  # [T]
    spans: tuple[Span, ...]
    group: str = ""  # samples of one group began with the same prompt
    tokenizer: str = ""  # digest of the one that these ids belong to; empty: not known
    outcome: Outcome | None = None  # None: nobody has judged it
    is_truncated: bool = False  # a limit ended it, not the policy

    def __post_init__(self) -> None:
        if not self.spans:
            raise UsageError(f"sample {self.sample_id!r} holds no token that a policy drew")
        if min(self.ids, default=0) < 0:
            raise UsageError(f"sample {self.sample_id!r} has a token with a negative id")
        end = 1  # the first token has nothing before it that it could be drawn after
        for number, span in enumerate(self.spans, 1):
            where = f"sample {self.sample_id!r}, span {number}"
            if not end <= span.start < span.end <= len(self.ids):
                raise UsageError(
                    f"{where}: [{span.start}, {span.end}) is empty, overlaps or leaves [1, {len(self.ids)})"
                )
            end = span.end
            _check_logprobs(span, where)
        if end != len(self.ids):
            raise UsageError(
                f"sample {self.sample_id!r} ends with {len(self.ids) - end} tokens that nobody drew"
            )

    @property
    def mask(self) -> tuple[int, ...]:  # [T]
        """1 on each drawn token, else 0."""
        marks = [0] * len(self.ids)
        for span in self.spans:
            marks[span.start : span.end] = [1] * (span.end - span.start)
        return tuple(marks)

    @property
    def logprobs(self) -> tuple[float, ...] | None:  # [T]
        """As they were drawn, 0 where nothing was; None if a span has none."""
        found = [0.0] * len(self.ids)
        for span in self.spans:
            if span.logprobs is None:
                return None
            found[span.start : span.end] = span.logprobs
        return tuple(found)

    @property
    def num_drawn(self) -> int:
        return sum(span.end - span.start for span in self.spans)

    @property
    def reward(self) -> float | None:
        """None: it was not judged, or the judge could not tell."""
        return self.outcome.value if isinstance(self.outcome, Reward) else None

    @property
    def is_unrewarded(self) -> bool:
        """It was judged, and the judge could not tell."""
        return isinstance(self.outcome, NoReward)


def _check_logprobs(span: Span, where: str) -> None:
    if span.logprobs is None:
        return
    if len(span.logprobs) != span.end - span.start:
        raise UsageError(
            f"{where}: {len(span.logprobs)} log-probabilities for {span.end - span.start} tokens"
        )
    if not all(math.isfinite(value) and value <= 1e-4 for value in span.logprobs):
        raise UsageError(f"{where}: a log-probability is positive or no number")
