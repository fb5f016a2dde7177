"""Which of many tasks are worth keeping: each is run in a process of its own, and refused with a reason."""

from warpsmith.tasks.synth.filters.config import Band, Checks, FilterConfig, StageLimits
from warpsmith.tasks.synth.filters.events import Decided, Event, Resumed, SetAside
from warpsmith.tasks.synth.filters.funnel import Funnel, facts_as_text
from warpsmith.tasks.synth.filters.outcome import Facts, Kept, Outcome, Reason, Rejected, Stage, Undecided
from warpsmith.tasks.synth.filters.pipeline import filtered

__all__ = [
    "Band",
    "Checks",
    "Decided",
    "Event",
    "Facts",
    "FilterConfig",
    "Funnel",
    "Kept",
    "Outcome",
    "Reason",
    "Rejected",
    "Resumed",
    "SetAside",
    "Stage",
    "StageLimits",
    "Undecided",
    "facts_as_text",
    "filtered",
]
