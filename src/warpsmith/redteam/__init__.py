"""Cheats that must be caught and honest programs that must pass, and what runs them against a judge."""

from warpsmith.redteam.case import CORPUS, Case, Kind, Option, corpus, read_case
from warpsmith.redteam.outcome import Outcome, State, gates_of
from warpsmith.redteam.runner import Bench, outcomes

__all__ = [
    "CORPUS",
    "Bench",
    "Case",
    "Kind",
    "Option",
    "Outcome",
    "State",
    "corpus",
    "gates_of",
    "outcomes",
    "read_case",
]
