"""What a tool is: a description for the policy, and what it does with a call's arguments."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from warpsmith.agent.judging import Judging
from warpsmith.agent.tools.jobs import Jobs
from warpsmith.agent.workspace.folder import Workspace
from warpsmith.core import Solution, ToolSpec

MAX_TEXT = 6_000
MAX_NAMED = 8

Schema = dict[str, Any]
"""A JSON schema, of the part that `check_arguments` knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to be done."""

    text: str
    status: str


@dataclass(slots=True, kw_only=True)
class Context:
    """What the tools of one episode work on, and what they remember. `close` must be called.

    Close it before anything is timed after the last call of a tool: a background job would be timed along.
    """

    workspace: Workspace
    judge: Judging
    keep_log: Callable[[str, str], None]  # digest, what the compiler said
    jobs: Jobs = field(default_factory=Jobs)
    todo: tuple[Item, ...] = ()

    def close(self) -> None:
        """End every background job. A second call does nothing."""
        self.jobs.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the policy is told, and the judged program if the tool judged one."""

    text: str
    solution: Solution | None = None


class Tool(Protocol):
    """One thing a policy can do. Raises Refused for what it won't do, InfraError when we failed."""

    spec: ToolSpec

    def call(self, arguments: dict[str, Any], context: Context, /) -> Answer:
        """`arguments` fit `spec.parameters`."""
        ...


def parameters(required: dict[str, str | Schema], optional: dict[str, str | Schema] | None = None) -> Schema:
    """The schema of an object: name -> "type: description", or a schema."""
    return {
        "type": "object",
        "properties": {name: _schema(given) for name, given in {**required, **(optional or {})}.items()},
        "required": list(required),
        "additionalProperties": False,
    }


def array(description: str, items: Schema, *, at_least: int, at_most: int) -> Schema:
    """The schema of a list."""
    bounds = {"minItems": at_least, "maxItems": at_most}
    return {"type": "array", "description": description, "items": items, **bounds}


def _schema(given: str | Schema) -> Schema:
    if isinstance(given, dict):
        return given
    kind, _, description = given.partition(": ")
    return {"type": kind, "description": description}


def shortened(text: str, limit: int = MAX_TEXT) -> str:
    """`text`, or its head and tail with the number of characters left out between them."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def strays_note(workspace: Workspace) -> str:
    """What of the workspace the judge did not look at, if one could expect it to; a line, or nothing."""
    names = workspace.strays()
    if not names:
        return ""
    rest = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    listed = ", ".join(name[:100].encode("unicode_escape").decode() for name in names[:MAX_NAMED])
    return f"\nnote: the program is model_new.py and kernels/ alone; the judge does not see {listed}{rest}"
