"""How large a task may be: what a GPU has to hold while the task is run, and while it is judged.

The judge looks at `num_inputs` input sets at once: each with the reference's answer, and with the float64
truth that this is held against (twice its bytes), while a float64 call runs. Afterwards it lends `lend_share`
of the memory to candidates, for two answers and 3 to 32 input sets; where three do not fit, all travels by
files. With I, A and T the bytes of inputs, answer and all tensors of a call, and M those of the GPU:

    T <= M / 4                    reference, candidate and what is lent are there at once
    n (I + 3 A) + 2 T <= 0.9 M    n input sets being looked at
    3 I + 2 A <= lend_share M     lent
    each tensor < 2^31 floats     many of torch's CUDA kernels take no more

All are in proportion to the batch, but for weights; so `share` tells by how much a batch may grow.
"""

from dataclasses import dataclass

from warpsmith.judge.config import JudgeConfig

GB = 10**9
MEMORY_BYTES: dict[str, int] = {
    "h200": 141 * GB,
    "h100": 80 * GB,
    "a100": 80 * GB,
    "rtx4090": 24 * GB,
    "l4": 24 * GB,
}
"""By the datasheets, in decimal gigabytes: what drivers report is a little more."""

CALL_SHARE = 0.25
HELD_SHARE = 0.9  # the rest is the context's, and what the allocator cannot use
LEAST_LENT_SETS = 3
MOST_TENSOR_BYTES = 4 * ((1 << 31) - 1)


def judged_bytes(num_inputs: int, *, inputs: int, answer: int, total: int) -> int:
    """What is held while a task is looked at, all in bytes, those of one call: see above."""
    return num_inputs * (inputs + 3 * answer) + 2 * total


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Bytes of one call of a task, as if nothing were freed."""

    inputs: int  # what get_inputs makes
    answer: int
    largest: int  # tensor
    total: int  # of all tensors, weights among them


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What there is on one GPU."""

    call_bytes: int
    held_bytes: int
    lent_bytes: int
    num_inputs: int

    @classmethod
    def of(cls, gpu: str, judge: JudgeConfig | None = None) -> "Room":
        """On a GPU of MEMORY_BYTES, as `judge` uses it."""
        memory, judge = MEMORY_BYTES[gpu], judge or JudgeConfig()
        return cls(
            call_bytes=int(CALL_SHARE * memory),
            held_bytes=int(HELD_SHARE * memory),
            lent_bytes=int(judge.lend_share * memory),
            num_inputs=judge.num_inputs,
        )

    def share(self, one: Footprint) -> float:
        """How much of the room a task takes where it is scarcest: over 1, it does not fit."""
        judged = judged_bytes(self.num_inputs, inputs=one.inputs, answer=one.answer, total=one.total)
        lent = LEAST_LENT_SETS * one.inputs + 2 * one.answer
        return max(
            one.total / self.call_bytes,
            judged / self.held_bytes,
            lent / self.lent_bytes,
            one.largest / MOST_TENSOR_BYTES,
        )
