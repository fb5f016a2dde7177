"""Making a conversation fit its policy's window, with what is left out kept in the workspace."""

from collections.abc import Sequence
from pathlib import PurePath

from warpsmith.agent.events import Compacted
from warpsmith.agent.tools import SPECS
from warpsmith.agent.window.context import Dropped, Keep, fitted
from warpsmith.agent.window.history import FOLDER
from warpsmith.agent.window.tokens import message_tokens, room_tokens
from warpsmith.agent.workspace.beneath import write_bytes
from warpsmith.agent.workspace.folder import OUR_FAULT, Workspace
from warpsmith.core import InfraError, Message
from warpsmith.policy import PolicyConfig


def compacted(
    context: Sequence[Message], context_tokens: int | None, config: PolicyConfig, workspace: Workspace
) -> Compacted | None:
    """What the policy shall hear instead of `context`; None if it fits, or cannot be made any shorter.

    What is left out lies in the workspace before this returns. Raises InfraError if the disk refuses.
    """
    if context_tokens is None:
        return None
    room = room_tokens(context_tokens, SPECS, config.sampling.max_tokens)
    made = fitted(context, room, Keep(feeds_thinking=config.feeds_thinking))
    if made.context == tuple(range(len(context))):
        return None
    for dropped in made.dropped:
        _keep(dropped, workspace)
    before = sum(message_tokens(message, with_thinking=config.feeds_thinking) for message in context)
    return Compacted(context=made.context, num_tokens=before, kept_in=FOLDER)


def _keep(dropped: Dropped, workspace: Workspace) -> None:
    """A policy that has put something else in the way of the file does without it."""
    path = workspace.root / dropped.path
    try:
        write_bytes(workspace.root, PurePath(dropped.path), dropped.text.encode())
    except OSError as error:
        if error.errno in OUR_FAULT:
            raise InfraError(f"{path} cannot be written ({error.strerror})") from error
