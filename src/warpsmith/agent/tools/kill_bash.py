"""End a background job."""

from typing import Any

from warpsmith.agent.tools.base import Answer, Context, parameters
from warpsmith.agent.tools.bash import ending, said
from warpsmith.core import ToolSpec


class KillBash:
    """The whole process tree goes; what it had written and was not told yet is told."""

    spec = ToolSpec(
        name="kill_bash",
        description="End a background job with everything that it started.",
        parameters=parameters({"job": "string: its id, as bash gave it"}),
    )

    def call(self, arguments: dict[str, Any], context: Context) -> Answer:
        name = arguments["job"]
        job = context.jobs.get(name)
        had_ended = job.ended() is not None
        completed, spoken = job.close(), job.spoken()
        how = "had ended before" if had_ended else "is ended"
        return Answer(text=said(f"{name} {how}: {ending(completed)}", spoken.stdout, spoken.stderr))
