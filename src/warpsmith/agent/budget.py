"""How much an episode may spend."""

from dataclasses import dataclass
from typing import Protocol

from warpsmith.core import Cost, StopReason
from warpsmith.policy import Price

FREE = Price()


class Allowance(Protocol):
    """What an episode asks before it goes on: a budget of its own, or one that it shares with others."""

    def exhausted(
        self, num_turns: int, cost: Cost, wall_s: float, num_fruitless: int = 0
    ) -> StopReason | None:
        """Which limit has been reached, if any; see Budget."""
        ...

    def would_exceed(self, cost: Cost, prompt_tokens: int, price: Price = FREE) -> StopReason | None:
        """Which limit the next request would overrun however short its reply is, if any; see Budget."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one episode; None is no limit.

    `exhausted` is looked at between steps, so that the last step may overrun a limit: a reply by its own
    length, a verdict by its own time. `would_exceed` keeps a request from being made that is sure to.
    """

    max_turns: int = 200
    max_tokens: int | None = None  # prompt and completion together
    max_wall_s: float | None = None
    max_usd: float | None = None
    max_gpu_s: float | None = None  # held for judging
    patience: int | None = None  # verdicts in a row that gave no faster program

    def exhausted(
        self, num_turns: int, cost: Cost, wall_s: float, num_fruitless: int = 0
    ) -> StopReason | None:
        """Which limit has been reached, if any."""
        spent: dict[StopReason, tuple[float, float | None]] = {
            StopReason.TURNS: (num_turns, self.max_turns),
            StopReason.TOKENS: (cost.prompt_tokens + cost.completion_tokens, self.max_tokens),
            StopReason.TIME: (wall_s, self.max_wall_s),
            StopReason.MONEY: (cost.usd, self.max_usd),
            StopReason.GPU: (cost.gpu_s, self.max_gpu_s),
            StopReason.PATIENCE: (num_fruitless, self.patience),
        }
        reached = (stop for stop, (used, limit) in spent.items() if limit is not None and used >= limit)
        return next(reached, None)

    def would_exceed(self, cost: Cost, prompt_tokens: int, price: Price = FREE) -> StopReason | None:
        """Which limit a request of at least `prompt_tokens` would overrun with a reply of a single token.

        The caller gives the fewest tokens that the prompt can have: a request that might just fit is made.
        """
        num_tokens = cost.prompt_tokens + cost.completion_tokens + prompt_tokens + 1
        if self.max_tokens is not None and num_tokens > self.max_tokens:
            return StopReason.TOKENS
        if self.max_usd is not None and cost.usd + price.usd(prompt_tokens, 1) > self.max_usd:
            return StopReason.MONEY
        return None
