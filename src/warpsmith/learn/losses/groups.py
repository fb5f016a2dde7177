"""Advantages within groups of samples that began with the same prompt (GRPO, arXiv 2402.03300). No torch."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

EPSILON = 1e-6
MIN_GROUP = 2


class Baseline(StrEnum):
    """What a reward is held against."""

    MEAN = "mean"  # of its group
    OTHERS = "others"  # the mean of the others in it: leave-one-out, arXiv 2402.14740


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAdvantages:
    """One for each sample, None where it teaches nothing; and how many those were."""

    values: tuple[float | None, ...]
    num_unrewarded: int  # samples without a reward: they left their group
    num_silent_groups: int  # all rewards alike, or fewer than two: no signal

    @property
    def num_used(self) -> int:
        return sum(value is not None for value in self.values)


def group_advantages(
    rewards: Sequence[float | None],
    groups: Sequence[str],
    *,
    baseline: Baseline = Baseline.MEAN,
    by_deviation: bool = True,
) -> GroupAdvantages:
    """(reward - baseline) / (standard deviation of the group + 1e-6), the deviation that of a sample (n - 1).

    Without `by_deviation` the difference alone (Dr. GRPO, arXiv 2503.20783). A reward that is no finite
    number counts as none: it would make NaN of its group.
    """
    members: dict[str, list[int]] = defaultdict(list)
    num_unrewarded = 0
    for place, (reward, group) in enumerate(zip(rewards, groups, strict=True)):
        if reward is None or not math.isfinite(reward):
            num_unrewarded += 1
            members.setdefault(group, [])
        else:
            members[group].append(place)
    values: list[float | None] = [None] * len(rewards)
    num_silent = 0
    for places in members.values():
        found = [float(rewards[place] or 0.0) for place in places]
        if len(found) < MIN_GROUP or max(found) - min(found) <= EPSILON:
            num_silent += 1
            continue
        for place, value in zip(places, _advantages(found, baseline, by_deviation=by_deviation), strict=True):
            values[place] = value
    return GroupAdvantages(values=tuple(values), num_unrewarded=num_unrewarded, num_silent_groups=num_silent)


def _advantages(rewards: Sequence[float], baseline: Baseline, *, by_deviation: bool) -> list[float]:
    total, count = math.fsum(rewards), len(rewards)
    mean = total / count
    deviation = math.sqrt(math.fsum((reward - mean) ** 2 for reward in rewards) / (count - 1))
    scale = deviation + EPSILON if by_deviation else 1.0
    match baseline:
        case Baseline.MEAN:
            return [(reward - mean) / scale for reward in rewards]
        case Baseline.OTHERS:
            return [(reward - (total - reward) / (count - 1)) / scale for reward in rewards]
