"""How far a policy is from another, from tokens that it drew itself (http://joschu.net/blog/kl-approx.html)."""

from collections.abc import Callable

from torch import Tensor

from warpsmith.core import UsageError

MAX_DIFFERENCE = 20.0  # nats
MAX_K3 = 10.0


def k1(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Log p - log q: unbiased, and often negative."""
    return logprobs - reference


def k3(logprobs: Tensor, reference: Tensor) -> Tensor:
    """q/p - 1 - log(q/p): unbiased, never negative, of less variance. Cut at 10, log(q/p) at 20 nats."""
    difference = (reference - logprobs).clamp(-MAX_DIFFERENCE, MAX_DIFFERENCE)
    return (difference.exp() - difference - 1.0).clamp(max=MAX_K3)


ESTIMATORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"k1": k1, "k3": k3}


def estimator(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    """Raises UsageError for an unknown name."""
    if name not in ESTIMATORS:
        raise UsageError(f"unknown estimator {name!r}; choose one of {', '.join(ESTIMATORS)}")
    return ESTIMATORS[name]
