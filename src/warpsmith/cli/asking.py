"""The options that say how a model is asked, and what a policy is made with."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.policy import PolicyConfig

PANEL = "How the model is asked"

BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="The endpoint, such as http://localhost:8000/v1. (default: the vendor's own)",
        rich_help_panel=PANEL,
    ),
]
TemperatureOption = Annotated[
    float | None,
    typer.Option(
        "--temperature", min=0.0, help="Of sampling. (default: the endpoint's own)", rich_help_panel=PANEL
    ),
]
TopPOption = Annotated[
    float | None,
    typer.Option(
        "--top-p", min=0.0, max=1.0, help="Of sampling. (default: the endpoint's own)", rich_help_panel=PANEL
    ),
]
ReplyTokensOption = Annotated[
    int | None,
    typer.Option("--max-reply-tokens", min=1, help="Of one reply. (default: 16384)", rich_help_panel=PANEL),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="Of sampling, where the model takes one.", rich_help_panel=PANEL),
]
StyleOption = Annotated[
    str | None,
    typer.Option(
        "--style",
        metavar="auto|tools|json|files",
        help="How the model acts. tools: by tool calls; json: by a JSON object that follows a schema; files: "
        "by whole files in its answer. auto (default) finds out what it can.",
        rich_help_panel=PANEL,
    ),
]
ThinkingOption = Annotated[
    bool | None,
    typer.Option(
        "--feed-thinking/--no-feed-thinking",
        help="Say a model's own reasoning to it again. It is kept in the record in any case. (default: no)",
        rich_help_panel=PANEL,
    ),
]
ContextOption = Annotated[
    int | None,
    typer.Option(
        "--context-tokens",
        min=1024,
        metavar="N",
        help="What the model can read; beyond, the conversation is compacted. (default: as the endpoint "
        "tells, else 131072)",
        rich_help_panel=PANEL,
    ),
]
PriceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--price",
        metavar="[MODEL=]IN/OUT",
        help="What a model charges, in USD for a million prompt and a million completion tokens, such as "
        "2.5/10. For one whose price is not known, or in place of it. Repeatable.",
        rich_help_panel=PANEL,
    ),
]
STYLES = ("auto", "tools", "json", "files")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a model is to be asked; None was not said. Raises UsageError for what there is not."""

    base_url: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_reply_tokens: int | None = None
    seed: int | None = None
    style: str | None = None
    feeds_thinking: bool | None = None
    context_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.style not in (None, *STYLES):
            raise UsageError(f"unknown style {self.style!r}; choose one of {', '.join(STYLES)}")
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise UsageError(f"--{name.replace('_', '-')} takes a number, not {value}")

    def applied(self, config: "PolicyConfig") -> "PolicyConfig":
        """`config`, but for what was said."""
        sampling = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_reply_tokens,
            "seed": self.seed,
        }
        said = {
            "base_url": self.base_url,
            "style": self.style,
            "feeds_thinking": self.feeds_thinking,
            "context_tokens": self.context_tokens,
        }
        return replace(config, **_given(said), sampling=replace(config.sampling, **_given(sampling)))


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
