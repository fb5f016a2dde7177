"""A task's reference program, running: its model, its inputs from a seed, its answers."""

import copy
import importlib.util
import inspect
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import torch

from warpsmith.core import Dtype
from warpsmith.judge.calls import Caller, cast, cast_model, floating
from warpsmith.judge.oracle.compare import finite
from warpsmith.judge.protocol import Regime
from warpsmith.judge.tensorfile import changed, foreign_type, leaves

NEEDED = ("Model", "get_inputs", "get_init_inputs")
HOLDS = "tensors, numbers, text, None, and lists, tuples and dicts of them"

PLAIN = Regime()
COTANGENTS = 1 << 40  # added to a set's seed to draw them

T = TypeVar("T")


class TaskProblem(Exception):
    """The task cannot be judged; one line that says why and what to change in it."""


class Reference:
    """Raises TaskProblem, at construction and from each method, for what the task's own code does wrong."""

    def __init__(self, source: Path, device: str, seed: int, regime: Regime = PLAIN) -> None:
        self._source = source
        self._device = device
        self.regime = regime
        self._module = self._imported()
        self.arguments = self._arguments()
        self.model, self.makes_on_device = self._made(self._construct, seed)
        self._cast_weights()
        self.caller = Caller(self.model, regime)
        self._differentiable: list[torch.Tensor | None] | None = None  # like the outputs that have gradients

    def take(self, other: "Reference") -> None:
        """Take another's weights. Raises RuntimeError if names or shapes differ."""
        other.caller.restore()
        self.model.load_state_dict(other.model.state_dict())
        self.caller = Caller(self.model, self.regime)

    def inputs(self, seed: int) -> list[Any]:
        """The input set of `seed`, on the device; with gradients, cotangents are the last of it."""
        made, _ = self._made(self._module.get_inputs, seed)
        if not isinstance(made, list | tuple):
            raise TaskProblem(
                f"get_inputs returns a {type(made).__name__}; return a list of forward's arguments"
            )
        if name := foreign_type(made):
            raise TaskProblem(f"get_inputs returns a {name}; it may return {HOLDS}")
        own = list(changed(made, lambda tensor: tensor.detach().to(self._device)))
        given = list(changed(own, lambda tensor: cast(tensor, self.regime.dtype)))
        for index, (before, after) in enumerate(zip(leaves(own), leaves(given), strict=True)):
            self._check_cast(f"tensor {index} of the inputs", before, after)
        return [*given, self._cotangents(given, seed)] if self.regime.has_backward else given

    def answer(self, inputs: list[Any], seed: int) -> Any:
        """What the reference answers (see `calls`), with random numbers seeded for it."""
        return self._answer(self.caller, inputs, seed)

    def work(self, inputs: list[Any], seed: int) -> Callable[[], Any]:
        """The model's own work on `inputs`, to be run once: nothing of ours is in it."""
        call = self.caller.begin(inputs)
        seed_everything(seed)
        return call.work

    def rounded(self, inputs: list[Any], seed: int, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        """The same with `change` applied to what products read: inputs, and parameters of rank 2 and more."""
        model = copy.deepcopy(self.model)
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(change(parameter))
        return self._answer(Caller(model, self.regime), list(changed(inputs, change)), seed)

    def truth(self, inputs: list[Any], seed: int) -> Any:
        """The same in float64; None if the reference cannot run in it."""
        seed_everything(seed)
        try:
            with _default_dtype(torch.float64):
                return self._double().whole(list(changed(inputs, _as_double)))
        except (
            RuntimeError,
            TypeError,
            ValueError,
            NotImplementedError,
        ):  # its code insists on its own dtype
            return None

    def _answer(self, caller: Caller, inputs: list[Any], seed: int) -> Any:
        seed_everything(seed)
        what, remedy = "the reference raises on its own inputs", "make get_inputs fit Model.forward"
        if self.regime.dtype is not Dtype.OWN:
            what = f"the reference cannot run in {self.regime.dtype}"
            remedy = (
                "let forward make its tensors like its inputs (dtype=x.dtype), or judge it in its own dtype"
            )
        with self._blamed(what, remedy):
            return caller.whole(inputs)

    def _double(self) -> Caller:
        self.caller.restore()
        return Caller(copy.deepcopy(self.model).double(), self.regime)

    def _cotangents(self, given: list[Any], seed: int) -> list[torch.Tensor | None]:
        """One for each floating output, normal; None for one that nothing is differentiated of."""
        if self._differentiable is None:
            call = self.caller.begin([*given, []])
            with self._blamed("the reference raises on its own inputs", "make get_inputs fit Model.forward"):
                outputs = floating(call.run())
            self._differentiable = [
                torch.empty_like(output, requires_grad=False) if output.requires_grad else None
                for output in outputs
            ]
            if not any(like is not None for like in self._differentiable):
                raise TaskProblem("no output of the reference has a gradient; judge it without backward")
        seed_everything(seed + COTANGENTS)
        return [None if like is None else torch.randn_like(like) for like in self._differentiable]

    def _cast_weights(self) -> None:
        before = self.model.to(self._device).state_dict()
        self.model = cast_model(self.model, self.regime.dtype)
        for name, tensor in self.model.state_dict().items():
            self._check_cast(name, before[name], tensor)

    def _check_cast(self, name: str, before: torch.Tensor, after: torch.Tensor) -> None:
        """Raises TaskProblem if a cast made finite numbers infinite."""
        if before.dtype == after.dtype or bool((finite(after) | ~finite(before)).all()):
            return
        raise TaskProblem(
            f"{name} holds numbers that {self.regime.dtype} cannot (up to {float(before.abs().max()):.3g}); "
            "give it a smaller range, or judge it in bf16 or its own dtype"
        )

    def input_names(self) -> tuple[str, ...]:
        """Names of forward's parameters, as far as they are known."""
        return tuple(inspect.signature(self.model.forward).parameters)

    def _imported(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location("reference", self._source)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["reference"] = module
        with self._blamed("the task's file cannot be imported", "make it run by itself with torch alone"):
            spec.loader.exec_module(module)
        missing = [name for name in NEEDED if not hasattr(module, name)]
        if missing:
            raise TaskProblem(
                f"the task defines no {' and no '.join(missing)}; a task's file defines class Model, "
                "get_inputs() and get_init_inputs()"
            )
        return module

    def _arguments(self) -> Any:
        with self._blamed("get_init_inputs raises", "let it return a list of Model's arguments"):
            made = self._module.get_init_inputs()
        if not isinstance(made, list | tuple):
            raise TaskProblem(
                f"get_init_inputs returns a {type(made).__name__}; return a list of Model's arguments"
            )
        if name := foreign_type(made):
            raise TaskProblem(f"get_init_inputs returns a {name}; it may return {HOLDS}")
        return made

    def _construct(self) -> torch.nn.Module:
        model = self._module.Model(*self.arguments)
        if not isinstance(model, torch.nn.Module):
            raise TaskProblem("Model is no torch.nn.Module; derive it from torch.nn.Module")
        return model

    def _made(self, make: Callable[[], T], seed: int) -> tuple[T, bool]:
        """What `make` gives, made on the device if it can be: large tensors are slow to make and to move."""
        if self._device != "cpu":
            seed_everything(seed)
            try:
                with torch.device(self._device):
                    return make(), True
            except (RuntimeError, TypeError, ValueError, NotImplementedError):
                pass  # it insists on the CPU, with a generator of its own for instance
        seed_everything(seed)
        with self._blamed(f"{make.__name__.removeprefix('_')} raises", "make the task's file run by itself"):
            return make(), False

    @contextmanager
    def _blamed(self, what: str, remedy: str) -> Iterator[None]:
        """Turn whatever the task's own code raises into one line."""
        try:
            yield
        except TaskProblem:
            raise
        except torch.OutOfMemoryError as error:
            raise TaskProblem(
                f"{what}: it does not fit into the GPU's memory; lower its sizes or SCALE"
            ) from error
        # The task's code may raise anything at all, and all of it means the same.
        except Exception as error:
            raise TaskProblem(f"{what}: {self._said(error)}; {remedy}") from error

    def _said(self, error: Exception) -> str:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == str(self._source)
        ]
        where = f" (line {frames[-1].lineno})" if frames else ""
        first_line = next(iter(str(error).strip().splitlines()), "")
        return f"{type(error).__name__}: {first_line:.300}{where}"


def seed_everything(seed: int) -> None:
    """Seed every generator that a task may draw from."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % (1 << 32))


def _as_double(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.double() if tensor.is_floating_point() else tensor


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
