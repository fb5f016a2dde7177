"""A reference under audit: its input sets and answers, and how far another answer is from them."""

import copy
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from warpsmith.judge.oracle.examination import held, input_seeds, target_leaves
from warpsmith.judge.oracle.reference import Reference, TaskProblem
from warpsmith.judge.oracle.telling import off_by
from warpsmith.judge.protocol import Open
from warpsmith.judge.tensorfile import changed, leaves

NUM_ROUNDED = 2  # runs with rounded operands, which its bounds take
SHARE_OF_RMS = 0.5  # by which a value is disturbed
NOISE_SEED = 0x6E6F697365  # none that anything else is drawn from
LEAST_DISTURBANCE = 0.1  # where all values are zero


@dataclass(frozen=True, slots=True)
class Shift:
    """How far an answer moved, of the output that moved farthest past its bound."""

    error: float
    allowed: float

    @property
    def is_seen(self) -> bool:
        """Whether a judge would tell the two answers apart."""
        return self.error > self.allowed

    @property
    def text(self) -> str:
        return f"moves the output by {self.error:.1e} of its size, and {self.allowed:.1e} is allowed"


class Subject:
    """Raises TaskProblem if the reference cannot be run at all."""

    def __init__(self, reference: Reference, request: Open, budget_s: float) -> None:
        self.reference = reference
        self.seed = input_seeds(request)[0]  # of whatever forward may draw
        self.num_forwards = 0
        self._ends_at = time.monotonic() + budget_s
        self.forward_s = 0.0  # the last one
        self._probe_s = 0.0  # the slowest, with the comparison
        seeds = input_seeds(request)
        self.inputs = [reference.inputs(seed) for seed in seeds]
        self.answers = [self.run(given) for given in self.inputs]
        if not list(leaves(self.answers[0])):
            raise TaskProblem("the reference returns no tensor")
        self.examination = held(reference, request, self.inputs, self.answers, seeds)
        self.num_forwards += len(seeds) + NUM_ROUNDED
        self.goals = [target_leaves(case.targets) for case in self.examination.cases]
        self.bounds = self.examination.bounds

    @property
    def model(self) -> torch.nn.Module:
        return self.reference.model

    def run(self, inputs: list[Any], seed: int | None = None) -> Any:
        """The reference's answer to a copy of `inputs`. Raises TaskProblem if it has none."""
        started = time.monotonic()
        self.num_forwards += 1
        answer = self.reference.answer(copied(inputs), self.seed if seed is None else seed)
        self.forward_s = time.monotonic() - started
        return changed(answer, lambda tensor: tensor.detach().clone())

    def shift(self, inputs: list[Any] | None = None) -> Shift:
        """How far the answer to `inputs` is from the first set's; without one, the first set is run again."""
        started = time.monotonic()
        try:
            return self.distance(self.run(self.inputs[0] if inputs is None else inputs))
        except TaskProblem:  # what was done to it makes it raise: that is seen
            return Shift(math.inf, 0.0)
        finally:
            self._probe_s = max(self._probe_s, time.monotonic() - started)

    def distance(self, answer: Any, case: int = 0) -> Shift:
        """How far `answer` is from what it should be."""
        found = list(leaves(answer))
        goals = self.goals[case]
        if [(tuple(one.shape), one.dtype) for one in found] != [(goal.shape, goal.dtype) for goal in goals]:
            return Shift(math.inf, 0.0)
        shifts = [
            Shift(off_by(goal, tensor, bound.allowed), bound.allowed)
            for goal, tensor, bound in zip(goals, found, self.bounds, strict=True)
        ]
        return max(shifts, key=lambda shift: shift.error / shift.allowed if shift.allowed else shift.error)

    def can_afford(self, forwards: int = 1) -> bool:
        """Whether there is time for so many more runs."""
        return time.monotonic() + forwards * max(self._probe_s, self.forward_s) < self._ends_at


def copied(inputs: list[Any]) -> list[Any]:
    return list(changed(inputs, lambda tensor: tensor.detach().clone()))


def with_leaf(inputs: list[Any], index: int, tensor: torch.Tensor) -> list[Any]:
    """`inputs` with its tensor number `index` replaced."""
    tensors = list(leaves(inputs))
    tensors[index] = tensor
    rest = iter(tensors)
    return list(changed(inputs, lambda _: next(rest)))


def disturbed(tensor: torch.Tensor) -> torch.Tensor:
    """Other values of the same kind and size; numbers from a fixed seed, so that a run can be repeated."""
    if tensor.dtype is torch.bool:
        return ~tensor
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor.flip(0) if tensor.dim() else tensor + 1
    wide = tensor.double() if not tensor.is_complex() else tensor
    finite = torch.where(torch.isfinite(wide.abs()), wide.abs(), 0.0)
    rms = float(finite.square().mean().sqrt()) if tensor.numel() else 0.0
    generator = torch.Generator(device=tensor.device).manual_seed(NOISE_SEED)
    noise = torch.randn(tensor.shape, generator=generator, device=tensor.device)
    return tensor + (noise * (SHARE_OF_RMS * rms or LEAST_DISTURBANCE)).to(tensor.dtype)


def held_tensors(model: torch.nn.Module) -> Iterator[tuple[str, str, torch.Tensor]]:
    """Name, sort and value of each tensor that the model holds, plain attributes among them."""
    for prefix, module in model.named_modules():
        for sort, found in (
            ("parameter", module._parameters),
            ("buffer", module._buffers),
            ("attribute", vars(module)),
        ):
            for name, value in found.items():
                if isinstance(value, torch.Tensor):
                    yield f"{prefix}.{name}".lstrip("."), sort, value


def twin_of(model: torch.nn.Module) -> torch.nn.Module | None:
    """A copy with its own state, if it can be copied."""
    try:
        return copy.deepcopy(model)
    except (RuntimeError, TypeError, NotImplementedError):
        return None
