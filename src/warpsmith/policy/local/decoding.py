"""Many replies at once, as fast as one step of a small model allows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from warpsmith.core import InfraError
from warpsmith.policy.local.checkpoint import out_of_memory
from warpsmith.policy.local.drawing import Drawing
from warpsmith.policy.local.places import Places, multiple
from warpsmith.policy.local.reading import Reader
from warpsmith.policy.local.rows import Row
from warpsmith.policy.local.slots import attending
from warpsmith.policy.local.tokens import DecodingConfig
from warpsmith.policy.local.trial import tried


class Decoder:
    """Reads each distinct prompt once, and draws all rows side by side, until the last has ended.

    Rows that wait move in where others have ended; when none waits, the rest move together. Memory for keys
    and values stays from one use to the next, what they hold does not: weights may change in between.
    """

    def __init__(self, reader: Reader, stop_ids: frozenset[int], config: DecodingConfig) -> None:
        """Raises NotImplementedError, with the reason, for a model that can't be run by `slots`."""
        self._reader = reader
        self._config = config
        self._stops = torch.tensor(sorted(stop_ids) or [-1], device=reader.model.device)
        self._places: Places | None = None
        self._key: tuple[Any, ...] = ()
        self._bytes_per_slot = tried(reader)

    @property
    def why_not_captured(self) -> str:
        """Empty if steps were captured as graphs."""
        return self._places.stepper.why_not if self._places else "nothing was drawn"

    @property
    def num_graphs(self) -> int:
        return self._places.stepper.num_graphs if self._places else 0

    def release(self) -> None:
        """Give memory and graphs back."""
        self._places = None

    def run(self, rows: Sequence[Row], drawing: Drawing, is_late: Callable[[], bool]) -> None:
        """Draw all `rows` to their ends.

        Raises InfraError if not even one fits into the cache's bytes, or the device has less memory.
        """
        try:
            with attending(self._reader.model), _fresh_casts():
                self._placed(rows).run(rows, drawing, is_late)
        except (RuntimeError, MemoryError) as error:
            if isinstance(error, InfraError) or not out_of_memory(error):
                raise
            self.release()
            raise InfraError(
                f"no memory to draw {len(rows)} replies at once; lower the decoding's max_rows, cache_bytes "
                f"({self._config.cache_bytes:.3g}) or chunk_tokens"
            ) from error
        if not self._config.is_kept:
            self.release()

    def _placed(self, rows: Sequence[Row]) -> Places:
        """Those that there are, if these rows fit and nothing has moved that a graph holds the address of."""
        most_slots = multiple(max(len(row.prompt) + row.limit for row in rows), self._config.bucket_tokens)
        most_drawn = multiple(max(row.limit for row in rows), self._config.bucket_tokens)
        fitting = int(self._config.cache_bytes // (self._bytes_per_slot * most_slots))
        if fitting < 1:
            raise InfraError(
                f"{most_slots} tokens of prompt and reply take {self._bytes_per_slot * most_slots:.3g} bytes "
                f"of cache, and cache_bytes allows {self._config.cache_bytes:.3g}"
            )
        num_rows = min(len(rows), self._config.max_rows, fitting)
        key = _addresses(self._reader.model)
        held = self._places if key == self._key else None
        if held is None or not held.holds(num_rows, most_slots, most_drawn):
            self._places = None  # its memory goes before the next is taken
            held = Places(self._reader, self._stops, self._config, (num_rows, most_slots, most_drawn))
            self._places, self._key = held, key
        return held


@contextmanager
def _fresh_casts() -> Iterator[None]:
    """Autocast keeps the weights it has cast; a graph would hold on to those of before an update."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


def _addresses(model: Any) -> tuple[Any, ...]:
    """All that a captured graph has fixed of a model; values may change."""
    kind = model.device.type
    precision = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
    return precision, *(parameter.data_ptr() for parameter in model.parameters())
