"""The loop between a policy and the judge: tools, workspace, record, and the wiring of one run."""

from warpsmith.agent.budget import Budget
from warpsmith.agent.events import (
    Aborted,
    Broadcast,
    Built,
    Busy,
    Event,
    Finished,
    Improved,
    Judged,
    Listener,
    Said,
    Silent,
    Started,
)
from warpsmith.agent.loop import SkillAgent
from warpsmith.agent.record import Outcome, Record, read_events
from warpsmith.agent.tools import SPECS, TOOLS
from warpsmith.agent.workspace import Refused, Workspace

__all__ = [
    "SPECS",
    "TOOLS",
    "Aborted",
    "Broadcast",
    "Budget",
    "Built",
    "Busy",
    "Event",
    "Finished",
    "Improved",
    "Judged",
    "Listener",
    "Outcome",
    "Record",
    "Refused",
    "Said",
    "Silent",
    "SkillAgent",
    "Started",
    "Workspace",
    "read_events",
]
