"""Who writes: messages and tools in, one message out."""

from dataclasses import dataclass, field
from typing import Protocol

from warpsmith.core import Cost, Message, Precision, ToolSpec
from warpsmith.device.base import Gpu
from warpsmith.device.gpus import GPUS

INVALID_ARGUMENTS = "invalid_arguments"
"""The one argument of a tool call whose arguments could not be read: its value says why. No tool takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How one reply is drawn. None leaves the choice to the endpoint: some models refuse any other."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int = 16_384  # of one reply
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What a local model read and drew, for training on it."""

    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]  # the drawn ones, the end of the turn included
    logprobs: tuple[float, ...]  # of `ids`, one each


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a policy said, and what saying it cost."""

    message: Message
    cost: Cost
    tokens: Tokens | None = None  # None: the policy does not see them
    is_cut: bool = False  # it ended because it may not be longer, not because all was said


class Policy(Protocol):
    """One voice in one conversation."""

    name: str
    context_tokens: int | None
    """How much it can read; None has no limit, and its conversation is never compacted."""

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        """The next message of the assistant; one without tool calls ends the conversation.

        Raises InfraError when no answer could be had, EnvironmentMissing if none can be had on this machine.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """USD for a million tokens, nothing for a model of one's own. `source` says where it was found."""

    prompt_usd: float = 0.0
    completion_usd: float = 0.0
    source: str = ""
    seen: str = ""  # when

    def usd(self, prompt_tokens: float, completion_tokens: float) -> float:
        return (prompt_tokens * self.prompt_usd + completion_tokens * self.completion_usd) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyConfig:
    """What the kinds of policy can be told; each reads what concerns it."""

    base_url: str | None = None  # an OpenAI-compatible endpoint; None = the vendor's own
    api_key_env: str | None = None  # the variable that holds the key; None = the vendor's usual one
    sampling: Sampling = field(default_factory=Sampling)
    style: str = "auto"  # how the model calls tools: tools, json or files; auto finds out
    feeds_thinking: bool = False  # say a model's own reasoning to it again; most are trained without
    context_tokens: int | None = None  # what the model can read; None = as the endpoint tells
    timeout_s: float = 600.0  # of one request; long, since a reasoning model may think for minutes
    max_attempts: int = 5
    retry_wait_s: float = 1.0  # before the second attempt; doubles from there, with jitter
    requests_per_minute: float | None = None  # ours, for an endpoint that punishes haste; None = no limit
    price: Price | None = None  # what it charges; None = as it is known, or nothing
    gpu: Gpu = GPUS["h200"]  # whose peaks the builtin policy plans with
    precision: Precision = Precision.REFERENCE  # what rounding the builtin policy may propose
