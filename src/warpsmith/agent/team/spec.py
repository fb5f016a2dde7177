"""A team as it is recorded: who plays which part, asked how, and at what rhythm. The coder is the run's own
policy.
"""

from dataclasses import dataclass, field

from warpsmith.agent.team.nouns import Kind, Rhythm
from warpsmith.policy import PolicyConfig

RULES = "rules"
"""A verifier that is no policy: the rules' own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One member of a team, as a command line names it."""

    policy: str
    policy_config: PolicyConfig = field(default_factory=PolicyConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamSpec:
    """All of a team but its coder. A pair has no planner."""

    kind: Kind = Kind.TEAM
    planner: Part = field(default_factory=lambda: Part(policy="builtin"))
    verifier: Part = field(default_factory=lambda: Part(policy=RULES))
    rhythm: Rhythm = field(default_factory=Rhythm)
