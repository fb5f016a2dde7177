"""Who plays which part: several policies that are one to the loop, since one at a time has the word."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from warpsmith.agent.team.nouns import Kind, Member, Rhythm
from warpsmith.agent.team.spec import RULES, Part, TeamSpec
from warpsmith.core import Message, ToolSpec, UsageError
from warpsmith.policy import Policy, PolicyConfig, Reply, make_policy

BUILTIN = "builtin"
RECORDED = ("replay",)
IN_PROCESS = ("builtin", "local")  # kinds of policy; of several attempts' only one computes at a time
LOOKING = ("read", "glob", "grep", "docs")
"""Tools that change nothing: planner and verifier have no others."""

_computing = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """One member's policy, and what it was made with."""

    policy: Policy
    config: PolicyConfig


class Cast:
    """A policy of several. `give` says whose reply is due; that one is asked, with its own tools."""

    def __init__(self, kind: Kind, rhythm: Rhythm, actors: Mapping[Member, Actor]) -> None:
        """Without a verifier the rules speak; without a planner nothing is planned."""
        self.kind = kind
        self.rhythm = rhythm
        self.name = f"{kind} of {', '.join(f'{one} {actors[one].policy.name}' for one in actors)}"
        self.context_tokens: int | None = None
        self._actors = dict(actors)
        self._member = Member.CODER

    @property
    def member(self) -> Member:
        """Whose reply is due."""
        return self._member

    @property
    def actor(self) -> Actor:
        return self._actors[self._member]

    def has(self, member: Member) -> bool:
        return member in self._actors

    def give(self, member: Member) -> None:
        self._member = member
        self.context_tokens = self.actor.policy.context_tokens

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        """What the member says that has the word. Raises what its policy raises."""
        actor = self.actor
        offered = offered_to(self._member, tools, actor.config)
        if actor.policy.name.partition(":")[0] not in IN_PROCESS:
            return actor.policy.respond(messages, offered)
        with _computing:
            return actor.policy.respond(messages, offered)


def offered_to(member: Member, tools: tuple[ToolSpec, ...], config: PolicyConfig) -> tuple[ToolSpec, ...]:
    """The tools of a member: all for the coder. Who acts by whole files has nothing to look with."""
    if member is Member.CODER:
        return tools
    return () if config.style == "files" else tuple(tool for tool in tools if tool.name in LOOKING)


def cast_of(team: TeamSpec, coder: Part) -> Cast:
    """Raises UsageError for a policy that cannot play its part, and as `make_policy`."""
    parts = {Member.CODER: coder, Member.VERIFIER: team.verifier}
    if team.kind is Kind.TEAM:
        parts = {Member.PLANNER: team.planner, **parts}
    policies = {member: _policy(member, part) for member, part in parts.items()}
    actors = {
        member: Actor(policy=policy, config=parts[member].policy_config)
        for member, policy in policies.items()
        if policy is not None
    }
    return Cast(team.kind, team.rhythm, actors)


def check_part(member: Member, policy: str) -> None:
    """Raises UsageError if `policy` cannot play that part."""
    if policy.partition(":")[0] in RECORDED:
        raise UsageError(
            f"{policy} cannot be the {member}: a recording is of one conversation, and a team has many"
        )
    if policy == RULES and member is not Member.VERIFIER:
        raise UsageError(f"the rules can only be the verifier, not the {member}; choose a policy")


def _policy(member: Member, part: Part) -> Policy | None:
    check_part(member, part.policy)
    if part.policy == RULES:
        return None
    if part.policy == BUILTIN:
        return BUILTINS[member](part.policy_config)
    return make_policy(part.policy, part.policy_config)


def _builtin_planner(config: PolicyConfig) -> Policy:
    from warpsmith.agent.team.builtin import BuiltinPlanner  # imports torch

    return BuiltinPlanner(config)


def _builtin_coder(config: PolicyConfig) -> Policy:
    from warpsmith.agent.team.builtin import BuiltinCoder  # imports torch

    return BuiltinCoder(config)


BUILTINS: dict[Member, Callable[[PolicyConfig], Policy | None]] = {
    Member.PLANNER: _builtin_planner,
    Member.CODER: _builtin_coder,
    Member.VERIFIER: lambda _config: None,  # its rules are those that speak anyway
}
