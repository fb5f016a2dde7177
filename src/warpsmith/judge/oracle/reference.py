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

from warpsmith.judge.tensorfile import changed, foreign_type

NEEDED = ("Model", "get_inputs", "get_init_inputs")
HOLDS = "tensors, numbers, text, None, and lists, tuples and dicts of them"

T = TypeVar("T")


class TaskProblem(Exception):
    """The task cannot be judged; one line that says why and what to change in it."""


class Reference:
    """Raises TaskProblem, at construction and from each method, for what the task's own code does wrong."""

    def __init__(self, source: Path, device: str, seed: int) -> None:
        self._source = source
        self._device = device
        self._module = self._imported()
        self.arguments = self._arguments()
        self.model, self.makes_on_device = self._made(self._construct, seed)
        self.model.to(device).eval()

    def inputs(self, seed: int) -> list[Any]:
        """The input set of `seed`, on the device."""
        made, _ = self._made(self._module.get_inputs, seed)
        if not isinstance(made, list | tuple):
            raise TaskProblem(
                f"get_inputs returns a {type(made).__name__}; return a list of forward's arguments"
            )
        if name := foreign_type(made):
            raise TaskProblem(f"get_inputs returns a {name}; it may return {HOLDS}")
        return list(changed(made, lambda tensor: tensor.detach().to(self._device)))

    def answer(self, inputs: list[Any], seed: int) -> Any:
        """What the reference returns, with random numbers seeded for it."""
        seed_everything(seed)
        with self._blamed("the reference raises on its own inputs", "make get_inputs fit Model.forward"):
            return self.model(*inputs)

    def truth(self, inputs: list[Any], seed: int) -> Any:
        """The same in float64; None if the reference cannot run in it."""
        seed_everything(seed)
        try:
            with _default_dtype(torch.float64):
                return self._double_model()(*changed(inputs, _as_double))
        except (
            RuntimeError,
            TypeError,
            ValueError,
            NotImplementedError,
        ):  # its code insists on its own dtype
            return None

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

    def _double_model(self) -> torch.nn.Module:
        return copy.deepcopy(self.model).double()

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
