"""What a tool is: a description for the policy, and what it does with a call's arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from warpsmith.agent.judging import Judging
from warpsmith.agent.workspace import Refused, Workspace
from warpsmith.core import Solution, ToolSpec

MAX_TEXT = 6_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the tools work on."""

    workspace: Workspace
    judge: Judging
    keep_log: Callable[[str, str], None]  # digest, what the compiler said


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


def parameters(required: dict[str, str], optional: dict[str, str] | None = None) -> dict[str, Any]:
    """A JSON schema: name -> "type: description"."""
    described = {**required, **(optional or {})}
    properties = {}
    for name, text in described.items():
        kind, _, description = text.partition(": ")
        properties[name] = {"type": kind, "description": description}
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


JSON_TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "number": (int, float), "integer": (int,)}


def check_arguments(spec: ToolSpec, arguments: dict[str, Any]) -> None:
    """Raises Refused, naming what is accepted, unless the arguments fit the tool."""
    properties = spec.parameters["properties"]
    for name, value in arguments.items():
        if name not in properties:
            raise Refused(f"unknown argument {name!r}; {_usage(spec)}")
        kind = properties[name]["type"]
        if not isinstance(value, JSON_TYPES[kind]) or isinstance(value, bool):
            raise Refused(f"{name} must be a {kind}, not {value!r:.60}; {_usage(spec)}")
    missing = [name for name in spec.parameters["required"] if name not in arguments]
    if missing:
        raise Refused(f"missing argument {', '.join(missing)}; {_usage(spec)}")


def _usage(spec: ToolSpec) -> str:
    required = spec.parameters["required"]
    accepted = [
        f"{name} ({schema['type']}{'' if name in required else ', optional'})"
        for name, schema in spec.parameters["properties"].items()
    ]
    return f"{spec.name} takes {', '.join(accepted) or 'no arguments'}"


def shortened(text: str, limit: int = MAX_TEXT) -> str:
    """`text`, or its head and tail with the number of characters left out between them."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
