"""The nouns that everything else speaks of. Standard library only."""

from warpsmith.core.candidate import Candidate, Form
from warpsmith.core.errors import EnvironmentMissing, InfraError, TaskError, UsageError
from warpsmith.core.process import Command, Completed, Ending, Guest, Limits, Runner
from warpsmith.core.task import Precision, Task, Tolerance
from warpsmith.core.timing import Provenance, Ratio, Series, Speed, Timing
from warpsmith.core.trajectory import (
    Cost,
    Message,
    Role,
    Solution,
    StopReason,
    ToolCall,
    ToolSpec,
    Trajectory,
    Turn,
)
from warpsmith.core.verdict import (
    Accuracy,
    BuildFailed,
    Crashed,
    Implausible,
    KernelResources,
    NotRunnable,
    Passed,
    Rejected,
    TimedOut,
    Verdict,
    Wrong,
)

__all__ = [
    "Accuracy",
    "BuildFailed",
    "Candidate",
    "Command",
    "Completed",
    "Cost",
    "Crashed",
    "Ending",
    "EnvironmentMissing",
    "Form",
    "Guest",
    "Implausible",
    "InfraError",
    "KernelResources",
    "Limits",
    "Message",
    "NotRunnable",
    "Passed",
    "Precision",
    "Provenance",
    "Ratio",
    "Rejected",
    "Role",
    "Runner",
    "Series",
    "Solution",
    "Speed",
    "StopReason",
    "Task",
    "TaskError",
    "TimedOut",
    "Timing",
    "Tolerance",
    "ToolCall",
    "ToolSpec",
    "Trajectory",
    "Turn",
    "UsageError",
    "Verdict",
    "Wrong",
]
