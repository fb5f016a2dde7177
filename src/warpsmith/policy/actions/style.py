"""The three ways to say what shall be done, and what a model must be told to use them."""

import json
from enum import StrEnum
from typing import Any

from warpsmith.core import ToolSpec, UsageError


class Style(StrEnum):
    """How a model calls tools."""

    TOOLS = "tools"  # its own way, which the endpoint or the chat template knows
    JSON = "json"  # each reply is one JSON object
    FILES = "files"  # each reply is whole files; for models that can do neither

    @classmethod
    def of(cls, name: str) -> "Style | None":
        """The style called `name`; None for "auto". Raises UsageError for any other name."""
        if name == "auto":
            return None
        if name not in list(cls):
            raise UsageError(f"unknown style {name!r}; choose auto, {', '.join(cls)}")
        return cls(name)


def instructions(style: Style, tools: tuple[ToolSpec, ...]) -> str:
    """What the system message must add for a model that is told of its tools in plain text."""
    match style:
        case Style.TOOLS:
            return _tool_text(tools)
        case Style.JSON:
            return _json_text(tools)
        case Style.FILES:
            return FILES_TEXT


def schema(tools: tuple[ToolSpec, ...]) -> dict[str, Any]:
    """The JSON schema of one reply in the JSON style. Endpoints that enforce it leave no room for a slip."""
    calls = [
        _closed_object({"tool": {"type": "string", "enum": [tool.name]}, "arguments": tool.parameters})
        for tool in tools
    ]
    items: dict[str, Any] = {"anyOf": calls} if calls else {"type": "object"}
    return _closed_object({"say": {"type": "string"}, "calls": {"type": "array", "items": items}})


def _closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _tool_text(tools: tuple[ToolSpec, ...]) -> str:
    lines = [
        json.dumps({"type": "function", "function": _function(tool)}, ensure_ascii=False) for tool in tools
    ]
    return "\n".join(
        [
            "# Tools",
            "",
            "You may call tools. They are, as JSON schemas:",
            "<tools>",
            *lines,
            "</tools>",
            "",
            "For each call write its name and arguments as JSON between these tags:",
            "<tool_call>",
            '{"name": "the tool", "arguments": {"its": "arguments"}}',
            "</tool_call>",
            "",
            "A reply without a call ends the work.",
        ]
    )


def _json_text(tools: tuple[ToolSpec, ...]) -> str:
    described = [f"- {tool.name}: {tool.description} Arguments: {_arguments_text(tool)}" for tool in tools]
    return "\n".join(
        [
            "# How to answer",
            "",
            "Answer with one JSON object and nothing around it:",
            '{"say": "what you think and plan", "calls": [{"tool": "its name", "arguments": {}}]}',
            "",
            "The tools are:",
            *described,
            "",
            "The calls are run in order and the next message brings their results. Newlines inside a string "
            'are written \\n. An empty list, "calls": [], ends the work.',
        ]
    )


def _arguments_text(tool: ToolSpec) -> str:
    properties = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", [])
    return json.dumps(
        {
            name + ("" if name in required else " (optional)"): _kind_text(kind)
            for name, kind in properties.items()
        },
        ensure_ascii=False,
    )


def _kind_text(kind: dict[str, Any]) -> Any:
    """A plain type by its words; a list or object by its schema, since words would not do."""
    if kind.get("type") in ("array", "object"):
        return kind
    return f"{kind.get('type', 'any')}: {kind.get('description', '')}".rstrip(": ")


def _function(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


FILES_TEXT = """# How to answer

You call no tools here: they are run for you. Answer with whole files, each in a fenced block with its path on
the line above, like this:

kernels/scale.cu
```cuda
the whole text of the file
```

model_new.py
```python
the whole text of the file
```

The files are written, compiled, verified and timed, and the next message says what came of it. A file that
you do not repeat stays as it is; one that you change is given whole, never in part. An answer without such a
block ends the work."""
