"""What a run may cost, said before it does."""

from dataclasses import replace

import pytest

from warpsmith.agent.budget import Budget, Price
from warpsmith.agent.estimate import Model, estimate, estimate_text
from warpsmith.core import StopReason

PRICE = Price(prompt_usd=2.0, completion_usd=10.0)
MODEL = Model(name="openai:large", price=PRICE)


def test_a_model_with_a_price_costs_between_two_sums(task):
    found = estimate(task, [MODEL], Budget())
    lower, upper = found.lower.cost, found.upper.cost
    assert 0 < lower.usd < upper.usd
    assert lower.usd == pytest.approx(PRICE.usd(lower.prompt_tokens, lower.completion_tokens))
    assert upper.prompt_tokens > lower.prompt_tokens
    assert found.upper.num_turns == 200


def test_the_text_says_that_it_is_an_estimate_and_what_it_rests_on(task):
    text = estimate_text(estimate(task, [MODEL], Budget()))
    assert text.startswith("Estimate for openai:large, before anything is asked")
    for words in ("tokens:", "USD", "time:", "12 to 200 turns", "no prompt caching", "limits: none"):
        assert words in text


def test_the_conversation_is_paid_for_again_every_turn(task):
    short = estimate(task, [MODEL], Budget(max_turns=10)).upper.cost.prompt_tokens
    long = estimate(task, [MODEL], Budget(max_turns=20)).upper.cost.prompt_tokens
    assert long > 3 * short


def test_a_window_bounds_what_is_sent(task):
    wide = estimate(task, [MODEL], Budget()).upper.cost
    narrow = estimate(task, [replace(MODEL, context_tokens=32_768)], Budget()).upper.cost
    assert narrow.prompt_tokens < 200 * 32_768 < wide.prompt_tokens


def test_a_longer_task_costs_more(task):
    longer = replace(task, source=task.source * 4000)
    assert (
        estimate(longer, [MODEL], Budget()).lower.cost.usd
        > 2 * estimate(task, [MODEL], Budget()).lower.cost.usd
    )


def test_rules_cost_only_time(task):
    found = estimate(task, [Model(name="builtin", reads_tokens=False)], Budget(max_wall_s=60.0))
    text = estimate_text(found)
    assert found.upper.cost.usd == 0
    assert found.upper.cost.prompt_tokens == 0
    assert "tokens" not in text
    assert "time:" in text
    assert found.warning is None


def test_an_own_model_costs_tokens_and_no_money(task):
    assert "money: none" in estimate_text(estimate(task, [Model(name="local:m")], Budget()))


def test_an_unknown_price_is_said_to_be_unknown(task):
    text = estimate_text(estimate(task, [MODEL, Model(name="openai:odd", price=None)], Budget()))
    assert "money: the price of openai:odd is not known" in text


def test_caps_are_set_against_what_a_run_takes(task):
    found = estimate(task, [MODEL], Budget(max_usd=5.0))
    assert found.lower_capped.stop is None
    assert found.upper_capped.stop is StopReason.MONEY
    assert found.upper_capped.num_turns < 200
    text = estimate_text(found)
    assert "limits: 5.00 USD; in the lower case all 12 turns are within them" in text
    assert "in the upper case that on money ends it after about" in text
    assert found.warning is None


def test_a_budget_that_cannot_pay_for_all_attempts_is_warned_of(task):
    enough = estimate(task, [MODEL], Budget(max_usd=1.0))
    scarce = estimate(task, [MODEL] * 20, Budget(max_usd=1.0))
    assert enough.warning is None
    assert scarce.warning is not None
    assert scarce.warning.startswith("the limit on money ends each of 20 attempts after about")
    assert "warning: the limit on money" in estimate_text(scarce)


def test_attempts_add_up_but_for_the_time_in_which_they_write(task):
    one, four = (estimate(task, [MODEL] * count, Budget()).lower.cost for count in (1, 4))
    assert four.usd == pytest.approx(4 * one.usd)
    assert four.wall_s < 4 * one.wall_s


@pytest.mark.parametrize("max_turns", [1, 5])
def test_few_turns_bound_both_cases(task, max_turns):
    found = estimate(task, [MODEL], Budget(max_turns=max_turns))
    assert found.lower.num_turns == found.upper.num_turns == max_turns
    assert found.warning is None
