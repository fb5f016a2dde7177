"""Ask the judge whether the program is right."""

from typing import Any

from warpsmith.agent.feedback import verdict_text
from warpsmith.agent.tools.base import Answer, Context, parameters, strays_note
from warpsmith.core import Solution, ToolSpec


class Verify:
    """Builds if need be, and compares on fresh inputs each time."""

    spec = ToolSpec(
        name="verify",
        description="Compare the program with model.py on fresh random inputs, against float64 truth.",
        parameters=parameters({}),
    )

    def call(self, _arguments: dict[str, Any], context: Context) -> Answer:
        candidate = context.workspace.candidate()
        verdict = context.judge.verify(candidate)
        text = verdict_text(verdict) + strays_note(context.workspace)
        return Answer(text=text, solution=Solution(candidate=candidate, verdict=verdict))
