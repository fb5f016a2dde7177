"""One budget for several attempts at once."""

import time
from collections.abc import Callable
from threading import Lock

from warpsmith.agent.budget import FREE, Budget
from warpsmith.core import Cost, StopReason
from warpsmith.policy import Price


class Purse:
    """Limits on what all attempts spend together: tokens, money, GPU-seconds, and time since the beginning.

    Turns and patience are each attempt's own. An attempt that is about to ask promises what that costs at
    least, so that several cannot each spend the same rest.
    """

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        self._budget = budget
        self._clock = clock
        self._zero_s = clock()
        self._lock = Lock()
        self._spent: dict[int, Cost] = {}
        self._promised: dict[int, Cost] = {}

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._zero_s

    @property
    def total(self) -> Cost:
        with self._lock:
            return sum(self._spent.values(), Cost())

    def spent(self, attempt: int) -> Cost:
        """What it has told of."""
        with self._lock:
            return self._spent.get(attempt, Cost())

    def share(self, attempt: int) -> "Share":
        return Share(self, attempt)

    def spend(self, attempt: int, cost: Cost) -> None:
        """This is what `attempt` has cost until now; it has kept its promise."""
        with self._lock:
            self._spent[attempt] = cost
            self._promised.pop(attempt, None)

    def exhausted(self, attempt: int, num_turns: int, cost: Cost, num_fruitless: int) -> StopReason | None:
        self.spend(attempt, cost)
        return self._budget.exhausted(num_turns, self.total, self.elapsed_s, num_fruitless)

    def would_exceed(self, attempt: int, cost: Cost, prompt_tokens: int, price: Price) -> StopReason | None:
        with self._lock:
            self._spent[attempt] = cost
            self._promised.pop(attempt, None)
            before = sum((*self._spent.values(), *self._promised.values()), Cost())
            reason = self._budget.would_exceed(before, prompt_tokens, price)
            if reason is None:
                usd = price.usd(prompt_tokens, 1)
                self._promised[attempt] = Cost(prompt_tokens=prompt_tokens, completion_tokens=1, usd=usd)
            return reason


class Share:
    """What one attempt is told of the purse: an Allowance."""

    def __init__(self, purse: Purse, attempt: int) -> None:
        self._purse = purse
        self._attempt = attempt

    def exhausted(
        self, num_turns: int, cost: Cost, wall_s: float, num_fruitless: int = 0
    ) -> StopReason | None:
        """Which limit has been reached. `wall_s` is not looked at: the time is that of all attempts."""
        del wall_s
        return self._purse.exhausted(self._attempt, num_turns, cost, num_fruitless)

    def would_exceed(self, cost: Cost, prompt_tokens: int, price: Price = FREE) -> StopReason | None:
        """Which limit the next request would overrun, with what the others are spending at this moment."""
        return self._purse.would_exceed(self._attempt, cost, prompt_tokens, price)
