"""One candidate's life in the guest: loaded, called, counted, timed."""

import importlib
import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from warpsmith.judge.arena import Arena, ArenaError
from warpsmith.judge.fingerprint import Fingerprint, changed_names, fingerprint, fingerprints
from warpsmith.judge.guest import coverage, inline, launches, products, trespass
from warpsmith.judge.guest.failures import is_ours, last_words
from warpsmith.judge.guest.memory import arriving_late, leave_zeros, poisoned, refilled
from warpsmith.judge.guest.operators import OperatorWatch
from warpsmith.judge.guest.program import Program, Settings
from warpsmith.judge.guest.timing import Timing
from warpsmith.judge.protocol import (
    Ablate,
    Ablated,
    Broken,
    Computed,
    Count,
    Counted,
    Forward,
    GuestAnswer,
    GuestRequest,
    Hello,
    Load,
    Loaded,
    Observe,
    Observed,
    Place,
    Prepare,
    Prepared,
    Raised,
    Ran,
    Ready,
    Recall,
    Recalled,
    Show,
    Time,
    TooLarge,
    Warm,
    WeightsDiffer,
)
from warpsmith.judge.tensorfile import TensorFile, changed, leaves, room_for, total_bytes, write

ANSWER, HELD = 0, 1  # parts of the arena


class Session:
    """Answers requests. Everything but `Hello` comes after `Load`."""

    def __init__(self) -> None:
        self._timing = Timing(self._fresh_inputs, self._put)
        self._answers: dict[type, Callable[[Any], GuestAnswer]] = {
            Hello: self._ready,
            Prepare: self._prepared,
            Load: self._loaded,
            Forward: self._ran,
            Recall: self._recalled,
            Observe: self._observed,
            Ablate: self._ablated,
            Count: self._counted,
            Place: self._timing.place,
            Warm: lambda request: self._timing.warm(request, self._call),
            Time: lambda request: self._timing.time(request, self._call),
            Show: self._timing.show,
        }
        self._load: Load
        self._arena: Arena | None = None
        self._program: Program
        self._settings: Settings
        self._weights: dict[str, Fingerprint] = {}
        self._given: list[Any] = []  # the tensors of the call before
        self._kept: dict[int, object] = {}

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
        torch.cuda._sleep(1)
        self._timing.make_ready(request.flush_bytes)
        try:
            self._arena = None if request.loan is None else Arena.borrowed(request.loan)
        except ArenaError as error:
            return Prepared(why_not=str(error))
        return Prepared(why_not=None)

    def _loaded(self, request: Load) -> Loaded | WeightsDiffer:
        self._load = request
        warnings.simplefilter("ignore")  # what a candidate warns of is nobody's business
        self._settings = Settings(request)
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(request.extension), str(request.candidate)]
        inline.install(request.candidate, inline.prebuilt)
        trespass.guard(request.candidate)
        model_class = importlib.import_module("model_new").ModelNew
        with TensorFile(request.arguments) as file:
            arguments = self._placed(file.read_all())
        with torch.device(request.device) if request.makes_on_device else nullcontext():
            model = model_class(*arguments)
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"ModelNew must be a torch.nn.Module; it is a {type(model).__name__}")
        self._program = Program(model, request)
        with TensorFile(request.weights) as file:
            answer = self._take_weights(file.map_private())
        self._synchronize()
        return answer

    def _take_weights(self, weights: dict[str, torch.Tensor]) -> Loaded | WeightsDiffer:
        own = self._program.model.state_dict()
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
        self._program.take(weights)
        self._weights = {name: fingerprint(tensor) for name, tensor in self._program.fixed().items()}
        return Loaded(flipped=self._settings.flipped())

    def _ran(self, request: Forward) -> Ran | TooLarge:
        inputs = self._fresh_inputs(request.inputs)
        if request.is_plain:
            inputs = refilled(self._given, inputs)
        before = self._input_fingerprints(inputs)
        if request.is_late and self._load.device == "cuda":
            inputs = arriving_late(inputs)
        self._given = inputs
        if self._load.device == "cpu":
            products.hand_over(self._load.extension)
        outputs, computed = self._plain(inputs) if request.is_plain else self._watched(inputs)
        if request.keep_as is not None:
            self._kept[request.keep_as] = outputs
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
            changed_parameters=changed_names(self._weights, self._program.fixed()),
            computed=computed,
            flipped=self._settings.flipped(),
        )

    def _watched(self, inputs: list[Any]) -> tuple[object, tuple[Computed, ...]]:
        call = self._program.begin(inputs)
        forward = OperatorWatch(self._load.candidate)
        backward = OperatorWatch(self._load.candidate, needs_line=True)
        with poisoned():
            with forward:
                call.run()
            with backward:
                outputs = call.answer()
        return outputs, tuple((forward.computed | backward.computed).values())

    def _plain(self, inputs: list[Any]) -> tuple[object, tuple[Computed, ...]]:
        leave_zeros(inputs)
        return self._call(inputs), ()

    def _recalled(self, request: Recall) -> Recalled | TooLarge:
        outputs = self._kept.pop(request.kept_as)
        if room_for(outputs) > request.max_bytes:
            return TooLarge(num_bytes=total_bytes(outputs))
        self._put(request.outputs, outputs, HELD)
        self._synchronize()
        return Recalled()

    def _observed(self, request: Observe) -> Observed:
        watch = OperatorWatch(self._load.candidate)
        subject = self._subject(request.inputs, watch)
        kernels = subject.kernels(with_profiler=request.with_profiler)
        return Observed(kernels=kernels, libraries=(*watch.libraries, *subject.libraries()))

    def _ablated(self, request: Ablate) -> Ablated:
        taken: list[Any] = []

        def take(answer: Any) -> None:
            if room_for(answer) <= request.max_bytes:
                taken.append(answer)
                self._put(request.outputs, answer)
                self._synchronize()

        own_share = None
        try:
            own_share = self._subject(request.inputs).ablate(request.how, request.own_kernels, take)
        except coverage.Unreachable:
            return Ablated(is_possible=False)
        # A program goes by what its kernels gave, and may say so in any way.
        except Exception:  # noqa: BLE001
            return Ablated(is_possible=not taken)
        return Ablated(is_possible=True, has_answer=bool(taken), own_share=own_share)

    def _subject(self, inputs: Path, watch: OperatorWatch | None = None) -> coverage.Subject:
        given = self._fresh_inputs(inputs)

        def call() -> Any:
            begun = self._program.begin(given)
            with watch or nullcontext():
                begun.run()
                return begun.answer()

        return coverage.Subject(
            call=call,
            model=self._program.model,
            folder=self._load.extension,
            is_cpu=self._load.device == "cpu",
        )

    def _counted(self, request: Count) -> Counted:
        call = self._timing.holding(self._call, self._fresh_inputs(request.inputs))
        return launches.on_cpu(call) if self._load.device == "cpu" else launches.on_cuda(call)

    def _call(self, inputs: list[Any]) -> object:
        return self._program.timed(inputs)

    def _fresh_inputs(self, path: Path) -> list[Any]:
        """New tensors, in memory of the judge's where there is any, so that it sees what is done to them."""
        with TensorFile(path, self._arena.memory if self._arena else None) as file:
            if self._load.device == "cpu" or file.is_lent:
                return list(file.map_shared())
            return list(self._placed(file.map_private()))

    def _put(self, path: Path, answer: object, part: int = ANSWER) -> None:
        """Hand an answer over: a file, with its tensors in the arena if there is one."""
        write(path, answer, self._arena.answers(part) if self._arena else None)

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
