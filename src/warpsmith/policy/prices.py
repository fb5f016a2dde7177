"""What well-known models cost, so that a budget in USD binds without a look at the network.

A price that is billed by the hour or by the length of the prompt stands here at its highest: a cap must hold.
Cached tokens are counted at the full price, for the same reason.
"""

import ipaddress
import re
from urllib.parse import urlsplit

from warpsmith.policy.base import PolicyConfig, Price

SEEN = "2026-12-01"
ANTHROPIC = "platform.claude.com/docs/en/about-claude/pricing and /docs/en/models/overview"
ANTHROPIC_OLD = "docs.anthropic.com/en/docs/about-claude/pricing"
OPENAI = "deploybase.ai/articles/openai-pricing, which quotes OpenAI's pricing page of 2026-03"
GITHUB = "github/docs data/tables/copilot/models-and-pricing.yml"
DEEPSEEK = "api-docs.deepseek.com/quick_start/pricing (peak hours)"

SNAPSHOT = re.compile(r"-(?:latest|\d{4}-?\d{2}-?\d{2})$")
LOCAL_ENDINGS = (".local", ".internal", ".lan", ".localdomain")


_TABLE: tuple[tuple[str, tuple[str, ...], float, float], ...] = (
    (ANTHROPIC, ("claude-fable-5-2",), 8.0, 40.0),
    (ANTHROPIC, ("claude-fable-5-1", "claude-fable-5"), 10.0, 50.0),
    (ANTHROPIC, ("claude-opus-5-5",), 4.0, 20.0),
    (ANTHROPIC, ("claude-opus-5", "claude-opus-4-8", "claude-opus-4-7"), 5.0, 25.0),
    (ANTHROPIC, ("claude-opus-4-6", "claude-opus-4-5"), 5.0, 25.0),
    (ANTHROPIC, ("claude-opus-4-1", "claude-opus-4"), 15.0, 75.0),
    (ANTHROPIC, ("claude-sonnet-5-5", "claude-sonnet-5"), 2.0, 10.0),
    (ANTHROPIC, ("claude-haiku-4-5",), 1.0, 5.0),
    (ANTHROPIC_OLD, ("claude-3-5-haiku",), 0.8, 4.0),
    (OPENAI, ("gpt-5.4",), 2.5, 15.0),
    (GITHUB, ("gpt-5.2", "gpt-5.2-codex", "gpt-5.3-codex"), 1.75, 14.0),
    (OPENAI, ("gpt-5.1", "gpt-5", "gpt-5-codex"), 1.25, 10.0),
    (OPENAI, ("gpt-5-pro",), 15.0, 120.0),
    (OPENAI, ("gpt-5-mini",), 0.25, 2.0),
    (OPENAI, ("gpt-5-nano",), 0.05, 0.4),
    (OPENAI, ("gpt-4.1", "o3"), 2.0, 8.0),
    (OPENAI, ("gpt-4.1-mini",), 0.4, 1.6),
    (OPENAI, ("gpt-4.1-nano",), 0.1, 0.4),
    (OPENAI, ("gpt-4o",), 2.5, 10.0),
    (OPENAI, ("gpt-4o-mini",), 0.15, 0.6),
    (OPENAI, ("o3-mini", "o4-mini"), 1.1, 4.4),
    (DEEPSEEK, ("deepseek-v4-pro",), 1.32, 3.96),
    (DEEPSEEK, ("deepseek-flash", "deepseek-v4-flash"), 0.3, 1.2),
)

PRICES = {
    name: Price(prompt_usd=prompt, completion_usd=completion, source=source, seen=SEEN)
    for source, names, prompt, completion in _TABLE
    for name in names
}


def price_of(model: str) -> Price | None:
    """The price of a model, or of the one that a dated name is a snapshot of; None if it is not known."""
    return PRICES.get(model) or PRICES.get(SNAPSHOT.sub("", model))


def price_for(config: PolicyConfig, model: str) -> Price | None:
    """The price that was given, nothing for a server of one's own, or else the model's as it is known."""
    if config.price is not None:
        return config.price
    if config.base_url is not None and is_local(config.base_url):
        return Price(source="a server of one's own")
    return price_of(model)


def is_local(url: str) -> bool:
    """Whether `url` is on this machine or in its own network."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith(LOCAL_ENDINGS)
