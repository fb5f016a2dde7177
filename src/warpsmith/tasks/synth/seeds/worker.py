"""The helper process: executes task sources on the meta device, then on the CPU with real numbers.

It runs what may hang, crash or write anywhere; it is killed and started anew by whoever asked.
"""

import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch

from warpsmith.tasks.synth.seeds.outcome import Reason
from warpsmith.tasks.synth.seeds.protocol import READY, Answered, Refused, Reply, reply_line

NUM_SAMPLED = 64
MAX_WEIGHTS = 16_000_000
STRETCH = 4.0
"""Inputs are stretched to tell operators apart: relu and relu6 are one on [0, 1)."""


PROBES = (2.3, -2.7)
"""Values put into one place of x, to see which of the answers change."""


class _No(Exception):
    def __init__(
        self, reason: Reason, detail: str = "", *, is_tuple: bool = False, is_constructor: bool = False
    ) -> None:
        super().__init__(detail)
        self.refused = Refused(
            reason=reason, detail=detail[:200], is_tuple=is_tuple, is_constructor=is_constructor
        )


def executed(source: str, edges: list[list[float]], *, must_trace: bool = True) -> Reply:
    """What happens when `source`, a task in KernelBench's format, is executed."""
    try:
        trial = _Trial(source, edges)  # what an import warns of is not this operator's
    except Exception as error:  # noqa: BLE001  foreign code: whatever it raises is its answer
        return Refused(reason=Reason.UNAVAILABLE, detail=_told(error))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            reply = trial.reply(must_trace=must_trace)
        except _No as no:
            reply = no.refused
        except Exception as error:  # noqa: BLE001  as above
            reply = Refused(reason=Reason.NO_PATTERN, detail=_told(error))
    said = [str(one.message).splitlines()[0] for one in caught if _is_deprecation(one)]
    return Refused(reason=Reason.DEPRECATED, detail=said[0][:200]) if said else reply


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _is_deprecation(warning: warnings.WarningMessage) -> bool:
    text = str(warning.message).lower()
    return "deprecated" in text or issubclass(warning.category, DeprecationWarning | FutureWarning)


