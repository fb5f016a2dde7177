"""Who writes, as named on a command line: what it is asked with, what it can do, and what it charges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from warpsmith.cli.console import Console
from warpsmith.cli.numbers import price_of
from warpsmith.core import EnvironmentMissing, UsageError

if TYPE_CHECKING:
    from warpsmith.agent.estimate import Model
    from warpsmith.core import Task
    from warpsmith.policy import Policy, PolicyConfig
    from warpsmith.policy.base import Price
    from warpsmith.policy.endpoint.probe import Probe

BUILTIN = "builtin"
CHARGING = ("openai", "anthropic")  # may cost money
FREE_KINDS = (BUILTIN, "replay", "scripted")  # rules and recordings: they read no tokens
PROBED = ("openai",)  # may be anything behind an address


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One model and all that it is asked with. `price` is absent where it is not known."""

    spec: str
    config: "PolicyConfig"
    price: "Price | None"
    is_given: bool = False  # by --price; it may be nothing
    probe: "Probe | None" = None

    def policy(self) -> "Policy":
        """A new one, for one conversation."""
        from warpsmith.policy import make_policy

        return make_policy(self.spec, self.config)

    def model(self, context_tokens: int | None) -> "Model":
        """As far as it matters for what a run may cost."""
        from warpsmith.agent.budget import FREE
        from warpsmith.agent.estimate import Model

        return Model(
            name=self.spec,
            price=self.price or (None if self.charges else FREE),
            context_tokens=context_tokens,
            reply_tokens=self.config.sampling.max_tokens,
            reads_tokens=_kind(self.spec) not in FREE_KINDS,
        )

    @property
    def charges(self) -> bool:
        """Whether it may cost money, as far as its kind and what was said of its price tell."""
        return _kind(self.spec) in CHARGING and not self.is_given


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What --price said, by the name that it said it of; "" is all others."""

    named: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of_models(cls, texts: Sequence[str], models: Sequence[str]) -> Self:
        """Raises UsageError for a price that cannot be read, or of a model that nobody asks."""
        named = dict(map(_named_price, texts))
        for name in named.keys() - {"", *models, *map(_name, models)}:
            raise UsageError(f"--price names {name!r}, but --model names {', '.join(models)}")
        return cls(named=named)

    def of(self, spec: str) -> tuple[float, float] | None:
        """USD for a million prompt and completion tokens; None if nothing was said of it."""
        return next((self.named[key] for key in (spec, _name(spec), "") if key in self.named), None)


def writer_of(spec: str, config: "PolicyConfig", prices: Prices, *, needs_price: bool) -> Writer:
    """Raises UsageError if a cap on money could not be kept for want of a price."""
    from warpsmith.policy import Price
    from warpsmith.policy.prices import price_for

    given = prices.of(spec)
    if given is not None:
        config = replace(config, price=Price(prompt_usd=given[0], completion_usd=given[1], source="given"))
    price = price_for(config, _name(spec)) if _kind(spec) in CHARGING else None
    config = replace(config, price=price)
    writer = Writer(spec=spec, config=config, price=price, is_given=given is not None)
    if needs_price and writer.charges and price is None:
        raise UsageError(
            f"what {spec} charges is not known, so --max-usd cannot be kept; name it: --price IN/OUT, in USD "
            "for a million prompt and completion tokens"
        )
    return writer


def probed(console: Console, writer: Writer) -> Writer:
    """`writer`, asked in the way that its endpoint can answer; what was found out is told.

    Raises EnvironmentMissing if there is no endpoint, UsageError if it has no such model.
    """
    if _kind(writer.spec) not in PROBED or not _name(writer.spec):
        return writer  # the last will be refused when it is made
    from warpsmith.policy.endpoint.probe import probe, report

    with console.busy(f"asking what {writer.spec} can do"):
        found = probe(writer.config, _name(writer.spec))
    if found.reachable.has is False:
        raise EnvironmentMissing(found.reachable.how)
    if found.model_there.has is False:
        known = f"; it has {', '.join(found.models[:10])}" if found.models else ""
        raise UsageError(f"{found.model_there.how}{known}")
    for line in report(found).splitlines():
        console.note(f"  {line}")
    console.note(f"  asking took   {found.prompt_tokens} + {found.completion_tokens} tokens")
    style = found.style.value if writer.config.style == "auto" else writer.config.style
    context = writer.config.context_tokens or found.context_tokens
    return replace(writer, probe=found, config=replace(writer.config, style=style, context_tokens=context))


def check_writes(models: Sequence[str], task: "Task") -> None:
    """Raises UsageError if one of these does not write what is asked for."""
    from warpsmith.core import Dtype

    is_half = task.dtype in (Dtype.FP16, Dtype.BF16)
    if BUILTIN in models and (task.is_training or task.has_backward or is_half):
        raise UsageError(
            "the builtin policy writes forward passes in fp32 and in eval mode; ask another one "
            "(--model openai:NAME) for --train, --backward or a half precision"
        )


def _kind(spec: str) -> str:
    return spec.partition(":")[0]


def _name(spec: str) -> str:
    return spec.partition(":")[2]


def _named_price(text: str) -> tuple[str, tuple[float, float]]:
    """'NAME=2.5/10' or '2.5/10'; a name may hold what it likes but the last '='."""
    name, _, price = text.rpartition("=")
    return name, price_of(price)
