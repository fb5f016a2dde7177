"""Run a shell command in the sandbox."""

from typing import Any

from warpsmith.agent.tools.base import Answer, Context, parameters, shortened
from warpsmith.agent.workspace import Refused
from warpsmith.core import Completed, Ending, ToolSpec

DEFAULT_S = 120
MAX_S = 600
MAX_COMMAND = 100_000  # below the kernel's own limit for one argument


class Bash:
    """Each call is a new shell in the workspace; nothing that it starts outlives it."""

    spec = ToolSpec(
        name="bash",
        description=(
            "Run a shell command in the workspace, inside a sandbox. Every call is a new shell; what it "
            "starts ends with it. model.py and SKILL.md are read-only."
        ),
        parameters=parameters(
            {"command": "string: what bash shall run"},
            {"timeout_s": f"number: its limit in seconds, {DEFAULT_S} unless given, {MAX_S} at most"},
        ),
    )

    def call(self, arguments: dict[str, Any], context: Context) -> Answer:
        command, limit_s = arguments["command"], arguments.get("timeout_s", DEFAULT_S)
        if not 0 < limit_s <= MAX_S:
            raise Refused(f"timeout_s must be above 0 and at most {MAX_S}")
        if "\0" in command or len(command.encode(errors="replace")) > MAX_COMMAND:
            raise Refused(
                f"a command has no null characters and {MAX_COMMAND} bytes at most; write a file instead"
            )
        completed = context.workspace.run(command, limit_s)
        restored = context.workspace.restore_protected()
        notes = [f"note: {name} had been changed; it is restored" for name in restored]
        return Answer(text="\n".join([_text(completed), *notes]))


def _text(completed: Completed) -> str:
    parts = [_ending(completed)]
    if completed.stdout.strip():
        parts.append(shortened(completed.stdout.rstrip()))
    if completed.stderr.strip():
        parts += ["stderr:", shortened(completed.stderr.rstrip(), 3_000)]
    return "\n".join(parts)


def _ending(completed: Completed) -> str:
    match completed.ending:
        case Ending.EXITED:
            how = f"exit code {completed.exit_code}"
        case Ending.SIGNALLED:
            how = f"killed by signal {-completed.exit_code}"
        case Ending.TIMED_OUT:
            how = "killed at its time limit"
        case Ending.OUT_OF_MEMORY:
            how = "killed at its memory limit"
    return f"{how}, {completed.wall_s:.1f} s"
