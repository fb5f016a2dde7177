"""Runs the texts of blocks: on the CPU with small tensors, or on the meta device with large ones."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import CodeType
from typing import Any

import torch
from torch import nn

from warpsmith.tasks.synth.base import Argument, Block
from warpsmith.tasks.synth.compose.stage import Stage, core_text, filled, glued_text
from warpsmith.tasks.synth.compose.values import HELPERS, tensor_text

Tensor = torch.Tensor

FOREIGN = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, RuntimeError,
    SyntaxError, TypeError, ValueError,
)  # fmt: skip
"""What the text of an operator may raise on a shape that it does not take."""


class Unfit(Exception):
    """An operator does not take what it is given, or gives what cannot be handed on."""


@contextmanager
def calm(seed: int) -> Iterator[None]:
    """Nothing inside draws from or changes the caller's random numbers; warnings are not shown."""
    with torch.random.fork_rng(devices=[]), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        yield


class Bench:
    """One model under construction, on one device."""

    def __init__(self, device: str) -> None:
        self._device = torch.device(device)
        self._model = nn.Module().eval()
        self._names: dict[str, Any] = {"torch": torch, "nn": nn, "self": self._model}
        for helper in HELPERS:
            exec(_compiled(helper, "exec"), self._names)

    def tensor(self, argument: Argument, factor: float = 1.0) -> Tensor:
        """Such a tensor as a task would draw. Raises Unfit."""
        if self._device.type == "meta":  # which draws nothing, and slowly
            return self._empty(argument)
        text = tensor_text(argument, ", ".join(map(str, argument.shape)), str(argument.bound), factor)
        return self._evaluated(text, {})

    def _empty(self, argument: Argument) -> Tensor:
        try:
            return torch.empty(argument.shape, dtype=getattr(torch, argument.dtype), device=self._device)
        except RuntimeError as error:  # more bytes than 64 bits count
            raise Unfit(str(error)) from error

    def prepare(self, block: Block, attribute: str) -> list[Tensor]:
        """The block's modules, in eval mode, and their parameters. Raises Unfit."""
        known = set(self._model.state_dict(keep_vars=True))
        try:
            with self._device:
                for line in block.imports:
                    exec(_compiled(line, "exec"), self._names)
                for line in block.init:
                    exec(_compiled(filled(line, x="x", attribute=attribute), "exec"), self._names)
        except FOREIGN as error:
            raise Unfit(str(error)) from error
        self._model.eval()
        state = self._model.state_dict(keep_vars=True)
        return [value for name, value in state.items() if name not in known and torch.is_tensor(value)]

    def core(
        self, stage: Stage, blocks: Sequence[Block], attributes: Sequence[str], tensors: Sequence[Tensor]
    ) -> Callable[[Tensor], Tensor]:
        """The stage as a function of x, without its glue. The function raises Unfit."""
        names = [f"t{index}" for index in range(len(tensors))]
        text = core_text(stage, blocks, x="x", attributes=attributes, tensors=names)
        given = dict(zip(names, tensors, strict=True))
        return lambda x: self._evaluated(text, {**given, "x": x})

    def glued(self, stage: Stage, x: Tensor, y: Tensor, tensor: Tensor | None) -> Tensor:
        """The stage's answer `y` with its glue. Raises Unfit."""
        text = glued_text(stage, "y", x="x", tensor="t")
        return self._evaluated(text, {"x": x, "y": y, "t": tensor})

    def _evaluated(self, text: str, tensors: dict[str, Tensor | None]) -> Tensor:
        try:
            with self._device:
                answer = eval(_compiled(text, "eval"), self._names, tensors)
        except FOREIGN as error:
            raise Unfit(str(error)) from error
        if not torch.is_tensor(answer) or answer.layout is not torch.strided:
            raise Unfit("no tensor")
        return answer


@cache
def _compiled(text: str, mode: str) -> CodeType:
    return compile(text, "block", mode)
