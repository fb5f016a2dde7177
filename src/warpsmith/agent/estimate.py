"""What a run may cost, before it does: two cases that a run should lie between, and what caps make of them.

Nothing is known of the model's habits before it has spoken, so both are guesses: a model that is quick to be
satisfied, and one that uses all its turns. They are printed with what they rest on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warpsmith.agent.budget import FREE, Budget
from warpsmith.agent.prompts import opening
from warpsmith.agent.tools import SPECS
from warpsmith.agent.window.tokens import least_tokens, message_tokens, room_tokens, tools_tokens
from warpsmith.core import Cost, StopReason, Task
from warpsmith.policy import Price

WINDOW_TOKENS = 131_072  # of a model that does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Who writes in one attempt, as far as it matters for what that costs."""

    name: str
    price: Price | None = FREE  # None: it costs money, and how much is not known
    context_tokens: int | None = WINDOW_TOKENS
    reply_tokens: int = 16_384  # at most
    reads_tokens: bool = True  # False: rules or a recording, which cost nothing but time


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How a model works; assumed, not measured."""

    num_turns: int
    reply_tokens: int  # words, reasoning and programs
    result_tokens: int  # of the answers to one reply's calls
    tokens_per_s: float  # of writing
    judging_s: float  # a turn: building, checking, timing; attempts wait for each other's
    gpu_s: float  # of these


THRIFTY = Habits(
    num_turns=12, reply_tokens=500, result_tokens=200, tokens_per_s=100.0, judging_s=3.0, gpu_s=0.5
)
LAVISH = Habits(
    num_turns=200, reply_tokens=3_000, result_tokens=1_500, tokens_per_s=20.0, judging_s=30.0, gpu_s=10.0
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """All attempts together, each with `num_turns` turns. `stop` is the cap that ends it, if one does."""

    habits: Habits
    num_turns: int
    cost: Cost  # with wall time from start to end
    stop: StopReason | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What `models`, an attempt each, may cost on a task. Without caps, and with those of `budget`."""

    models: tuple[Model, ...]
    budget: Budget
    opening_tokens: tuple[int, int]  # guide, task and tools, at every turn; from and to
    lower: Case
    upper: Case
    lower_capped: Case
    upper_capped: Case

    @property
    def warning(self) -> str | None:
        """That the caps end the run before much can come of it."""
        if not any(model.reads_tokens for model in self.models):
            return None
        case = self.lower_capped
        if case.stop is None:
            return None
        who = "the run" if len(self.models) == 1 else f"each of {len(self.models)} attempts"
        return (
            f"the limit on {case.stop} ends {who} after about {_turns(case.num_turns)} even if replies are "
            f"short; with fewer than {self.lower.num_turns} little can be expected"
        )


def estimate(task: Task, models: Sequence[Model], budget: Budget) -> Estimate:
    """`models` holds one for each attempt; all share `budget`, but for its turns."""
    messages = opening(task)
    least = least_tokens(messages) + tools_tokens(SPECS) // 2
    most = sum(message_tokens(message) for message in messages) + tools_tokens(SPECS)
    thrifty = replace(THRIFTY, num_turns=min(THRIFTY.num_turns, budget.max_turns))
    lavish = replace(LAVISH, num_turns=budget.max_turns)
    turns_alone = Budget(max_turns=budget.max_turns)
    return Estimate(
        models=tuple(models),
        budget=budget,
        opening_tokens=(least, most),
        lower=_case(thrifty, least, models, turns_alone),
        upper=_case(lavish, most, models, turns_alone),
        lower_capped=_case(thrifty, least, models, budget),
        upper_capped=_case(lavish, most, models, budget),
    )


