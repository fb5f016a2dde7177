"""Whether a call's arguments fit the tool; if not, what would."""

from collections.abc import Sequence
from typing import Any

from warpsmith.agent.tools.base import Schema
from warpsmith.agent.workspace.folder import Refused
from warpsmith.core import ToolSpec

JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
}


def check_arguments(spec: ToolSpec, arguments: dict[str, Any]) -> None:
    """Raises Refused, naming what is accepted, unless the arguments fit the tool."""
    why_not = _why_not_object(spec.parameters, arguments, "")
    if why_not is not None:
        raise Refused(f"{why_not}; {spec.name} takes {_described(spec.parameters)}")


def _why_not(schema: Schema, value: Any, name: str) -> str | None:
    """What is wrong with `value`, called `name`, if anything is."""
    kind = schema["type"]
    is_flag = isinstance(value, bool)  # which Python counts among the integers
    if not isinstance(value, JSON_TYPES[kind]) or is_flag != (kind == "boolean"):
        return f"{name} must be {_with_article(kind)}, not {value!r:.60}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{name} must be one of {', '.join(schema['enum'])}, not {value!r:.60}"
    if isinstance(value, list | tuple):
        return _why_not_array(schema, value, name)
    return _why_not_object(schema, value, f"{name}.") if isinstance(value, dict) else None


def _why_not_array(schema: Schema, values: Sequence[Any], name: str) -> str | None:
    least, most = schema["minItems"], schema["maxItems"]
    if not least <= len(values) <= most:
        return f"{name} must have from {least} to {most} items, not {len(values)}"
    found = (_why_not(schema["items"], value, f"{name}[{index}]") for index, value in enumerate(values))
    return next((why_not for why_not in found if why_not is not None), None)


def _why_not_object(schema: Schema, values: dict[str, Any], prefix: str) -> str | None:
    properties = schema["properties"]
    for name, value in values.items():
        if name not in properties:
            return f"unknown argument {f'{prefix}{name}'!r:.80}"
        why_not = _why_not(properties[name], value, f"{prefix}{name}")
        if why_not is not None:
            return why_not
    missing = [f"{prefix}{name}" for name in schema["required"] if name not in values]
    return f"missing argument {', '.join(missing)}" if missing else None


def _described(schema: Schema) -> str:
    """An object's fields: "path (string), first_line (integer, optional)"."""
    required = schema["required"]
    fields = [
        f"{name} ({_kind(field)}{'' if name in required else ', optional'})"
        for name, field in schema["properties"].items()
    ]
    return ", ".join(fields) or "no arguments"


def _kind(schema: Schema) -> str:
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if schema["type"] == "array":
        return f"list of objects, each with {_described(schema['items'])}"
    return str(schema["type"])


def _with_article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"
