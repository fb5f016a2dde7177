"""Lessons mined from what agents did: the event logs of `warpsmith optimize`."""

from warpsmith.agent.skills.mining import Mining, mined, run_folders

__all__ = ["Mining", "mined", "run_folders"]
