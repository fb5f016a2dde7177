"""Limits of an episode, its own and shared ones: when it ends, and when it does not even ask."""

import pytest

from warpsmith.agent.attempts.sharing import Purse
from warpsmith.agent.budget import Budget, Price
from warpsmith.core import Cost, StopReason
from warpsmith.core.codec import from_data, to_data

PRICE = Price(prompt_usd=2.0, completion_usd=10.0)


@pytest.mark.parametrize(
    ("limits", "num_turns", "cost", "wall_s", "num_fruitless", "expected"),
    [
        ({}, 199, Cost(usd=1e9, gpu_s=1e9), 1e9, 1000, None),
        ({}, 200, Cost(), 0.0, 0, StopReason.TURNS),
        ({"max_tokens": 10}, 0, Cost(prompt_tokens=4, completion_tokens=6), 0.0, 0, StopReason.TOKENS),
        ({"max_wall_s": 60.0}, 0, Cost(wall_s=1e9), 59.0, 0, None),
        ({"max_wall_s": 60.0}, 0, Cost(), 60.0, 0, StopReason.TIME),
        ({"max_usd": 1.0}, 0, Cost(usd=1.0), 0.0, 0, StopReason.MONEY),
        ({"max_usd": 0.0}, 0, Cost(), 0.0, 0, StopReason.MONEY),
        ({"max_gpu_s": 5.0}, 0, Cost(gpu_s=5.5), 0.0, 0, StopReason.GPU),
        ({"max_gpu_s": 5.0}, 0, Cost(gpu_s=4.5, wall_s=99.0), 99.0, 0, None),
        ({"patience": 3}, 0, Cost(), 0.0, 2, None),
        ({"patience": 3}, 0, Cost(), 0.0, 3, StopReason.PATIENCE),
    ],
)
def test_a_limit_ends_the_episode_once_it_is_reached(
    limits, num_turns, cost, wall_s, num_fruitless, expected
):
    assert Budget(**limits).exhausted(num_turns, cost, wall_s, num_fruitless) == expected


def test_a_request_is_not_made_if_its_prompt_alone_costs_more_than_is_left():
    budget = Budget(max_usd=1.0)
    spent = Cost(usd=0.9)
    assert budget.would_exceed(spent, 40_000, PRICE) is None
    assert budget.would_exceed(spent, 60_000, PRICE) is StopReason.MONEY
    assert budget.would_exceed(spent, 60_000) is None, "nothing is known to be paid"


def test_a_request_is_not_made_if_its_prompt_leaves_no_token_for_a_reply():
    budget = Budget(max_tokens=1000)
    spent = Cost(prompt_tokens=300, completion_tokens=200)
    assert budget.would_exceed(spent, 499) is None
    assert budget.would_exceed(spent, 500) is StopReason.TOKENS
    assert Budget().would_exceed(spent, 10**9, PRICE) is None


def test_a_budget_can_be_written_down():
    budget = Budget(max_gpu_s=3.0, patience=4)
    assert from_data(Budget, to_data(budget)) == budget


def test_patience_ends_an_episode_that_finds_nothing_faster(stage, say):
    stage.budget = Budget(patience=2)
    words = ("50", "60", "70", "80")
    trajectory = stage.run(*((say.program(word), say.call("profile")) for word in words))
    assert trajectory.stop is StopReason.PATIENCE
    assert len(trajectory.turns) == 3


def test_attempts_spend_from_one_purse():
    purse = Purse(Budget(max_usd=1.0, max_gpu_s=10.0, max_tokens=1000))
    one, other = purse.share(1), purse.share(2)
    assert one.exhausted(1, Cost(usd=0.6), 0.0) is None
    assert other.exhausted(1, Cost(usd=0.3), 0.0) is None
    assert other.exhausted(2, Cost(usd=0.5), 0.0) is StopReason.MONEY
    assert one.exhausted(1, Cost(usd=0.6), 0.0) is StopReason.MONEY
    assert purse.total == Cost(usd=1.1)


def test_turns_and_patience_are_each_attempts_own():
    purse = Purse(Budget(max_turns=5, patience=3))
    one, other = purse.share(1), purse.share(2)
    assert one.exhausted(4, Cost(), 0.0, 2) is None
    assert other.exhausted(5, Cost(), 0.0, 0) is StopReason.TURNS
    assert other.exhausted(4, Cost(), 0.0, 3) is StopReason.PATIENCE


def test_two_attempts_cannot_both_spend_the_same_rest():
    purse = Purse(Budget(max_usd=1.0))
    one, other = purse.share(1), purse.share(2)
    assert one.would_exceed(Cost(usd=0.9), 40_000, PRICE) is None
    assert other.would_exceed(Cost(), 40_000, PRICE) is StopReason.MONEY
    assert one.exhausted(1, Cost(usd=0.9), 0.0) is None, "the reply was cheaper than it was feared to be"
    assert other.would_exceed(Cost(), 40_000, PRICE) is None


def test_the_time_of_a_purse_begins_with_it_and_not_with_an_attempt():
    now = iter((100.0, 150.0, 160.0))
    purse = Purse(Budget(max_wall_s=60.0), clock=lambda: next(now))
    share = purse.share(1)
    assert share.exhausted(0, Cost(), 1e9) is None
    assert share.exhausted(0, Cost(), 0.0) is StopReason.TIME
