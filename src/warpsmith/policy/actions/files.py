"""Whole files in a reply's text: blocks headed by a path become calls of write, then one of profile."""

import re

from warpsmith.core import ToolCall, ToolSpec
from warpsmith.policy.actions.calls import Found, calls_in
from warpsmith.policy.actions.fences import Block, blocks_in
from warpsmith.policy.base import INVALID_ARGUMENTS

WRITE, JUDGE = "write", "profile"
PATH = re.compile(
    r"(?<![\w./-])((?:[\w.-]+/)*[\w-][\w.-]*\.(?:cuh|cu|cpp|cc|hpp|h|py|txt|md|json|sh))(?![\w/])"
)
COMMENT = re.compile(r"\A\s*(?://|#|/\*)[ \t]*(?:[Ff]ile(?:name)?:[ \t]*)?([^\s*]+)[ \t]*(?:\*/)?[ \t]*\n")
MAX_HEADING = 120  # characters; a longer line is prose that mentions a file


def files_in(text: str, tools: tuple[ToolSpec, ...]) -> Found:
    """Each block with a path as a call of write, the last of a path only, then one call of profile.

    A block without a path or without an end is a call that can't be read, if it is all there is of a program.
    """
    blocks = blocks_in(text)
    files: dict[str, ToolCall] = {}
    spans: list[tuple[int, int]] = []
    nameless = [block for block in blocks if _path(block) is None]
    for block in blocks:
        path = _path(block)
        if path is not None:
            files.pop(path, None)
            files[path] = _write(path, block, tools)
            spans.append((_heading_start(block), block.end))
    if not files:
        called = calls_in(text, tools)  # some models know no other way to write a file
        return Found(text=text, calls=[_unnamed(nameless)]) if nameless and not called.calls else called
    calls = list(files.values())
    if any(INVALID_ARGUMENTS in call.arguments for call in calls):
        return Found(text=text, calls=calls)
    judge = ToolCall(call_id="", tool=JUDGE)
    return Found(text=_prose(text, spans), calls=[*calls, judge])


def argument_names(tools: tuple[ToolSpec, ...]) -> tuple[str, str]:
    """What write calls its path and its text."""
    spec = next((tool for tool in tools if tool.name == WRITE), None)
    required = [] if spec is None else spec.parameters.get("required", [])
    return (required[0], required[1]) if len(required) >= 2 else ("path", "text")


def _write(path: str, block: Block, tools: tuple[ToolSpec, ...]) -> ToolCall:
    if not block.is_closed:
        reason = (
            f"the block of {path} has no end: the reply was cut off; give the file whole, or a shorter one"
        )
        return ToolCall(call_id="", tool=WRITE, arguments={INVALID_ARGUMENTS: reason})
    path_name, text_name = argument_names(tools)
    return ToolCall(call_id="", tool=WRITE, arguments={path_name: path, text_name: block.text})


def _unnamed(blocks: list[Block]) -> ToolCall:
    reason = (
        f"{len(blocks)} fenced block(s) without a path; write the file's path, such as model_new.py, on the "
        "line above each block"
    )
    return ToolCall(call_id="", tool=WRITE, arguments={INVALID_ARGUMENTS: reason})


def _path(block: Block) -> str | None:
    """The path in the fence's own line, in the line above it, or in a comment on the block's first line."""
    for place in (block.info, block.heading):
        paths = PATH.findall(place) if len(place) <= MAX_HEADING else ()
        if paths:
            return str(paths[-1])
    comment = COMMENT.match(block.text[:MAX_HEADING])
    return comment[1] if comment and PATH.fullmatch(comment[1]) else None


def _heading_start(block: Block) -> int:
    is_path = len(block.heading) <= MAX_HEADING and PATH.search(block.heading)
    return block.heading_start if is_path else block.start


def _prose(text: str, spans: list[tuple[int, int]]) -> str:
    parts, position = [], 0
    for start, end in spans:
        parts.append(text[position:start].strip())
        position = end
    return "\n\n".join(part for part in [*parts, text[position:].strip()] if part)
