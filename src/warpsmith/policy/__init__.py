"""The kinds of policy, by name. Nothing heavy is imported until one is made."""

from collections.abc import Callable

from warpsmith.core import UsageError
from warpsmith.policy.base import (
    INVALID_ARGUMENTS,
    Policy,
    PolicyConfig,
    Price,
    Reply,
    Sampling,
    Tokens,
)

__all__ = [
    "INVALID_ARGUMENTS",
    "POLICIES",
    "Policy",
    "PolicyConfig",
    "Price",
    "Reply",
    "Sampling",
    "Tokens",
    "make_policy",
]


def _builtin(argument: str, config: PolicyConfig) -> Policy:
    if argument:
        raise UsageError(f"the builtin policy takes no argument; write builtin, not builtin:{argument}")
    from warpsmith.policy.builtin.engineer import BuiltinPolicy  # imports torch

    return BuiltinPolicy(config)


def _openai(argument: str, config: PolicyConfig) -> Policy:
    if not argument:
        raise UsageError("the openai policy needs a model's name; write openai:NAME")
    from warpsmith.policy.openai import OpenAIPolicy

    return OpenAIPolicy(argument, config)


def _anthropic(argument: str, config: PolicyConfig) -> Policy:
    if not argument:
        raise UsageError("the anthropic policy needs a model's name; write anthropic:NAME")
    from warpsmith.policy.anthropic import AnthropicPolicy

    return AnthropicPolicy(argument, config)


def _local(argument: str, config: PolicyConfig) -> Policy:
    if not argument:
        raise UsageError("the local policy needs a model's folder or GGUF file; write local:PATH")
    from warpsmith.policy.local import LocalPolicy

    return LocalPolicy(argument, config)


def _replay(argument: str, _config: PolicyConfig) -> Policy:
    if not argument:
        raise UsageError("the replay policy needs the folder of a run; write replay:RUN")
    from warpsmith.policy.replay import ReplayPolicy

    return ReplayPolicy.from_run(argument)


def _scripted(argument: str, _config: PolicyConfig) -> Policy:
    if not argument:
        raise UsageError("the scripted policy needs a JSON file of messages; write scripted:PATH")
    from warpsmith.policy.scripted import ScriptedPolicy

    return ScriptedPolicy.from_file(argument)


POLICIES: dict[str, Callable[[str, PolicyConfig], Policy]] = {
    "builtin": _builtin,
    "openai": _openai,
    "anthropic": _anthropic,
    "local": _local,
    "replay": _replay,
    "scripted": _scripted,
}

_SPECS = "builtin, openai:NAME, anthropic:NAME, local:PATH, replay:RUN or scripted:PATH"


def make_policy(spec: str, config: PolicyConfig | None = None) -> Policy:
    """The policy that `spec` names. Raises UsageError for an unknown kind or a missing argument."""
    kind, _, argument = spec.partition(":")
    if kind not in POLICIES:
        raise UsageError(f"unknown model {spec!r}; choose {_SPECS}")
    return POLICIES[kind](argument, config or PolicyConfig())
