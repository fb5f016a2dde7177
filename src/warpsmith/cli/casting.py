"""Who plays which part in a team, as named on a command line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli.writers import BUILTIN, Writer
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.agent.team.spec import Part, TeamSpec

PANEL = "Who plays which part"
SKILL, TEAM, PAIR = "skill", "team", "pair"
AGENTS = (SKILL, TEAM, PAIR)
RULES = "rules"

AgentOption = Annotated[
    str,
    typer.Option(
        metavar="skill|team|pair",
        help="How it works. skill: one loop of replies and tools. team: a planner, a coder and a verifier, "
        "a sub-task an iteration, 15 at most. pair: a coder, and a verifier that says one thing a round, 10 "
        "rounds.",
    ),
]
PlannerOption = Annotated[
    str | None,
    typer.Option(
        "--planner",
        metavar="KIND[:NAME]",
        help="Who plans in a team. (default: --model)",
        rich_help_panel=PANEL,
    ),
]
CoderOption = Annotated[
    str | None,
    typer.Option(
        "--coder",
        metavar="KIND[:NAME]",
        help="Who writes in a team or a pair. (default: --model)",
        rich_help_panel=PANEL,
    ),
]
VerifierOption = Annotated[
    str | None,
    typer.Option(
        "--verifier",
        metavar="KIND[:NAME]|rules",
        help="Who says what to change next. rules: plain rules over verdict and times, without a model; so "
        "does builtin. (default: --model)",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Casting:
    """Names of models, by part. `verifier` may be the rules."""

    kind: str
    planner: str | None  # None: a pair has none
    coder: str
    verifier: str

    @property
    def models(self) -> tuple[str, ...]:
        """All that are asked, each once."""
        named = (self.planner, self.coder, self.verifier)
        return tuple(dict.fromkeys(name for name in named if name is not None and name != RULES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Troupe:
    """A team but for its coder: each with all that it is asked with; None is nobody, or the rules."""

    kind: str
    planner: Writer | None
    verifier: Writer | None

    @property
    def writers(self) -> tuple[Writer, ...]:
        return tuple(writer for writer in (self.planner, self.verifier) if writer is not None)

    def spec(self) -> "TeamSpec":
        """As it is recorded."""
        from warpsmith.agent.team.nouns import PAIR_RHYTHM, Kind, Rhythm
        from warpsmith.agent.team.spec import Part, TeamSpec

        kind = Kind(self.kind)
        return TeamSpec(
            kind=kind,
            planner=Part(policy=BUILTIN) if self.planner is None else _part(self.planner),
            verifier=Part(policy=RULES) if self.verifier is None else _part(self.verifier),
            rhythm=PAIR_RHYTHM if kind is Kind.PAIR else Rhythm(),
        )


def casting_of(
    agent: str, models: Sequence[str], *, planner: str | None, coder: str | None, verifier: str | None
) -> Casting | None:
    """None for the agent that works alone. Raises UsageError for a part that there is not."""
    if agent not in AGENTS:
        raise UsageError(f"unknown agent {agent!r}; choose one of {', '.join(AGENTS)}")
    named = {"--planner": planner, "--coder": coder, "--verifier": verifier}
    given = [name for name, model in named.items() if model is not None]
    if agent == SKILL:
        if given:
            raise UsageError(f"{given[0]} is for --agent team or --agent pair; the skill agent works alone")
        return None
    if agent == PAIR and planner is not None:
        raise UsageError("--planner is for --agent team; a pair has a coder and a verifier")
    if len(models) > 1:
        raise UsageError(
            f"--agent {agent} takes one --model, for the parts that are not named; name the parts instead: "
            "--planner, --coder, --verifier"
        )
    (model,) = models
    casting = Casting(
        kind=agent,
        planner=None if agent == PAIR else planner or model,
        coder=coder or model,
        verifier=_verifier(verifier or model),
    )
    _check(casting)
    return casting


def _check(casting: Casting) -> None:
    from warpsmith.agent.team.cast import check_part
    from warpsmith.agent.team.nouns import Member

    parts = {
        Member.PLANNER: casting.planner,
        Member.CODER: casting.coder,
        Member.VERIFIER: casting.verifier,
    }
    for member, policy in parts.items():
        if policy is not None:
            check_part(member, policy)


def _verifier(model: str) -> str:
    return RULES if model == BUILTIN else model


def _part(writer: Writer) -> "Part":
    from warpsmith.agent.team.spec import Part

    return Part(policy=writer.spec, policy_config=writer.config)
