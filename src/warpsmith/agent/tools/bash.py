"""Run a shell command in the sandbox."""

from typing import Any

from warpsmith.agent.tools.base import Answer, Context, parameters, shortened
from warpsmith.agent.workspace.folder import Refused, is_text
from warpsmith.core import Completed, Ending, ToolSpec

DEFAULT_S = 120
MAX_S = 600
MAX_COMMAND = 100_000  # below the kernel's own limit for one argument
MAX_ERRORS = 3_000


class Bash:
    """Each call is a new shell in the workspace; nothing that it starts outlives it."""

    spec = ToolSpec(
        name="bash",
        description=(
            "Run a shell command in the workspace, inside a sandbox without network. Every call is a new "
            "shell; what it starts ends with it. With background: true it runs on, without the GPU, and "
            "a job id comes back at once. model.py and SKILL.md are read-only."
        ),
        parameters=parameters(
            {"command": "string: what bash shall run"},
            {
                "timeout_s": (
                    f"number: its limit in seconds, {DEFAULT_S} unless given ({MAX_S} in the background), "
                    f"{MAX_S} at most"
                ),
                "background": "boolean: begin it and do not wait; see bash_output and kill_bash",
            },
        ),
    )

    def call(self, arguments: dict[str, Any], context: Context) -> Answer:
        command, in_background = arguments["command"], arguments.get("background", False)
        limit_s = arguments.get("timeout_s", MAX_S if in_background else DEFAULT_S)
        if not 0 < limit_s <= MAX_S:
            raise Refused(f"timeout_s must be above 0 and at most {MAX_S}")
        if "\0" in command or not is_text(command) or len(command.encode()) > MAX_COMMAND:
            raise Refused(
                f"a command is text without null characters, of {MAX_COMMAND} bytes at most; "
                "write a file instead"
            )
        if in_background:
            name = context.jobs.begin(command, lambda: context.workspace.begin(command, limit_s))
            return Answer(text=f"{name} has begun; bash_output tells what it says, kill_bash ends it")
        completed = context.workspace.run(command, limit_s)
        return Answer(text=said(ending(completed), completed.stdout, completed.stderr))


def said(headline: str, stdout: str, stderr: str) -> str:
    """How a command ended or stands, and what it wrote."""
    parts = [headline]
    if stdout.strip():
        parts.append(shortened(stdout.rstrip()))
    if stderr.strip():
        parts += ["stderr:", shortened(stderr.strip("\n").rstrip(), MAX_ERRORS)]
    return "\n".join(parts)


def ending(completed: Completed) -> str:
    """How it ended, in words."""
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
