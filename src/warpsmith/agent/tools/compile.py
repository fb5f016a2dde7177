"""Build the program."""

from typing import Any

from warpsmith.agent.feedback import build_text, verdict_text
from warpsmith.agent.tools.base import Answer, Context, parameters, strays_note
from warpsmith.core import Solution, ToolSpec
from warpsmith.toolchain import Build


class Compile:
    """Success is no verdict: it says nothing yet of what the program computes."""

    spec = ToolSpec(
        name="compile",
        description="Compile kernels/ as it stands; lists launchers, registers, spills and shared memory.",
        parameters=parameters({}),
    )

    def call(self, _arguments: dict[str, Any], context: Context) -> Answer:
        candidate = context.workspace.candidate()
        note = strays_note(context.workspace)
        outcome = context.judge.build(candidate)
        if isinstance(outcome, Build):
            context.keep_log(candidate.digest, outcome.log)
            return Answer(text=build_text(outcome) + note)
        return Answer(
            text=verdict_text(outcome) + note, solution=Solution(candidate=candidate, verdict=outcome)
        )
