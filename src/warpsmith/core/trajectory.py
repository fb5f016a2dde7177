"""What an agent did: messages, tool calls with their results, verdicts, and what it cost."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from warpsmith.core.candidate import Candidate
from warpsmith.core.verdict import Verdict


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A policy's wish to use a tool; `arguments` is what JSON gave."""

    call_id: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. A tool's answer carries the call's id, and the verdict when it judged something."""

    role: Role
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    verdict: Verdict | None = None
    thinking: str = ""  # what a model reasoned before it spoke; kept, and not said again to it unless asked


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a policy sees it: `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What was spent. Costs add up."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    gpu_s: float = 0.0
    wall_s: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            usd=self.usd + other.usd,
            gpu_s=self.gpu_s + other.gpu_s,
            wall_s=self.wall_s + other.wall_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One reply of the policy and the tools' answers to it."""

    reply: Message
    answers: tuple[Message, ...]
    cost: Cost


class StopReason(StrEnum):
    """Why an episode ended."""

    FINISHED = "finished"  # the policy called no tool
    TURNS = "turns"
    TOKENS = "tokens"
    TIME = "time"
    MONEY = "money"
    GPU = "gpu"  # seconds on it
    PATIENCE = "patience"  # so many verdicts without a faster program
    STUCK = "stuck"  # the policy says the same again and again, or nothing
    POLICY = "policy"  # it could not be asked any more; what it had written counts
    INTERRUPTED = "interrupted"  # Ctrl-C; the best so far is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """A candidate with the verdict that the judge gave on it."""

    candidate: Candidate
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """A whole episode on one task; the best solution anywhere in it counts."""

    task_id: str
    turns: tuple[Turn, ...]
    best: Solution | None
    stop: StopReason
    cost: Cost
