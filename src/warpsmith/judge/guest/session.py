"""One candidate's life in the guest: loaded, called, counted, timed."""

import importlib
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from warpsmith.judge.arena import Arena, ArenaError
from warpsmith.judge.fingerprint import Fingerprint, changed_names, fingerprint, fingerprints
from warpsmith.judge.guest import launches
from warpsmith.judge.guest.failures import is_ours, last_words
from warpsmith.judge.guest.memory import arriving_late, poisoned
from warpsmith.judge.guest.operators import OperatorWatch
from warpsmith.judge.protocol import (
    Broken,
    Count,
    Counted,
    Forward,
    GuestAnswer,
    GuestRequest,
    Hello,
    Load,
    Loaded,
    Prepare,
    Prepared,
    Raised,
    Ran,
    Ready,
    Time,
    Timed,
    TooLarge,
    Warm,
    Warmed,
    WeightsDiffer,
)
from warpsmith.judge.stopwatch import Stopwatch
from warpsmith.judge.tensorfile import TensorFile, changed, leaves, room_for, total_bytes, write

ANSWER, HELD = 0, 1  # parts of the arena


class Session:
    """Answers requests. Everything but `Hello` comes after `Load`."""

    def __init__(self) -> None:
        self._answers: dict[type, Callable[[Any], GuestAnswer]] = {
            Hello: self._ready,
            Prepare: self._prepared,
            Load: self._loaded,
            Forward: self._ran,
            Count: self._counted,
            Warm: self._warmed,
            Time: self._timed,
        }
        self._load: Load
        self._arena: Arena | None = None
        self._model: torch.nn.Module
        self._weights: dict[str, Fingerprint] = {}
        self._previous: object = None
        self._stopwatch: Stopwatch
        self._input_sets: Iterator[Any]

    def answer(self, request: GuestRequest) -> GuestAnswer:
        try:
            with torch.no_grad():
                return self._answers[type(request)](request)
        # The outermost frame around code that may raise anything at all.
        except Exception as error:  # noqa: BLE001
            folder = self._load.candidate if hasattr(self, "_load") else Path("/")
            if is_ours(error, folder):
                return Broken(reason=f"{type(error).__name__}: {error}")
            return Raised(log=last_words(error, folder))

    def _ready(self, _: Hello) -> Ready:
        return Ready(python=sys.version.split()[0], torch=torch.__version__)

    def _prepared(self, request: Prepare) -> Prepared:
        torch.zeros(1, device="cuda")
        try:
            self._arena = None if request.loan is None else Arena.borrowed(request.loan)
        except ArenaError as error:
            return Prepared(why_not=str(error))
        return Prepared(why_not=None)

    def _loaded(self, request: Load) -> Loaded | WeightsDiffer:
        self._load = request
        warnings.simplefilter("ignore")  # what a candidate warns of is nobody's business
        torch.set_float32_matmul_precision("highest")
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(request.extension), str(request.candidate)]
        model_class = importlib.import_module("model_new").ModelNew
        with TensorFile(request.arguments) as file:
            arguments = self._placed(file.read_all())
        with torch.device(request.device) if request.makes_on_device else nullcontext():
            model = model_class(*arguments)
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"ModelNew must be a torch.nn.Module; it is a {type(model).__name__}")
        self._model = model.to(request.device).eval()
        with TensorFile(request.weights) as file:
            answer = self._take_weights(file.map_private())
        self._synchronize()
        return answer

    def _take_weights(self, weights: dict[str, torch.Tensor]) -> Loaded | WeightsDiffer:
        own = self._model.state_dict()
        common = [name for name in weights if name in own]
        reshaped = tuple(
            f"{name}: {_shape(own[name])} instead of {_shape(weights[name])}"
            for name in common
            if own[name].shape != weights[name].shape
        )
        missing = tuple(name for name in weights if name not in own)
        unexpected = tuple(name for name in own if name not in weights)
        if missing or unexpected or reshaped:
            return WeightsDiffer(missing=missing, unexpected=unexpected, reshaped=reshaped)
        self._model.load_state_dict(weights)
        self._weights = {name: fingerprint(tensor) for name, tensor in self._model.state_dict().items()}
        return Loaded()

    def _ran(self, request: Forward) -> Ran | TooLarge:
        inputs = self._fresh_inputs(request.inputs)
        before = self._input_fingerprints(inputs)
        if request.is_late and self._load.device == "cuda":
            inputs = arriving_late(inputs)
        with poisoned(), OperatorWatch(self._load.candidate) as watch:
            outputs = self._model(*inputs)
        if request.held is not None:
            self._put(request.held, self._previous, HELD)
        self._previous = outputs
        if room_for(outputs) > request.max_bytes:
            return TooLarge(num_bytes=total_bytes(outputs))
        # In the order of the candidate's stream, before the device is waited for: what other streams have not
        # finished by then is not an answer.
        self._put(request.outputs, outputs)
        self._synchronize()
        after = self._input_fingerprints(inputs)
        changes = enumerate(zip(before, after, strict=True))
        return Ran(
            changed_inputs=tuple(index for index, (old, new) in changes if old != new),
            changed_parameters=changed_names(self._weights, self._model.state_dict()),
            computed=tuple(watch.computed.values()),
        )

    def _counted(self, request: Count) -> Counted:
        inputs = self._fresh_inputs(request.inputs)
        if self._load.device == "cpu":
            return launches.on_cpu(lambda: self._model(*inputs))
        return launches.on_cuda(lambda: self._model(*inputs))

    def _warmed(self, request: Warm) -> Warmed:
        self._previous = None
        self._input_sets = itertools.cycle([self._fresh_inputs(path) for path in self._load.inputs])
        self._stopwatch = Stopwatch(request.flush_bytes)
        return Warmed(call_us=self._stopwatch.warm_up(self._call, request.warm_up_ms))

    def _timed(self, request: Time) -> Timed:
        return Timed(samples_us=self._stopwatch.samples_us(self._call, request.calls))

    def _call(self) -> object:
        return self._model(*next(self._input_sets))

    def _fresh_inputs(self, path: Path) -> list[Any]:
        """New tensors, in memory of the judge's where there is any, so that it sees what is done to them."""
        with TensorFile(path, self._arena and self._arena.memory) as file:
            if self._load.device == "cpu" or self._arena is not None:
                return list(file.map_shared())
            return list(self._placed(file.map_private()))

    def _put(self, path: Path, answer: object, part: int = ANSWER) -> None:
        """Hand an answer over: a file, with its tensors in the arena if there is one."""
        write(path, answer, self._arena and self._arena.answers(part))

    def _input_fingerprints(self, inputs: list[Any]) -> tuple[Fingerprint, ...]:
        # Where no arena could be lent, a GPU's inputs lie in this process alone: its word has to be taken.
        return fingerprints(leaves(inputs)) if self._load.device == "cuda" and self._arena is None else ()

    def _placed(self, tree: Any) -> Any:
        return changed(tree, lambda tensor: tensor.to(self._load.device))

    def _synchronize(self) -> None:
        if self._load.device == "cuda":
            torch.cuda.synchronize()


def _shape(tensor: torch.Tensor) -> str:
    return str(list(tensor.shape))
