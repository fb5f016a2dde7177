"""What comes in which step: epoch after epoch, each in an order of its own."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def drawn_for(step: int, things: Sequence[T], count: int, seed: int) -> list[T]:
    """Those of a step, from 1: `count` of them, or all there are. Nothing but the arguments decides."""
    count = min(count, len(things))
    orders: dict[int, list[int]] = {}
    chosen = []
    for place in range((step - 1) * count, step * count):
        epoch, at = divmod(place, len(things))
        if epoch not in orders:
            orders[epoch] = list(range(len(things)))
            random.Random(f"{seed}/{epoch}").shuffle(orders[epoch])
        chosen.append(things[orders[epoch][at]])
    return chosen
