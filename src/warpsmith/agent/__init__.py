"""The loop between a policy and the judge: tools, workspace, record, and the wiring of one run."""

from warpsmith.agent.budget import Budget
from warpsmith.agent.events import (
    Aborted,
    Broadcast,
    Built,
    Busy,
    Compacted,
    Event,
    Finished,
    Forked,
    Improved,
    Judged,
    Listener,
    Resumed,
    Said,
    Sampled,
    Silent,
    Started,
    TurnEnded,
    in_effect,
)
from warpsmith.agent.loop import SkillAgent
from warpsmith.agent.runs.record import Outcome, Record, read_events
from warpsmith.agent.tools import SPECS, TOOLS
from warpsmith.agent.workspace.folder import Refused, Workspace

__all__ = [
    "SPECS",
    "TOOLS",
    "Aborted",
    "Broadcast",
    "Budget",
    "Built",
    "Busy",
    "Compacted",
    "Event",
    "Finished",
    "Forked",
    "Improved",
    "Judged",
    "Listener",
    "Outcome",
    "Record",
    "Refused",
    "Resumed",
    "Said",
    "Sampled",
    "Silent",
    "SkillAgent",
    "Started",
    "TurnEnded",
    "Workspace",
    "in_effect",
    "read_events",
]
