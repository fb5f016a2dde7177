"""A run said again from its folder: the same replies without a model, a key or a cost."""

import json
from pathlib import Path
from typing import Any, Self

from warpsmith.core import Cost, InfraError, Message, Role, ToolSpec, UsageError
from warpsmith.core.codec import from_data
from warpsmith.policy.base import Reply

TRAJECTORY = "trajectory.jsonl"


class ReplayPolicy:
    """Says the assistant's messages of a recorded conversation in order, then that it has finished.

    It goes on when the tools answer otherwise than they did: `num_differing` counts those answers. Times
    differ from run to run, so a count above zero is no fault by itself.
    """

    def __init__(self, recorded: tuple[Message, ...], name: str = "replay") -> None:
        self.name = name
        self.context_tokens: int | None = None
        self.num_differing = 0
        self._replies = tuple(message for message in recorded if message.role is Role.ASSISTANT)
        self._answers = _answers_by_turn(recorded)
        self._num_said = 0

    @classmethod
    def from_run(cls, run: str) -> Self:
        """Raises UsageError if there is no such run, or its record cannot be read."""
        folder = Path(run)
        path = folder / TRAJECTORY if folder.is_dir() else folder
        return cls(_recorded(path), name=f"replay:{run}")

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:  # noqa: ARG002
        """The next recorded reply. A conversation that has begun is taken up where it stands."""
        if not messages:
            raise InfraError("a conversation opens with a message to the policy; this one is empty")
        turn = sum(message.role is Role.ASSISTANT for message in messages)
        if self._num_said:
            self._compare(messages, turn)
        self._num_said += 1
        if turn < len(self._replies):
            return Reply(message=self._replies[turn], cost=Cost())
        done = Message(role=Role.ASSISTANT, text=f"The record has ended after {len(self._replies)} replies.")
        return Reply(message=done, cost=Cost())

    def _compare(self, messages: tuple[Message, ...], turn: int) -> None:
        """Count the answers to the latest reply that differ from the recorded ones."""
        since = max(index for index, message in enumerate(messages) if message.role is Role.ASSISTANT)
        now = [message.text for message in messages[since + 1 :] if message.role is Role.TOOL]
        then = self._answers[turn - 1] if turn <= len(self._answers) else []
        same = sum(one == other for one, other in zip(now, then, strict=False))
        self.num_differing += max(len(now), len(then)) - same


def _answers_by_turn(recorded: tuple[Message, ...]) -> list[list[str]]:
    turns: list[list[str]] = []
    for message in recorded:
        if message.role is Role.ASSISTANT:
            turns.append([])
        elif message.role is Role.TOOL and turns:
            turns[-1].append(message.text)
    return turns


def _recorded(path: Path) -> tuple[Message, ...]:
    """The messages of a record. A last line without its end is what a kill leaves: it was never said."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read ({error}); write replay:RUN, a run's folder") from error
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()
    recorded: list[Message] = []
    for number, line in enumerate(lines, 1):
        event = _event(line, f"{path}:{number}")
        if event.get("type") == "Resumed":
            recorded = _until_turn(recorded, event.get("turn"))
        elif event.get("type") == "Handed":
            raise UsageError(
                f"{path} is a team's run; a recording of several conversations cannot be replayed"
            )
        elif event.get("type") == "Said":
            recorded.append(_message(event, f"{path}:{number}"))
    if not any(message.role is Role.ASSISTANT for message in recorded):
        raise UsageError(f"{path} records no reply of a policy; nothing can be replayed")
    return tuple(recorded)


def _until_turn(recorded: list[Message], turn: Any) -> list[Message]:
    """A run that went on after a kill: what it had said since the end of that turn does not count."""
    begun = [index for index, message in enumerate(recorded) if message.role is Role.ASSISTANT]
    is_shorter = isinstance(turn, int) and 0 <= turn < len(begun)
    return recorded[: begun[turn]] if is_shorter else recorded


def _event(line: str, where: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is damaged ({error!s:.200}); nothing can be replayed") from error
    if not isinstance(event, dict):
        raise UsageError(f"{where} is damaged (not an object); nothing can be replayed")
    return event


def _message(event: dict[str, Any], where: str) -> Message:
    """Without its verdict: a policy reads the text."""
    try:
        return from_data(Message, {**event["message"], "verdict": None})
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"{where} is damaged ({error!s:.200}); nothing can be replayed") from error
