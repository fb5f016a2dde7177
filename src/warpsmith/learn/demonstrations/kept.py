"""What came of each task, a line each as it comes, and the samples of all: work that is gone on with."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import UsageError
from warpsmith.core.codec import from_data, to_json
from warpsmith.learn.demonstrations.demonstrating import Demonstration, Tried
from warpsmith.learn.trajectory import write_samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """`path` gets the samples; FILE.tried beside it, which is the truth, what was tried, after a plan."""

    path: Path
    plan: str  # all that the demonstrations depend on: a file begun by another plan is not gone on with

    @property
    def tried(self) -> Path:
        return self.path.with_name(f"{self.path.name}.tried")

    def begin(self) -> tuple[Tried, ...]:
        """What is done already. Raises UsageError for a file that another plan, or somebody else, began."""
        try:
            if self.tried.exists():
                return tuple(self._read())
            if self.path.exists():
                raise UsageError(f"{self.path} is there and was not begun by this; name another file")
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.tried.write_text(to_json({"plan": self.plan}) + "\n", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{self.tried} cannot be written ({error.strerror})") from error
        return ()

    def add(self, tried: Tried) -> None:
        """Raises UsageError if there is no room."""
        try:
            with self.tried.open("a", encoding="utf-8") as file:
                file.write(to_json(tried) + "\n")
        except OSError as error:
            raise UsageError(f"{self.tried} cannot be written ({error.strerror})") from error

    def export(self) -> int:
        """Write the samples of all that was tried; how many there are."""
        samples = (
            outcome.sample
            for tried in self._read()
            for outcome in tried.outcomes
            if isinstance(outcome, Demonstration)
        )
        return write_samples(samples, self.path)

    def _read(self) -> Iterator[Tried]:
        """A last line without an end was being written when work was stopped: that task is tried again."""
        text = self.tried.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self.tried.write_text(whole, encoding="utf-8")
        first, *rest = whole.splitlines() or [""]
        if first != to_json({"plan": self.plan}):
            raise UsageError(
                f"{self.tried} was begun with other options; give the same ones, or name another file"
            )
        for number, line in enumerate(rest, 2):
            try:
                yield from_data(Tried, json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise UsageError(f"{self.tried}, line {number}: {error!s:.200}") from error