class _Trial:
    """One task source, executed as often as it takes to know it."""

    def __init__(self, source: str, edges: list[list[float]]) -> None:
        self._task: dict[str, Any] = {"__name__": "task"}
        exec(compile(source, "task.py", "exec"), self._task)  # what this process is for
        self._edges = edges

    @torch.no_grad()
    def reply(self, *, must_trace: bool) -> Reply:
        is_traced = must_trace and self._is_traced(must=True)
        self._check_weight()
        model = self._model()
        inputs = self._inputs(seed=1)
        y = _checked(self._called(model, inputs, seed=2))
        self._check_repeats(model, inputs, y)
        x = inputs[0]
        self._check_effects(model, inputs, y)
        self._check_finite(model)
        is_local, is_causal = _reach(lambda probe: self._called(model, [probe, *inputs[1:]], seed=2), x, y)
        return Answered(
            shape=tuple(y.shape),
            sample=self._sample(model),
            is_local=is_local,
            is_causal=is_causal,
            is_moved=bool(torch.isin(y, x).all()),
            is_smaller=y.numel() < x.numel(),
            is_traced=is_traced or self._is_traced(must=False),
        )

    def _is_traced(self, *, must: bool) -> bool:
        try:
            with torch.device("meta"):
                model = self._task["Model"](*self._task["get_init_inputs"]())
                model(*self._task["get_inputs"]())
        except Exception as error:
            if must and _says_no_meta(error):
                raise _No(Reason.NO_SHAPE, str(error).splitlines()[0]) from error
            if must:
                raise
            return False
        return True

    def _check_weight(self) -> None:
        """Refuses, before memory is spent on it, what does not get smaller with the sizes that we choose."""
        try:
            with torch.device("meta"):
                model = self._task["Model"](*self._task["get_init_inputs"]())
        except Exception:  # noqa: BLE001  not every constructor works there
            return
        num_weights = sum(parameter.numel() for parameter in model.parameters())
        if num_weights > MAX_WEIGHTS:
            detail = f"{num_weights / 1e6:.0f} million weights at small sizes"
            raise _No(Reason.UNDESCRIBED, detail, is_constructor=True)

    def _model(self) -> torch.nn.Module:
        torch.manual_seed(0)
        try:
            model: torch.nn.Module = self._task["Model"](*self._task["get_init_inputs"]())
        except Exception as error:  # as above
            raise _No(Reason.NO_PATTERN, _told(error), is_constructor=True) from error
        return model

    def _inputs(self, seed: int) -> list[torch.Tensor]:
        torch.manual_seed(seed)
        inputs: list[torch.Tensor] = self._task["get_inputs"]()
        return inputs

    def _called(self, model: torch.nn.Module, inputs: list[torch.Tensor], seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        y: torch.Tensor = model(*(one.clone() for one in inputs))
        return y

    def _check_repeats(self, model: torch.nn.Module, inputs: list[torch.Tensor], y: torch.Tensor) -> None:
        given = [one.clone() for one in inputs]
        torch.manual_seed(3)
        again = model(*given)
        if not all(_is_same(one, was) for one, was in zip(given, inputs, strict=True)):
            raise _No(Reason.IN_PLACE)
        if not _is_same(again, y):
            raise _No(Reason.RANDOM)
        if y.shape == inputs[0].shape and _is_same(y, inputs[0]):
            raise _No(Reason.IDENTITY)

    def _check_effects(self, model: torch.nn.Module, inputs: list[torch.Tensor], y: torch.Tensor) -> None:
        for place, other in enumerate(self._inputs(seed=5)):
            changed = [*inputs[:place], other, *inputs[place + 1 :]]
            if _is_same(self._called(model, changed, seed=2), y):
                raise _No(Reason.NO_EFFECT, f"input {place}")

    def _check_finite(self, model: torch.nn.Module) -> None:
        """On values at the edges of the domains too, and in eval mode."""
        inputs = self._inputs(seed=6)
        for one, edges in zip(inputs, self._edges, strict=True):
            flat = one.view(-1)
            for place, edge in enumerate(edges[: len(flat)]):
                flat[-1 - place] = edge
        y = self._called(model, inputs, seed=2)
        model.eval()
        evaluated = self._called(model, inputs, seed=2)
        if not bool(torch.isfinite(y).all() and torch.isfinite(evaluated).all()):
            raise _No(Reason.NOT_FINITE, "at an edge of the domain")

    def _sample(self, model: torch.nn.Module) -> tuple[float, ...]:
        inputs = self._inputs(seed=7)
        stretched = [
            one * STRETCH if one.is_floating_point() and bool((one < -1).any()) else one for one in inputs
        ]
        model.train()
        found: list[float] = []
        for given in (inputs, stretched):
            flat = self._called(model, given, seed=2).double().flatten().nan_to_num(nan=-1e30)
            step = max(1, flat.numel() // NUM_SAMPLED)
            found += flat[::step][:NUM_SAMPLED].clamp(-1e30, 1e30).tolist()
        return tuple(found)


def _checked(y: Any) -> torch.Tensor:
    if isinstance(y, tuple | list):
        raise _No(Reason.NOT_A_TENSOR, f"{len(y)} answers", is_tuple=bool(y) and torch.is_tensor(y[0]))
    if not torch.is_tensor(y):
        raise _No(Reason.NOT_A_TENSOR, type(y).__name__)
    if y.is_complex():
        raise _No(Reason.COMPLEX)
    if y.layout is not torch.strided:
        raise _No(Reason.SPARSE)
    if not y.is_floating_point():
        raise _No(Reason.NOT_FLOATING, str(y.dtype))
    if y.numel() == 0:
        raise _No(Reason.EMPTY)
    if not bool(torch.isfinite(y).all()):
        raise _No(Reason.NOT_FINITE)
    return y


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a.double(), b.double(), rtol=1e-6, atol=1e-9, equal_nan=True)


def _says_no_meta(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, NotImplementedError) or "meta" in text or "data-dependent" in text


def _reach(call: Callable[[torch.Tensor], Any], x: torch.Tensor, y: torch.Tensor) -> tuple[bool, bool]:
    """Whether an element of x bears on its own place alone, and whether only on places from there on."""
    if x.shape != y.shape or not x.is_floating_point():
        return False, False
    within = x.shape[-1] // 2 if x.dim() > 1 else 0  # not where a row begins: what is before it matters
    place = min(x.numel() // 2 + within, x.numel() - 1)
    changed = torch.zeros(x.numel(), dtype=torch.bool)
    for value in PROBES:
        probe = x.clone()
        probe.view(-1)[place] = value
        try:
            changed |= (call(probe) != y).view(-1)
        except RuntimeError:  # outside its domain
            return False, False
    places = changed.nonzero().flatten().tolist()
    return places == [place], bool(places) and places[0] >= place


def main() -> None:
    """Answers questions from stdin until it is closed. What foreign code prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(1)
    # Memory that is not written is NaN, so that an answer that holds it is not finite.
    torch.use_deterministic_algorithms(mode=True, warn_only=True)
    answers.write(READY + "\n")
    answers.flush()
    for line in sys.stdin:
        question = json.loads(line)
        reply = executed(question["source"], question["edges"], must_trace=question["must_trace"])
        answers.write(reply_line(reply))
        answers.flush()


if __name__ == "__main__":
    main()
