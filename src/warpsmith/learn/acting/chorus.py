"""Many conversations, one model: whoever speaks next waits until all others do, and all are drawn at once.

A step of a small model takes as long for one prompt as for a hundred. And since a round begins when everybody
waits, who is drawn beside whom does not depend on how fast the judge was.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from threading import Condition

from warpsmith.core import InfraError
from warpsmith.policy.base import Sampling
from warpsmith.policy.local.tokens import TokenOutput, TokenPolicy

ROUND_STEP = 1_000_003  # between the seeds of rounds


class Chorus:
    """For `num_voices` threads, numbered from 0; each must `leave` when it has no more to say.

    `turn` is held while the model runs.
    """

    def __init__(
        self,
        policy: TokenPolicy,
        sampling: Sampling,
        num_voices: int,
        turn: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._policy = policy
        self._sampling = sampling
        self._turn = turn
        self._present = set(range(num_voices))
        self._waiting: dict[int, Sequence[int]] = {}
        self._drawn: dict[int, TokenOutput] = {}
        self._failure: BaseException | None = None
        self._changed = Condition()
        self.num_rounds = 0

    def speak(self, voice: int, ids: Sequence[int]) -> TokenOutput:
        """What comes after `ids`. Raises InfraError if drawing has failed, for whomever it was."""
        with self._changed:
            self._waiting[voice] = ids
            self._sing_if_all_wait()
            self._changed.wait_for(lambda: voice in self._drawn or self._failure is not None)
            if self._failure is not None:
                raise InfraError(f"nothing could be drawn: {self._failure}") from self._failure
            return self._drawn.pop(voice)

    def leave(self, voice: int) -> None:
        with self._changed:
            self._present.discard(voice)
            self._waiting.pop(voice, None)
            self._sing_if_all_wait()

    def _sing_if_all_wait(self) -> None:
        if not self._waiting or len(self._waiting) < len(self._present) or self._failure is not None:
            return
        voices = sorted(self._waiting)
        seed = self._sampling.seed
        sampling = self._sampling
        if seed is not None:
            sampling = replace(sampling, seed=seed + self.num_rounds * ROUND_STEP)
        try:
            with self._turn():
                outputs = self._policy.generate([self._waiting[voice] for voice in voices], sampling)
            self._drawn.update(zip(voices, outputs, strict=True))
        except BaseException as error:  # noqa: BLE001 - raised in every thread that waits
            self._failure = error
        self._waiting.clear()
        self.num_rounds += 1
        self._changed.notify_all()
