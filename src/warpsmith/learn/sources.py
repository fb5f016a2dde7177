"""Where samples come from while a policy learns."""

from typing import Protocol

from warpsmith.learn.trajectory.nouns import Sample
from warpsmith.policy.base import Sampling
from warpsmith.policy.local.tokens import TokenPolicy


class Source(Protocol):
    """Lets a policy act, and has it judged."""

    def rollouts(self, policy: TokenPolicy, sampling: Sampling, step: int) -> tuple[Sample, ...]:
        """Fresh samples for a step (from 1), judged, with their log-probabilities.

        All chance follows from `sampling.seed` and `step`: the same weights give the same samples. Samples of
        one prompt share their group.
        """
        ...
