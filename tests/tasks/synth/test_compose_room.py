"""How large a task may be on a GPU."""

import pytest

from warpsmith.device.gpus import GPUS
from warpsmith.judge.config import JudgeConfig
from warpsmith.judge.oracle.session import MIN_SLOTS
from warpsmith.tasks.synth.compose import Recipe
from warpsmith.tasks.synth.compose.room import LEAST_LENT_SETS, MEMORY_BYTES, Footprint, Room
from warpsmith.tasks.synth.filters import Checks

GIB = 1 << 30
ROOM = Room(call_bytes=10 * GIB, held_bytes=40 * GIB, lent_bytes=12 * GIB, num_inputs=5)


def footprint(*, inputs: float = 0, answer: float = 0, largest: float = 0, total: float = 0) -> Footprint:
    sizes = {"inputs": inputs, "answer": answer, "largest": largest, "total": total}
    return Footprint(**{name: int(size * GIB) for name, size in sizes.items()})


@pytest.mark.parametrize(
    ("one", "share"),
    [
        (footprint(total=5), 0.5),
        (footprint(inputs=1, answer=1, total=2), (5 * 4 + 4) / 40),
        (footprint(inputs=3, total=3), 9 / 12),
        (footprint(largest=4), 0.5),
    ],
    ids=["one call", "sets held with their truths", "sets lent", "one tensor"],
)
def test_the_scarcest_of_the_bounds_counts(one, share):
    assert ROOM.share(one) == pytest.approx(share, rel=1e-6)


def test_every_gpu_with_peaks_has_a_memory():
    assert MEMORY_BYTES.keys() == GPUS.keys()


def test_room_is_what_the_judge_says_it_takes():
    assert LEAST_LENT_SETS == MIN_SLOTS
    few, many = (Room.of("h200", JudgeConfig(num_inputs=number)) for number in (3, 9))
    one = footprint(inputs=2, answer=2, total=4)
    assert few.share(one) < Room.of("h200").share(one) < many.share(one)


def test_what_is_composed_for_an_h200_is_not_too_large_for_the_filter():
    assert Recipe(n=0).room.call_bytes <= Checks().memory_bytes


def test_a_wish_for_less_memory_leaves_what_the_judge_takes():
    room, wished = Recipe(n=0).room, Recipe(n=0, memory_bytes=GIB).room
    assert wished.call_bytes == GIB
    assert wished.held_bytes == room.held_bytes