def estimate_text(found: Estimate) -> str:
    """Plain text for a reader: figures, what they rest on, and what the caps do."""
    lines = [f"Estimate for {_names(found.models)}, before anything is asked; what comes may lie outside it:"]
    lines += [f"  {line}" for line in (*_figures(found), *_rests_on(found), _caps(found))]
    if found.warning is not None:
        lines.append(f"  warning: {found.warning}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spending:
    """What one case has come to, turn by turn."""

    habits: Habits
    opening_tokens: int
    models: Sequence[Model]

    def turn(self, number: int) -> Cost:
        """All attempts' turn of that number. They write side by side and are judged one after the other."""
        spent = Cost()
        for model in self.models:
            if model.reads_tokens:
                spent += self._asking(number, model)
        habits, writing_s = self.habits, self.habits.reply_tokens / self.habits.tokens_per_s
        return replace(
            spent,
            gpu_s=habits.gpu_s * len(self.models),
            wall_s=(writing_s if spent.prompt_tokens else 0.0) + habits.judging_s * len(self.models),
        )

    def _asking(self, number: int, model: Model) -> Cost:
        """The whole conversation is sent again every time."""
        habits = self.habits
        prompt = self.opening_tokens + (number - 1) * (habits.reply_tokens + habits.result_tokens)
        if model.context_tokens is not None:
            room = room_tokens(model.context_tokens, SPECS, model.reply_tokens) + tools_tokens(SPECS)
            prompt = min(prompt, max(self.opening_tokens, room))
        completion = min(habits.reply_tokens, model.reply_tokens)
        usd = (model.price or FREE).usd(prompt, completion)
        return Cost(prompt_tokens=prompt, completion_tokens=completion, usd=usd)


def _case(habits: Habits, opening_tokens: int, models: Sequence[Model], budget: Budget) -> Case:
    """The caps bind as they do in an episode: before a turn, so that the last may overrun them."""
    spending = _Spending(habits=habits, opening_tokens=opening_tokens, models=models)
    cost, num_turns = Cost(), 0
    stop = budget.exhausted(0, cost, 0.0)
    while num_turns < habits.num_turns and stop is None:
        num_turns += 1
        cost += spending.turn(num_turns)
        stop = budget.exhausted(0, cost, cost.wall_s)
    is_whole = num_turns == habits.num_turns
    return Case(habits=habits, num_turns=num_turns, cost=cost, stop=None if is_whole else stop)


def _figures(found: Estimate) -> list[str]:
    lower, upper = found.lower.cost, found.upper.cost
    lines = []
    if any(model.reads_tokens for model in found.models):
        lines.append(
            f"tokens: {_rounded(_tokens(lower))} to {_rounded(_tokens(upper))}, of which "
            f"{_rounded(lower.completion_tokens)} to {_rounded(upper.completion_tokens)} are written"
        )
        lines.append(_money(found))
    lines.append(f"time: {_time(lower.wall_s)} to {_time(upper.wall_s)}")
    return lines


def _money(found: Estimate) -> str:
    unknown = ", ".join(dict.fromkeys(model.name for model in found.models if model.price is None))
    if unknown:
        return f"money: the price of {unknown} is not known, so no limit on money can hold; give its price"
    if not found.upper.cost.usd:
        return "money: none"
    return f"money: {_usd(found.lower.cost.usd)} to {_usd(found.upper.cost.usd)} USD"


def _rests_on(found: Estimate) -> list[str]:
    low, high = found.lower.habits, found.upper.habits
    lines = [f"assumed: {low.num_turns} to {_turns(high.num_turns)} an attempt; a turn takes "]
    lines[0] += f"{low.judging_s:g} to {high.judging_s:g} s of building and judging, one attempt's at a time"
    if not any(model.reads_tokens for model in found.models):
        return lines
    least, most = (_rounded(count) for count in found.opening_tokens)
    return [
        *lines,
        f"assumed: replies of {low.reply_tokens:,} to {high.reply_tokens:,} tokens, "
        f"{high.tokens_per_s:g} to {low.tokens_per_s:g} a second, and answers to their calls of "
        f"{low.result_tokens:,} to {high.result_tokens:,}",
        f"assumed: all that was said is sent again at the full price every turn (no prompt caching), with "
        f"{least} to {most} tokens of guide, task and tools, until the model's window is full",
    ]


def _caps(found: Estimate) -> str:
    """What becomes of the two cases under the limits."""
    budget = found.budget
    said = {
        f"{_usd(budget.max_usd or 0.0)} USD": budget.max_usd,
        f"{budget.max_tokens or 0:,} tokens": budget.max_tokens,
        _time(budget.max_wall_s or 0.0): budget.max_wall_s,
        f"{budget.max_gpu_s or 0.0:g} s of GPU": budget.max_gpu_s,
    }
    limits = [text for text, limit in said.items() if limit is not None]
    if not limits:
        return "limits: none but on turns"
    together = " for all attempts together" if len(found.models) > 1 else ""
    low, high = _allowed(found.lower_capped), _allowed(found.upper_capped)
    return f"limits: {', '.join(limits)}{together}; in the lower case {low}, in the upper case {high}"


def _allowed(case: Case) -> str:
    if case.stop is None:
        return f"all {_turns(case.habits.num_turns)} are within them"
    return f"that on {case.stop} ends it after about {_turns(case.num_turns)}"


def _names(models: Sequence[Model]) -> str:
    names = [model.name for model in models]
    counted = [
        f"{names.count(name)} x {name}" if names.count(name) > 1 else name for name in dict.fromkeys(names)
    ]
    return ", ".join(counted)


def _tokens(cost: Cost) -> int:
    return cost.prompt_tokens + cost.completion_tokens


def _turns(count: int) -> str:
    return f"{count} turn" if count == 1 else f"{count} turns"


def _rounded(count: int) -> str:
    """Two digits: more would look as if they were known."""
    return f"{int(float(f'{count:.2g}')):,}"


def _usd(usd: float) -> str:
    return f"{usd:,.0f}" if usd >= 100 else f"{usd:.2f}" if usd >= 0.1 else f"{usd:.2g}"


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
