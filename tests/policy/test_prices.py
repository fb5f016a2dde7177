"""What is charged for a model, known offline."""

import pytest

from warpsmith.policy import PolicyConfig, Price
from warpsmith.policy.prices import PRICES, is_local, price_for, price_of


def test_a_price_is_for_a_million_tokens():
    price = price_of("gpt-4o")
    assert price.usd(1_000_000, 0) == price.prompt_usd
    assert price.usd(0, 500_000) == price.completion_usd / 2


@pytest.mark.parametrize("price", PRICES.values(), ids=PRICES)
def test_each_price_says_where_and_when_it_was_seen(price):
    assert price.source
    assert price.seen.startswith("2026-")
    assert 0 < price.prompt_usd < price.completion_usd


@pytest.mark.parametrize(
    ("snapshot", "model"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("claude-opus-4-1-20250805", "claude-opus-4-1"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
    ],
)
def test_a_dated_name_has_its_model_s_price(snapshot, model):
    assert price_of(snapshot) == price_of(model)


@pytest.mark.parametrize("model", ["", "gpt", "gpt-4o-mini-tuned", "qwen", "gpt-4o-audio"])
def test_a_model_that_is_not_known_has_no_price(model):
    assert price_of(model) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:8000/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://192.168.1.7:11434/v1", True),
        ("http://gpubox:8000/v1", True),
        ("http://gpubox.local/v1", True),
        ("https://api.deepseek.com", False),
        ("https://8.8.8.8/v1", False),
        ("http://[x", False),
    ],
)
def test_a_server_of_one_s_own_is_told_from_a_vendor_s(url, expected):
    assert is_local(url) is expected


def test_a_given_price_counts_before_all_others():
    config = PolicyConfig(base_url="http://localhost/v1", price=Price(prompt_usd=3.0))
    assert price_for(config, "gpt-4o").prompt_usd == 3.0


def test_a_server_of_one_s_own_charges_nothing_and_a_vendor_s_unknown_model_is_unknown():
    assert price_for(PolicyConfig(base_url="http://localhost/v1"), "qwen").usd(10**9, 10**9) == 0.0
    assert price_for(PolicyConfig(base_url="https://api.vendor.com/v1"), "qwen") is None
    assert price_for(PolicyConfig(), "gpt-4o") == price_of("gpt-4o")
