"""When training has gone wrong, by rules that can be read: pure functions of the metrics so far."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpsmith.core import UsageError
from warpsmith.learn.metrics import Metric, Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is taken for a collapse. A rule of several steps wants all of the last `patience` ones."""

    patience: int = 3
    max_mismatch: float = 0.2  # nats; in one step, and then nothing is learnt from it
    max_entropy_growth: float = 3.0  # times the mean of the first `patience` steps ...
    min_entropy_counted: float = 0.05  # ... but at least this many nats: a factor of nearly nothing is noise
    min_entropy: float = 1e-3  # nats; a policy so certain tries nothing new ...
    min_pass_of_certain: float = 0.1  # ... which is a collapse where fewer than this share pass
    min_explained_variance: float = -1.0
    min_deviation: float = 0.25  # of rewards; where they vary less, a critic has nothing to foretell
    max_clipped: float = 0.5
    max_log_ratio: float = 8.0  # a token whose probability moved by a factor of 3,000
    max_truncated: float = 0.5
    max_unrewarded: float = 0.5  # of the samples: the judge tells nothing of them
    min_pass_share: float = 0.3  # of the best mean over `patience` steps

    def __post_init__(self) -> None:
        if self.patience < 1:
            raise UsageError(f"patience is a number of steps, 1 or more, not {self.patience}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """A rule that stops training, and the numbers that broke it."""

    rule: str
    message: str
    since: int = 1  # the first step that broke it; weights from before that step are sound by this rule


History = Sequence[Metrics]
Broken = tuple[str, int]  # what to say, and how many of the latest steps broke the rule
Rule = Callable[[History, Limits], Broken | None]


def alarm(history: History, limits: Limits) -> Alarm | None:
    """The first rule that the latest steps break; `history` begins with the first step."""
    for name, rule in RULES.items():
        broken = rule(history, limits)
        if broken is not None:
            message, num_steps = broken
            return Alarm(rule=name, message=message, since=len(history) - num_steps + 1)
    return None


def is_sound(metrics: Metrics, limits: Limits) -> bool:
    """Whether anything may be learnt from this batch: its tokens are those that the policy drew."""
    mismatch = metrics.get(Metric.MISMATCH, 0.0)
    return math.isfinite(mismatch) and mismatch <= limits.max_mismatch


def _not_finite(history: History, _limits: Limits) -> Broken | None:
    broken = [metric.value for metric, value in history[-1].items() if not math.isfinite(value)]
    return (f"{', '.join(broken)} no finite number", 1) if broken else None


def _mismatch(history: History, limits: Limits) -> Broken | None:
    last = history[-1]
    if is_sound(last, limits):
        return None
    return (
        f"the trainer's log-probabilities differ by {last[Metric.MISMATCH]:.3g} nats a token from those that "
        f"were drawn with ({limits.max_mismatch:g} are allowed): other weights, or a mask that is off"
    ), 1


def _entropy_growth(history: History, limits: Limits) -> Broken | None:
    first = _known(history, Metric.ENTROPY)[: limits.patience]
    if len(history) <= limits.patience or not first:
        return None
    most = limits.max_entropy_growth * max(sum(first) / len(first), limits.min_entropy_counted)
    return _lasting(history, Metric.ENTROPY, limits, lambda value: value > most, f"above {most:.3g}")


def _certain_and_wrong(history: History, limits: Limits) -> Broken | None:
    """Entropy that falls is learning, as long as what the policy has become certain of passes."""
    last, most = history[-limits.patience :], limits.min_pass_of_certain
    if not all(step.get(Metric.PASS_RATE, 1.0) < most for step in last):
        return None
    least = limits.min_entropy
    how = f"under {least:g} and the pass rate under {most:g}"
    return _lasting(history, Metric.ENTROPY, limits, lambda value: value < least, how)


def _critic(history: History, limits: Limits) -> Broken | None:
    """A good critic's explained variance fell to -500 once nearly all returns were the same."""
    least = limits.min_explained_variance
    last = history[-limits.patience :]
    if any(step.get(Metric.REWARD_DEVIATION, math.inf) < limits.min_deviation for step in last):
        return None
    name = Metric.EXPLAINED_VARIANCE
    return _lasting(history, name, limits, lambda value: not value >= least, f"under {least:g}")


def _clipped(history: History, limits: Limits) -> Broken | None:
    most = limits.max_clipped
    return _lasting(history, Metric.CLIPPED, limits, lambda value: value > most, f"above {most:g}")


def _ratio(history: History, limits: Limits) -> Broken | None:
    most = limits.max_log_ratio
    return _lasting(history, Metric.MAX_LOG_RATIO, limits, lambda value: not value <= most, f"above {most:g}")


def _truncated(history: History, limits: Limits) -> Broken | None:
    most = limits.max_truncated
    return _lasting(history, Metric.TRUNCATED, limits, lambda value: value > most, f"above {most:g}")


def _unrewarded(history: History, limits: Limits) -> Broken | None:
    last, most = history[-limits.patience :], limits.max_unrewarded
    shares = [
        step[Metric.UNREWARDED] / step[Metric.SAMPLES]
        for step in last
        if Metric.UNREWARDED in step and step.get(Metric.SAMPLES)
    ]
    if len(shares) < limits.patience or min(shares) <= most:
        return None
    told = ", ".join(f"{share:.3g}" for share in shares)
    return f"the share of samples without a reward is above {most:g}: {told}", limits.patience


def _pass_rate(history: History, limits: Limits) -> Broken | None:
    known = _known(history, Metric.PASS_RATE)
    window = limits.patience
    if len(known) < 2 * window:
        return None
    means = [sum(known[end - window : end]) / window for end in range(window, len(known) + 1)]
    least = limits.min_pass_share * max(means)
    return _lasting(history, Metric.PASS_RATE, limits, lambda value: value < least, f"under {least:.3g}")


RULES: dict[str, Rule] = {
    "not finite": _not_finite,
    "mismatch": _mismatch,
    "entropy grows": _entropy_growth,
    "certain and wrong": _certain_and_wrong,
    "critic worse than a constant": _critic,
    "clipped": _clipped,
    "ratio": _ratio,
    "truncated": _truncated,
    "nothing rewarded": _unrewarded,
    "pass rate falls": _pass_rate,
}


def _known(history: History, metric: Metric) -> list[float]:
    return [metrics[metric] for metrics in history if metric in metrics]


def _lasting(
    history: History, metric: Metric, limits: Limits, is_broken: Callable[[float], bool], how: str
) -> Broken | None:
    """What to say if each of the last `patience` steps has the metric, and breaks the rule."""
    last = history[-limits.patience :]
    if len(last) < limits.patience or not all(metric in step and is_broken(step[metric]) for step in last):
        return None
    told = ", ".join(f"{step[metric]:.3g}" for step in last)
    return f"{metric.value} is {how} for {limits.patience} steps: {told}", limits.patience
