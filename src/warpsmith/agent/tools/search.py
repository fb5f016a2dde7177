"""How glob and grep ask: a script of ours searches in the sandbox."""

import json
from pathlib import Path
from typing import Any

from warpsmith.agent.tools import searching
from warpsmith.agent.workspace.folder import Refused, Workspace
from warpsmith.core import Ending, InfraError

SCRIPT = Path(searching.__file__)
WRONG_REQUEST = 2
MAX_PATTERN = 1_000


def search(workspace: Workspace, tool: str, arguments: dict[str, Any]) -> str:
    """What was found. Raises Refused if the request is wrong, or takes too long."""
    for name in ("pattern", "glob"):
        text = arguments.get(name, "x")
        if not text or "\0" in text or len(text) > MAX_PATTERN:
            raise Refused(f"{name} must have 1 to {MAX_PATTERN} characters, and no null character")
    names = arguments["pattern"] if tool == "glob" else arguments.get("glob", "")
    if names.startswith("/") or ".." in names.split("/"):
        raise Refused(f"{names} lies outside the workspace; patterns of names are relative to it")
    completed = workspace.search(SCRIPT, arguments.get("path", "."), json.dumps({"tool": tool, **arguments}))
    if completed.is_success:
        return completed.stdout.rstrip("\n")
    if completed.ending is Ending.EXITED and completed.exit_code == WRONG_REQUEST:
        raise Refused(completed.stderr)
    if completed.ending in (Ending.TIMED_OUT, Ending.OUT_OF_MEMORY):
        raise Refused(
            f"the search was ended ({completed.stderr.strip()}): repetitions within repetitions, as in "
            "(a+)+, take for ever; write the pattern without them, or search fewer files"
        )
    raise InfraError(f"the search failed: {completed.stderr[-500:]}")
