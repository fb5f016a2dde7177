"""Tasks by the thousand in one Parquet file: a row a task under the digest of its content, and a card."""

from warpsmith.tasks.store.about import About
from warpsmith.tasks.store.sample import sampled
from warpsmith.tasks.store.source import StoreSource
from warpsmith.tasks.store.store import Store, Written

__all__ = ["About", "Store", "StoreSource", "Written", "sampled"]
