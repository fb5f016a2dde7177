"""What a verdict earns: the rules, by name."""

from collections.abc import Callable

from warpsmith.core import UsageError
from warpsmith.learn.rewards.asking import rewarded
from warpsmith.learn.rewards.base import Missing, NoReward, Outcome, Reward, RewardRule
from warpsmith.learn.rewards.kevin import Kevin, discounted
from warpsmith.learn.rewards.milestone import Milestone
from warpsmith.learn.rewards.shaped import Shaped, ShapedAsCoded
from warpsmith.learn.rewards.speedup import SpeedUp

__all__ = [
    "REWARDS",
    "Kevin",
    "Milestone",
    "Missing",
    "NoReward",
    "Outcome",
    "Reward",
    "RewardRule",
    "Shaped",
    "ShapedAsCoded",
    "SpeedUp",
    "discounted",
    "make_rule",
    "rewarded",
]

REWARDS: dict[str, Callable[[], RewardRule]] = {
    "milestone": Milestone,
    "speedup": SpeedUp,
    "kevin": Kevin,
    "shaped": Shaped,
    "shaped-as-coded": ShapedAsCoded,
}


def make_rule(name: str) -> RewardRule:
    """The rule called `name`, as its paper has it. Raises UsageError for another name."""
    if name not in REWARDS:
        raise UsageError(f"unknown reward {name!r}; choose one of {', '.join(REWARDS)}")
    return REWARDS[name]()
