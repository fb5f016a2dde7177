"""What each of a team is told of its part before anything else."""

import json
from importlib import resources

from warpsmith.agent.team.nouns import Bottleneck, Member
from warpsmith.agent.team.planning import SCHEMA


def guide_text(member: Member, *, max_iterations: int) -> str:
    """The guide of one member; the coder's is an addition to the one that every policy is given."""
    text = (resources.files("warpsmith.agent.team") / f"{member}.md").read_text(encoding="utf-8")
    filled = {
        "{iterations}": str(max_iterations),
        "{schema}": json.dumps(SCHEMA, indent=1),
        "{kinds}": " | ".join(Bottleneck),
    }
    for place, words in filled.items():
        text = text.replace(place, words)
    return text
