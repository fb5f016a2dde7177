"""A client of an OpenAI-compatible endpoint."""

from typing import TYPE_CHECKING

from warpsmith.policy.base import PolicyConfig
from warpsmith.policy.endpoint.asking import Asking, Clock
from warpsmith.policy.endpoint.client import bounded_client, key_of, require, url_of

if TYPE_CHECKING:
    import openai

VENDOR_URL = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"


def connect(model: str, config: PolicyConfig, clock: Clock) -> tuple["openai.OpenAI", Asking]:
    """A client of the endpoint that `config` names. Raises EnvironmentMissing, UsageError."""
    for package in ("openai", "tenacity"):
        require(package, "openai")
    import openai

    variable = config.api_key_env or KEY
    key = key_of(variable, config)
    url = url_of(config, VENDOR_URL)
    client = openai.OpenAI(
        api_key=key or "none",
        base_url=url,
        max_retries=0,  # ours: they are counted and jittered
        timeout=config.timeout_s,
        http_client=bounded_client(openai, config.timeout_s),
    )
    asking = Asking("openai", str(client.base_url), model, variable, config, clock)
    return client, asking.keeping_secret(key)
