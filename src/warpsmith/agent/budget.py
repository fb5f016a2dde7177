"""How much an episode may spend."""

from dataclasses import dataclass

from warpsmith.core import Cost, StopReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one episode; None is no limit. They are looked at between steps: the last may overrun."""

    max_turns: int = 200
    max_tokens: int | None = None  # prompt and completion together
    max_wall_s: float | None = None
    max_usd: float | None = None

    def exhausted(self, num_turns: int, cost: Cost, wall_s: float) -> StopReason | None:
        """Which limit has been reached, if any."""
        spent: dict[StopReason, tuple[float, float | None]] = {
            StopReason.TURNS: (num_turns, self.max_turns),
            StopReason.TOKENS: (cost.prompt_tokens + cost.completion_tokens, self.max_tokens),
            StopReason.TIME: (wall_s, self.max_wall_s),
            StopReason.MONEY: (cost.usd, self.max_usd),
        }
        reached = (stop for stop, (used, limit) in spent.items() if limit is not None and used >= limit)
        return next(reached, None)
