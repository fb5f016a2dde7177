"""Listen to a background job."""

import time
from typing import Any

from warpsmith.agent.tools.base import Answer, Context, parameters
from warpsmith.agent.tools.bash import ending, said
from warpsmith.agent.workspace.folder import Refused
from warpsmith.core import ToolSpec

MAX_WAIT_S = 60
LOOK_S = 0.05


class BashOutput:
    """Only what is new is told: what was told once stands in the conversation."""

    spec = ToolSpec(
        name="bash_output",
        description="What a background job has written since the last look, and whether it has ended.",
        parameters=parameters(
            {"job": "string: its id, as bash gave it"},
            {"wait_s": f"number: wait for its end so long, {MAX_WAIT_S} s at most; no wait unless given"},
        ),
    )

    def call(self, arguments: dict[str, Any], context: Context) -> Answer:
        name, wait_s = arguments["job"], arguments.get("wait_s", 0)
        if not 0 <= wait_s <= MAX_WAIT_S:
            raise Refused(f"wait_s must be from 0 to {MAX_WAIT_S}")
        job = context.jobs.get(name)
        give_up = time.monotonic() + wait_s
        while job.ended() is None and time.monotonic() < give_up:
            time.sleep(LOOK_S)
        completed, spoken = job.ended(), job.spoken()
        state = "still runs" if completed is None else f"has ended: {ending(completed)}"
        quiet = "" if (spoken.stdout + spoken.stderr).strip() else "; nothing new was written"
        return Answer(text=said(f"{name} {state}{quiet}", spoken.stdout, spoken.stderr))
