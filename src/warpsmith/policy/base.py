"""Who writes: messages and tools in, one message out."""

from dataclasses import dataclass
from typing import Protocol

from warpsmith.core import Cost, Message, Precision, ToolSpec
from warpsmith.device.base import Gpu
from warpsmith.device.gpus import GPUS

INVALID_ARGUMENTS = "invalid_arguments"
"""The one argument of a tool call whose arguments could not be read: its value says why. No tool takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a policy said, and what saying it cost."""

    message: Message
    cost: Cost


class Policy(Protocol):
    """One voice in one conversation."""

    name: str

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        """The next message of the assistant; one without tool calls ends the conversation.

        Raises InfraError when no answer could be had, EnvironmentMissing if none can be had on this machine.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyConfig:
    """What the kinds of policy can be told; each reads what concerns it."""

    base_url: str | None = None  # an OpenAI-compatible endpoint; None = api.openai.com
    api_key_env: str = "OPENAI_API_KEY"  # the variable that holds the key; a local server needs none
    temperature: float | None = None  # None = the endpoint's own; some models refuse any other
    max_tokens: int = 16_384  # of one reply
    timeout_s: float = 600.0  # of one request; long, since a reasoning model may think for minutes
    max_attempts: int = 5
    retry_wait_s: float = 1.0  # before the second attempt; doubles from there, with jitter
    usd_per_million_prompt_tokens: float = 0.0
    usd_per_million_completion_tokens: float = 0.0
    gpu: Gpu = GPUS["h200"]  # whose peaks the builtin policy plans with
    precision: Precision = Precision.REFERENCE  # what rounding the builtin policy may propose
