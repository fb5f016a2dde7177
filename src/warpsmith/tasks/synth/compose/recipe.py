"""What is to be composed: how many, how deep, for which GPU."""

import random
from dataclasses import dataclass, replace

from warpsmith.core import UsageError
from warpsmith.device.base import Gpu
from warpsmith.device.gpus import GPUS
from warpsmith.tasks.synth.base import Curriculum
from warpsmith.tasks.synth.compose.room import Room

MAX_OPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Shares of the depths 1, 2, …, and of modules of transformers, which are never stacked; any sum will do.

    The figures are those that the CUDA Agent paper gives for its set (table 3, in percent).
    """

    depths: tuple[float, ...] = (3.40, 83.77, 7.62, 2.80, 1.23)
    transformers: float = 1.18

    def __post_init__(self) -> None:
        shares = (*self.depths, self.transformers)
        if not 1 <= len(self.depths) <= MAX_OPS or not all(0 <= share < float("inf") for share in shares):
            raise UsageError(f"a mix has 1 to {MAX_OPS} shares, none below 0; {shares} has not")
        if not any(shares):
            raise UsageError("a mix whose shares are all 0 leaves nothing to compose")

    def depth(self, rng: random.Random, *, least: int, most: int) -> int:
        """How many operators to stack, from `least` to `most`; alike where the mix has none of these."""
        depths = range(least, most + 1)
        shares = [self.depths[depth - 1] if depth <= len(self.depths) else 0.0 for depth in depths]
        return rng.choices(depths, shares if any(shares) else None)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A set of tasks. Raises UsageError for what cannot be composed."""

    n: int
    max_ops: int = MAX_OPS
    seed: int = 0
    gpu: str = "h200"  # on which the band is meant
    mix: Mix = Mix()
    curriculum: Curriculum | None = None  # None: operators of all kinds
    band_ms: tuple[float, float] = (1.0, 100.0)  # of the modelled eager time, log-uniform
    memory_bytes: int | None = None  # of all tensors of a task, as if none were freed; None: see `Room`

    def __post_init__(self) -> None:
        if self.n < 0:
            raise UsageError(f"{self.n} tasks cannot be composed")
        if not 1 <= self.max_ops <= MAX_OPS:
            raise UsageError(f"1 to {MAX_OPS} operators are stacked, not {self.max_ops}")
        if self.gpu not in GPUS:
            raise UsageError(f"no peaks are known for {self.gpu!r}; choose one of {', '.join(GPUS)}")
        if not 0 < self.band_ms[0] < self.band_ms[1] < float("inf"):
            raise UsageError(f"a band of times goes from one number up to another, not {self.band_ms}")
        if self.memory_bytes is not None and self.memory_bytes < 1 << 20:
            raise UsageError(f"{self.memory_bytes} bytes of memory hold no task; give 1 MiB or more")

    @property
    def peaks(self) -> Gpu:
        """Of the GPU that the band is meant on."""
        return GPUS[self.gpu]

    @property
    def room(self) -> Room:
        """What a task may take of that GPU's memory."""
        room = Room.of(self.gpu)
        return room if self.memory_bytes is None else replace(room, call_bytes=self.memory_bytes)

    def at_us(self, share: float, most_us: float = float("inf")) -> float:
        """A time in the band, log-uniform if `share` is uniform in [0, 1); of the part up to `most_us`."""
        least, most = (1e3 * bound for bound in self.band_ms)
        return float(least * (min(most, max(least, most_us)) / least) ** share)
