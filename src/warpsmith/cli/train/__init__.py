"""`warpsmith train`: samples from runs, and the stages that make a policy of them; a file a kind of verb."""

from warpsmith.cli.train import acted, recorded, toy

__all__ = ["acted", "recorded", "toy"]
