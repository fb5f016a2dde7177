"""One task's life in the oracle: opened, compared with, timed."""

import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from warpsmith.judge import flags
from warpsmith.judge.arena import Arena, ArenaError
from warpsmith.judge.clock.model import fused
from warpsmith.judge.oracle.examination import Case, Examination, examine, one_case, target_leaves
from warpsmith.judge.oracle.naming import named
from warpsmith.judge.oracle.pretence import pretended
from warpsmith.judge.oracle.probes import audited
from warpsmith.judge.oracle.record import record
from warpsmith.judge.oracle.reference import Reference, TaskProblem
from warpsmith.judge.oracle.resizing import OtherSize, other_size
from warpsmith.judge.oracle.timing import Timing, poison
from warpsmith.judge.oracle.verification import (
    changed_input,
    coarsest,
    structure,
    structure_of_parts,
    value_message,
    values,
)
from warpsmith.judge.protocol import (
    AtOtherSize,
    Audit,
    Broken,
    Compare,
    Compared,
    Deal,
    Difference,
    Hello,
    Lend,
    Lent,
    Loan,
    Open,
    Opened,
    OracleAnswer,
    OracleRequest,
    Pretend,
    Pretended,
    Ready,
    Resized,
    Time,
    Unavailable,
    Unusable,
    Warm,
)
from warpsmith.judge.tensorfile import TensorFile, TensorFileError, changed, leaves, room_for, write

ANSWER_ROOM_BYTES = 1 << 20  # beyond the reference's own outputs, and for aligning them
MIN_SLOTS, MAX_SLOTS = 3, 32  # input sets in the arena
SLOT_ALIGNMENT = 1 << 12


class Session:
    """Answers requests. Everything but `Hello` comes after `Open`."""

    def __init__(self) -> None:
        self._answers: dict[type, Callable[[Any], OracleAnswer]] = {
            Hello: self._ready,
            Open: self._opened,
            Audit: audited,
            Pretend: self._pretended,
            Lend: self._lent,
            AtOtherSize: self._resized,
            Compare: self._compared,
            Deal: lambda request: self._timing.deal(request),
            Warm: lambda request: self._timing.warm(request),
            Time: lambda request: self._timing.time(request),
        }
        self._reference: Reference
        self._examination: Examination
        self._timing: Timing
        self._arena: Arena | None = None
        self._open: Open
        self._has_tried = False
        self._other: OtherSize | None = None

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

    def _opened(self, request: Open) -> Opened:
        warnings.simplefilter("ignore")
        sys.dont_write_bytecode = True
        self._open = request
        flags.pin(request.regime.precision, request.device)
        self._reference = reference = Reference(request.source, request.device, request.seed, request.regime)
        self._timing = Timing(reference, self._lay)
        self._examination = examine(reference, request)
        cases = self._examination.cases
        write(request.folder / "arguments", reference.arguments)
        weights = dict(reference.model.state_dict())
        write(request.folder / "weights", weights)
        for index, case in enumerate(cases):
            write(request.folder / f"inputs-{index}", case.inputs)
        sources = [*leaves(cases[0].inputs), *reference.model.parameters(), *reference.model.buffers()]
        num_inputs = len(list(leaves(cases[0].inputs)))
        done = record(reference.work(cases[0].inputs, request.seed), sources, num_inputs=num_inputs)
        return Opened(
            output_bytes=max(_output_bytes(case) for case in cases),
            has_truth=self._examination.has_truth,
            makes_on_device=reference.makes_on_device,
            environment={"cuda": str(torch.version.cuda), **flags.snapshot()},
            eager=done.launches,
            compiled=fused(done.launches, done.memory),
            read_bytes=done.read_bytes,
            input_bytes=done.input_bytes,
            written_bytes=done.written_bytes,
            loan=self._loan(request.lend_bytes),
            inputs=tuple(named(cases[0].inputs)),
            weights=tuple(named(weights)),
        )

    def _loan(self, most_bytes: int) -> Loan | None:
        """An arena for this task's answers and input sets, if `most_bytes` are enough for one."""
        cases = self._examination.cases
        answer_bytes = _aligned(max(_output_bytes(case) for case in cases) + ANSWER_ROOM_BYTES)
        input_bytes = _aligned(max(room_for(case.inputs) for case in cases) + 1)
        num_slots = min((most_bytes - 2 * answer_bytes) // input_bytes, MAX_SLOTS)
        if num_slots < MIN_SLOTS:
            return None
        torch.cuda.empty_cache()  # looking at the task took more than is needed from here on
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

    def _resized(self, request: AtOtherSize) -> Resized | Unavailable:
        if not self._has_tried:
            self._has_tried = True
            self._other = other_size(self._reference, self._examination, self._open, request.sources)
        room = None if self._arena is None else self._arena.slot(0)
        if self._other is None or not self._has_room(self._other.examination.cases[0]):
            return Unavailable(reason="the reference runs at no other size")
        request.inputs.unlink(missing_ok=True)
        write(request.inputs, self._other.examination.cases[0].inputs, room)
        return Resized(index=self._other.index)

    def _has_room(self, case: Case) -> bool:
        """Whether the arena is large enough for it."""
        if self._arena is None:
            return True
        loan = self._arena.loan
        return room_for(case.inputs) <= loan.input_bytes and _output_bytes(case) <= loan.answer_bytes

    def _pretended(self, request: Pretend) -> Pretended:
        case = self._examination.cases[request.case]
        return pretended(request, case, lambda: self._reference.answer(case.inputs, request.case))

    def _memory(self) -> torch.Tensor | None:
        return self._arena.memory if self._arena else None

    def _compared(self, request: Compare) -> Compared:
        case = self._case(request)
        bounds = self._known(request).bounds
        try:
            with TensorFile(request.outputs, self._memory()) as file:
                pairs: list[Any] = []
                if message := self._structure(case, file.tree, pairs):
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
            precision=coarsest(found),
        )

    def _input_difference(self, request: Compare) -> Difference | None:
        if request.inputs is None:
            return None
        with TensorFile(request.inputs, self._memory()) as file:
            case = self._case(request)
            message = changed_input(file, case, self._reference.input_names())
        return None if message is None else Difference(what="inputs changed", message=message)

    def _lay(self, path: Path, inputs: list[Any], slot: int) -> list[Any] | None:
        """Put an input set where a guest finds it; into lent memory only its header, and poison."""
        path.unlink(missing_ok=True)
        if self._arena is None:
            write(path, inputs)
            return None
        write(path, changed(inputs, poison), self._arena.slot(slot))
        with TensorFile(path, self._memory()) as file:
            return list(file.map_shared())

    def _structure(self, case: Case, answer: Any, pairs: list[Any]) -> str | None:
        regime = self._reference.regime
        if regime.is_training or regime.has_backward:
            return structure_of_parts(case.targets, answer, pairs)
        return structure(case.targets, answer, "the output", pairs)

    def _known(self, request: Compare) -> Examination:
        return self._other.examination if request.is_resized and self._other else self._examination

    def _case(self, request: Compare) -> Case:
        if request.seed is None:
            return self._known(request).cases[request.case]
        inputs = self._timing.inputs(request.seed)
        return one_case(self._reference, inputs, request.seed, has_truth=self._examination.has_truth)


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
