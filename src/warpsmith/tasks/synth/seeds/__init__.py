"""Seed operators: names are crawled, tried in helper processes, and kept as data where they execute."""

from warpsmith.tasks.synth.seeds.crawl import CrawlConfig, seeds
from warpsmith.tasks.synth.seeds.operator import Operator
from warpsmith.tasks.synth.seeds.outcome import Crawled, Reason, Skipped
from warpsmith.tasks.synth.seeds.stored import read_seeds, write_seeds

__all__ = [
    "CrawlConfig", "Crawled", "Operator", "Reason", "Skipped", "read_seeds", "seeds", "write_seeds",
]  # fmt: skip
