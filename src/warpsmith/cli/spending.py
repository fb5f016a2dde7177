"""The options that say what a run may spend, and the budget that they make."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.agent.budget import Budget

PANEL = "What it may spend"

TurnsOption = Annotated[
    int | None, typer.Option("--max-turns", min=1, help="Replies. (default: 200)", rich_help_panel=PANEL)
]
TokensOption = Annotated[
    int | None,
    typer.Option("--max-tokens", min=1, help="Prompt and completion together.", rich_help_panel=PANEL),
]
MinutesOption = Annotated[
    float | None, typer.Option("--max-minutes", min=0.01, help="Wall time.", rich_help_panel=PANEL)
]
UsdOption = Annotated[
    float | None,
    typer.Option(
        "--max-usd",
        min=0.0,
        help="Money, by the known prices of the model or by --price.",
        rich_help_panel=PANEL,
    ),
]
GpuSecondsOption = Annotated[
    float | None,
    typer.Option(
        "--max-gpu-seconds", min=0.01, help="Time on a GPU, for checking and timing.", rich_help_panel=PANEL
    ),
]
PatienceOption = Annotated[
    int | None,
    typer.Option(
        "--patience",
        min=1,
        metavar="N",
        help="Stop after N verdicts in a row without a faster program.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What was said on a command line; None was not said. Raises UsageError for what is no number."""

    max_turns: int | None = None
    max_tokens: int | None = None
    max_minutes: float | None = None
    max_usd: float | None = None
    max_gpu_seconds: float | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_minutes", "max_usd", "max_gpu_seconds"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise UsageError(
                    f"--{name.replace('_', '-')} takes a number, not {value}: it would never bind"
                )

    @property
    def is_said(self) -> bool:
        return bool(self._said)

    def applied(self, budget: "Budget") -> "Budget":
        """`budget`, but for what was said."""
        return replace(budget, **self._said)

    @property
    def _said(self) -> dict[str, Any]:
        fields = {
            "max_turns": self.max_turns,
            "max_tokens": self.max_tokens,
            "max_wall_s": None if self.max_minutes is None else self.max_minutes * 60,
            "max_usd": self.max_usd,
            "max_gpu_s": self.max_gpu_seconds,
            "patience": self.patience,
        }
        return {name: value for name, value in fields.items() if value is not None}
