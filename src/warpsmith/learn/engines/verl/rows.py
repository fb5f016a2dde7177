"""Tasks and samples as rows of the tables that verl reads."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.core import EnvironmentMissing, Task, UsageError
from warpsmith.core.codec import from_json, to_json
from warpsmith.learn.engines.verl.config import EngineConfig
from warpsmith.learn.trajectory.nouns import Sample

Record = dict[str, Any]


def task_rows(tasks: Sequence[Task]) -> list[Record]:
    """A row a task: it travels whole, as JSON, so that no worker needs the file that it came from."""
    return [
        _row(place, task.task_id, asks=task.task_id, task=to_json(task)) for place, task in enumerate(tasks)
    ]


def sample_rows(samples: Iterable[Sample], engine: EngineConfig, *, needs_reward: bool) -> list[Record]:
    """A row a sample. Raises UsageError for one that is too long, or has no reward and needs one."""
    rows = []
    for place, sample in enumerate(samples):
        if len(sample.ids) > engine.context_tokens:
            raise UsageError(
                f"sample {sample.sample_id!r} has {len(sample.ids)} tokens, and the longest may have "
                f"{engine.context_tokens}; raise response_tokens or leave it out"
            )
        if needs_reward and (sample.reward is None or not math.isfinite(sample.reward)):
            raise UsageError(
                f"sample {sample.sample_id!r} has no reward that is a number; a critic learns from those"
            )
        rows.append(_row(place, sample.task_id, asks=sample.sample_id, sample=to_json(sample)))
    return rows


def write_table(rows: Sequence[Record], path: Path, *, at_least: int) -> None:
    """Raises UsageError if there are fewer rows than a step takes: verl would take none at all."""
    if len(rows) < at_least:
        raise UsageError(
            f"there are {len(rows)} tasks or samples; verl wants {at_least}, as many as a step has"
        )
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as missing:
        raise EnvironmentMissing("tables for verl need pyarrow; pip install 'warpsmith[verl]'") from missing
    parquet.write_table(pa.Table.from_pylist(list(rows)), path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A row as a worker gets it, and for which step."""

    step: int
    name: str  # of this one episode, in all of the training
    info: Mapping[str, Any]

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "Drawn":
        """From what verl hands to an agent's loop."""
        info = fields["extra_info"]
        name = f"{int(info['index']):05d}-{str(fields['uid'])[:8]}-{fields['session_id']}"
        return cls(step=max(int(fields["global_steps"]), 0), name=name, info=info)

    @property
    def task(self) -> Task:
        return from_json(Task, self.info["task"])

    @property
    def sample(self) -> Sample:
        return from_json(Sample, self.info["sample"])


def _row(place: int, source: str, *, asks: str, **info: str) -> Record:
    """`prompt` and `reward_model` have to be there; nobody reads them."""
    return {
        "data_source": source,
        "prompt": [{"role": "user", "content": asks}],
        "ability": "cuda",
        "reward_model": {"style": "rule", "ground_truth": ""},
        "extra_info": {"index": place, **info},
    }
