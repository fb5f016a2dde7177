"""Where the recipes expect their tasks: stores that `warpsmith synth` writes, from where one stands."""

from pathlib import Path

FUSED = Path("suites/fused/tasks.parquet")
TINY = Path("suites/tiny/tasks.parquet")  # `learn.toy.store` writes it
