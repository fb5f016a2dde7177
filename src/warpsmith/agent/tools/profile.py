"""Ask the judge how fast the program is."""

from typing import Any

from warpsmith.agent.feedback import verdict_text
from warpsmith.agent.tools.base import Answer, Context, parameters, strays_note
from warpsmith.core import Solution, ToolSpec


class Profile:
    """Verifies again, then times it beside eager and torch.compile."""

    spec = ToolSpec(
        name="profile",
        description="Verify, then time the program beside eager and torch.compile; the fastest is kept.",
        parameters=parameters({}),
    )

    def call(self, _arguments: dict[str, Any], context: Context) -> Answer:
        context.jobs.check_quiet()
        candidate = context.workspace.candidate()
        verdict = context.judge.measure(candidate)
        text = verdict_text(verdict) + strays_note(context.workspace)
        return Answer(text=text, solution=Solution(candidate=candidate, verdict=verdict))
