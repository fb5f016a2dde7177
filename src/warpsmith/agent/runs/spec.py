"""What a run was asked to do, so that it can go on without being asked again. No key is in it."""

from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from warpsmith.agent.budget import Budget
from warpsmith.agent.events import Started
from warpsmith.agent.team.spec import Part, TeamSpec
from warpsmith.core import Task, UsageError
from warpsmith.core.codec import from_data, to_data
from warpsmith.judge import JudgeConfig
from warpsmith.policy import PolicyConfig

FORMAT = 1
"""To be raised whenever a record of before can't be gone on with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """The choices of the person who started a run, as `Started.config` holds them."""

    format: int = 0
    policy: str = ""  # as --model names it; empty: an object that a program made
    policy_config: PolicyConfig = field(default_factory=PolicyConfig)
    device: str = "auto"  # with `arch` and `gpu`: as `select_device` takes them
    arch: str | None = None
    gpu: str | None = None
    sandbox: str = "auto"
    task: Task = field(default_factory=lambda: Task(task_id="", source="", provenance=""))
    """Without its source, which lies in the run folder."""
    budget: Budget = field(default_factory=Budget)
    judge: JudgeConfig = field(default_factory=JudgeConfig)
    team: TeamSpec | None = None  # whose coder `policy` is; None: it works alone

    def to_config(self) -> dict[str, Any]:
        """For Started.config: what a URL may hold of a name, a password or a token is left out."""
        data: dict[str, Any] = to_data(
            replace(
                self,
                format=FORMAT,
                policy_config=_without_secrets(self.policy_config),
                task=replace(self.task, source=""),
                team=None if self.team is None else _public_team(self.team),
            )
        )
        return data


def spec_of(started: Started, where: object) -> RunSpec:
    """Raises UsageError if the run was recorded by a version that has another format."""
    try:
        spec = from_data(RunSpec, started.config)
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{where} was recorded by another version of warpsmith ({error}); {ANEW}") from error
    if spec.format != FORMAT:
        raise UsageError(
            f"{where} was recorded by another version of warpsmith (format {spec.format}, this one goes on "
            f"with {FORMAT}); {ANEW}"
        )
    return spec


ANEW = "start a new run: its program can be verified as it is, with `warpsmith verify`"


def _public_team(team: TeamSpec) -> TeamSpec:
    return replace(team, planner=_public_part(team.planner), verifier=_public_part(team.verifier))


def _public_part(part: Part) -> Part:
    return replace(part, policy_config=_without_secrets(part.policy_config))


def _without_secrets(config: PolicyConfig) -> PolicyConfig:
    url = config.base_url
    return replace(config, base_url=None if url is None else _public(url))


def _public(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
