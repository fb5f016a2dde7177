"""What the agent needs of a judge."""

from typing import Protocol

from warpsmith.core import Candidate, Verdict
from warpsmith.toolchain import Build


class Judging(Protocol):
    """Says what is true of a candidate. Raises InfraError when it could not find out."""

    @property
    def held_s(self) -> float:
        """For how many seconds it has held a GPU in all, as far as whoever asks is concerned."""
        ...

    def build(self, candidate: Candidate) -> Build | Verdict:
        """The build, or the verdict that there is none."""
        ...

    def verify(self, candidate: Candidate) -> Verdict:
        """Whether it is right; `Passed` without timing if so."""
        ...

    def measure(self, candidate: Candidate) -> Verdict:
        """Whether it is right and how fast it is; `Passed` with timing if so."""
        ...
