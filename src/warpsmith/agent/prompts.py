"""What a policy is told that is no answer to a call of its own."""

from warpsmith.agent.episode import MAX_SAME
from warpsmith.agent.events import Said
from warpsmith.agent.workspace.folder import REFERENCE, skill_text
from warpsmith.core import Message, Role, Task

GO_ON = "That was not the end: go on from here and make the program faster still."
ELSEWHERE = (
    "From here on programs are judged on another device: {device}. The times measured so far do not hold "
    "for it; the workspace is as it was. Go on from here: profile again, and make the program faster."
)
CUT = (
    "Your reply was cut off at its token limit; what came after that is lost. Say less in one reply: write "
    "one file at a time, or change a file with edit."
)
EMPTY = "Your reply was empty. Call a tool to go on; if you are done, say in a sentence what you have found."
SAME = (
    "You have now said the same {num_same} times in a row. Nothing new will come of it: look at the answers "
    "and try something else, or say in a sentence what you have found and call no tool."
)


def opening(task: Task) -> tuple[Message, ...]:
    """The guide, and the task with its reference."""
    text = (
        f"Make the module in {REFERENCE} faster (task {task.task_id}). It is, in full:\n\n"
        f"```python\n{task.source.rstrip()}\n```\n\n"
        f"You stand in the workspace. Write model_new.py and kernels/, compile, verify, profile, improve; "
        f"answer without a tool call when you are done."
    )
    return Message(role=Role.SYSTEM, text=skill_text()), from_user(text)


def nudge_text(said: Said, num_same: int) -> str | None:
    """What the policy has to be told about a reply that leads nowhere; None for the others."""
    message = said.message
    if said.is_cut:
        return CUT
    if not message.tool_calls and not message.text.strip():
        return EMPTY
    return SAME.format(num_same=num_same) if message.tool_calls and num_same >= MAX_SAME else None


def from_user(text: str) -> Message:
    return Message(role=Role.USER, text=text)
