"""What the loop drives."""

from pathlib import Path
from typing import Any, Protocol

from warpsmith.learn.config import StageConfig
from warpsmith.learn.metrics import Metrics


class Stage(Protocol):
    """One kind of training, with all that changes in it."""

    @property
    def name(self) -> str: ...

    @property
    def config(self) -> StageConfig: ...

    @property
    def data(self) -> str:
        """What it learns from, as a digest or a name: a run goes on with the same."""
        ...

    def step(self, number: int) -> Metrics:
        """The `number`th step, from 1. The same state and number give the same step, bit by bit."""
        ...

    def networks(self) -> dict[str, Any]:
        """Its models by name; each is saved in a folder of that name."""
        ...

    def state(self) -> dict[str, Any]:
        """All else that it needs to go on, as tensors, numbers and strings."""
        ...

    def load(self, state: dict[str, Any]) -> None: ...

    def write(self, folder: Path) -> None:
        """What came of it, for others to begin with."""
        ...
