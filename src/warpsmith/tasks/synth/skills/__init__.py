"""Atomic skills to train on: sub-tasks to be written from scratch, and programs to be made better."""

from warpsmith.tasks.synth.skills.folder import Skills
from warpsmith.tasks.synth.skills.keeping import Keeping, for_testing, held_back, keeping, practised
from warpsmith.tasks.synth.skills.prompt import prompt
from warpsmith.tasks.synth.skills.skill import (
    Contract,
    Kind,
    Left,
    Lesson,
    Operand,
    Role,
    Skill,
    SubTask,
    speedup,
)

__all__ = [
    "Contract",
    "Keeping",
    "Kind",
    "Left",
    "Lesson",
    "Operand",
    "Role",
    "Skill",
    "Skills",
    "SubTask",
    "for_testing",
    "held_back",
    "keeping",
    "practised",
    "prompt",
    "speedup",
]
