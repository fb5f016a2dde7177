"""The kinds of policy, by name. Nothing heavy is imported until one is made."""

from collections.abc import Callable

from warpsmith.core import UsageError
from warpsmith.policy.base import INVALID_ARGUMENTS, Policy, PolicyConfig, Reply

__all__ = ["INVALID_ARGUMENTS", "POLICIES", "Policy", "PolicyConfig", "Reply", "make_policy"]


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


def _scripted(argument: str, _config: PolicyConfig) -> Policy:
    if not argument:
        raise UsageError("the scripted policy needs a JSON file of messages; write scripted:PATH")
    from warpsmith.policy.scripted import ScriptedPolicy

    return ScriptedPolicy.from_file(argument)


POLICIES: dict[str, Callable[[str, PolicyConfig], Policy]] = {
    "builtin": _builtin,
    "openai": _openai,
    "scripted": _scripted,
}

_SPECS = "builtin, openai:NAME or scripted:PATH"


def make_policy(spec: str, config: PolicyConfig | None = None) -> Policy:
    """The policy that `spec` names. Raises UsageError for an unknown kind or a missing argument."""
    kind, _, argument = spec.partition(":")
    if kind not in POLICIES:
        raise UsageError(f"unknown policy {spec!r}; choose {_SPECS}")
    return POLICIES[kind](argument, config or PolicyConfig())
