"""One task's life in the oracle: opened, compared with, timed."""

import itertools
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from warpsmith.core import Precision
from warpsmith.judge.arena import Arena, ArenaError
from warpsmith.judge.model import fused
from warpsmith.judge.oracle.examination import Case, Examination, examine, target_leaves
from warpsmith.judge.oracle.record import record
from warpsmith.judge.oracle.reference import Reference, TaskProblem
from warpsmith.judge.oracle.verification import changed_input, structure, value_message, values
from warpsmith.judge.protocol import (
    COMPILE,
    Broken,
    Compare,
    Compared,
    Difference,
    Hello,
    Lend,
    Lent,
    Loan,
    Open,
    Opened,
    OracleAnswer,
    OracleRequest,
    Ready,
    Time,
    Timed,
    Unavailable,
    Unusable,
    Warm,
    Warmed,
)
from warpsmith.judge.stopwatch import Stopwatch
from warpsmith.judge.tensorfile import TensorFile, TensorFileError, leaves, room_for, write

ANSWER_ROOM_BYTES = 1 << 20  # beyond the reference's own outputs, and for aligning them
MIN_SLOTS, MAX_SLOTS = 3, 64  # input sets in the arena
SLOT_ALIGNMENT = 1 << 12


class Session:
    """Answers requests. Everything but `Hello` comes after `Open`."""

    def __init__(self) -> None:
        self._answers: dict[type, Callable[[Any], OracleAnswer]] = {
            Hello: self._ready,
            Open: self._opened,
            Lend: self._lent,
            Compare: self._compared,
            Warm: self._warmed,
            Time: self._timed,
        }
        self._reference: Reference
        self._examination: Examination
        self._programs: dict[str, Callable[[], object]] = {}
        self._input_sets: Iterator[list[Any]]
        self._arena: Arena | None = None
        self._stopwatch: Stopwatch

    def answer(self, request: OracleRequest) -> OracleAnswer:
        try:
            with torch.no_grad():
                return self._answers[type(request)](request)
        except TaskProblem as problem:
            return Unusable(reason=str(problem))
        except (OSError, torch.OutOfMemoryError) as error:
            return Broken(reason=_said(error))

    def _ready(self, _: Hello) -> Ready:
        return Ready(python=sys.version.split()[0], torch=torch.__version__)

    def _timed(self, request: Time) -> Timed:
        program = self._programs[request.program]
        return Timed(samples_us=self._stopwatch.samples_us(program, request.calls))

    def _opened(self, request: Open) -> Opened:
        warnings.simplefilter("ignore")
        sys.dont_write_bytecode = True
        is_tf32 = request.precision == Precision.TF32
        torch.set_float32_matmul_precision("high" if is_tf32 and request.device == "cuda" else "highest")
        self._reference = reference = Reference(request.source, request.device, request.seed)
        self._examination = examine(reference, request)
        cases = self._examination.cases
        write(request.folder / "arguments", reference.arguments)
        write(request.folder / "weights", dict(reference.model.state_dict()))
        for index, case in enumerate(cases):
            write(request.folder / f"inputs-{index}", case.inputs)
        sources = [*leaves(cases[0].inputs), *reference.model.parameters(), *reference.model.buffers()]
        done = record(lambda: reference.answer(cases[0].inputs, request.seed), sources)
        return Opened(
            output_bytes=max(_output_bytes(case) for case in cases),
            has_truth=self._examination.has_truth,
            makes_on_device=reference.makes_on_device,
            environment=_environment(),
            eager=done.launches,
            compiled=fused(done.launches, done.memory),
            read_bytes=done.read_bytes,
            written_bytes=done.written_bytes,
            loan=self._loan(request.lend_bytes),
        )

    def _loan(self, most_bytes: int) -> Loan | None:
        """An arena for this task's answers and input sets, if `most_bytes` are enough for one."""
        cases = self._examination.cases
        answer_bytes = _aligned(max(_output_bytes(case) for case in cases) + ANSWER_ROOM_BYTES)
        input_bytes = _aligned(max(room_for(case.inputs) for case in cases) + 1)
        num_slots = min((most_bytes - 2 * answer_bytes) // input_bytes, MAX_SLOTS)
        if num_slots < MIN_SLOTS:
            return None
        try:
            self._arena = Arena.allocated(
                answer_bytes=answer_bytes, input_bytes=input_bytes, num_slots=num_slots
            )
        except ArenaError:
            return None
        return self._arena.loan

    def _lent(self, request: Lend) -> Lent:
        assert self._arena is not None
        request.inputs.unlink(missing_ok=True)
        room = self._arena.slot(request.slot)
        write(request.inputs, self._examination.cases[request.case].inputs, room)
        torch.cuda.synchronize()
        return Lent()

    def _memory(self) -> torch.Tensor | None:
        return self._arena and self._arena.memory

    def _compared(self, request: Compare) -> Compared:
        case = self._examination.cases[request.case]
        bounds = self._examination.bounds
        try:
            with TensorFile(request.outputs, self._memory()) as file:
                pairs: list[Any] = []
                if message := structure(case.targets, file.tree, "the output", pairs):
                    return _different(Difference(what="structure", message=message))
                found = values(file, pairs, bounds)
                bound, deviation, pair = max(found, key=lambda item: _share(item[1].error, item[0].allowed))
                difference = None
                if deviation.error > bound.allowed:
                    message = value_message(deviation, pair, file, request.case)
                    difference = Difference(
                        what="values", message=message, error=deviation.error, allowed=bound.allowed
                    )
            difference = self._input_difference(request) or difference
        except TensorFileError as error:
            return _different(Difference(what="structure", message=f"the output's file is damaged: {error}"))
        return Compared(
            error=deviation.error,
            reference_error=bound.reference_error,
            allowed=bound.allowed,
            difference=difference,
        )

    def _input_difference(self, request: Compare) -> Difference | None:
        if request.inputs is None:
            return None
        with TensorFile(request.inputs, self._memory()) as file:
            case = self._examination.cases[request.case]
            message = changed_input(file, case, self._reference.input_names())
        return None if message is None else Difference(what="inputs changed", message=message)

    def _warmed(self, request: Warm) -> Warmed | Unavailable:
        self._input_sets = itertools.cycle([case.inputs for case in self._examination.cases])
        self._stopwatch = Stopwatch(request.flush_bytes)
        if request.program not in self._programs:
            self._programs[request.program] = self._program(request.program)
        try:
            call_us = self._stopwatch.warm_up(self._programs[request.program], request.warm_up_ms)
        # torch.compile may raise anything on a reference that eager runs; that says nothing about the
        # candidate.
        except Exception as error:
            if request.program != COMPILE:
                raise
            torch._dynamo.reset()
            return Unavailable(reason=f"{type(error).__name__}: {str(error).strip().splitlines()[0]:.300}")
        return Warmed(call_us=call_us)

    def _program(self, name: str) -> Callable[[], object]:
        model = torch.compile(self._reference.model) if name == COMPILE else self._reference.model
        return lambda: model(*next(self._input_sets))


def _output_bytes(case: Case) -> int:
    return sum(math.prod(goal.shape) * goal.dtype.itemsize for goal in target_leaves(case.targets))


def _aligned(num_bytes: int) -> int:
    return -(-num_bytes // SLOT_ALIGNMENT) * SLOT_ALIGNMENT


def _different(difference: Difference) -> Compared:
    return Compared(error=float("inf"), reference_error=0.0, allowed=0.0, difference=difference)


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return next(iter(str(error).splitlines()), type(error).__name__)


def _share(error: float, allowed: float) -> float:
    """How much of what is allowed is used up; an exact output uses nothing or all."""
    return error / allowed if allowed else error


def _environment() -> dict[str, str]:
    """Settings of torch that decide how the reference computes."""
    return {
        "cuda": str(torch.version.cuda),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn.allow_tf32": str(torch.backends.cudnn.allow_tf32),
        "cudnn.benchmark": str(torch.backends.cudnn.benchmark),
    }
