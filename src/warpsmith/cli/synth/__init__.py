"""`warpsmith synth`: new tasks by the thousand, in one folder; each step reads what the last one left."""

from warpsmith.cli.synth import compose, crawl, decontaminate, filter, report

__all__ = ["compose", "crawl", "decontaminate", "filter", "report"]
