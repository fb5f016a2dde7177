"""`warpsmith train`: samples from runs, and the stages that make a policy of them; a file a kind of verb."""

from warpsmith.cli.train import acted, curves, listing, recorded, staged, toy

__all__ = ["acted", "curves", "listing", "recorded", "staged", "toy"]
