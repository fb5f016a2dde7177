"""One task's visit in the helper, stage by stage. The judge's own probes do the looking."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from warpsmith.core.audit import Severity
from warpsmith.judge import flags
from warpsmith.judge.clock.model import program_us
from warpsmith.judge.clock.stopwatch import Stopwatch
from warpsmith.judge.oracle.compare import finite
from warpsmith.judge.oracle.examination import known_outputs
from warpsmith.judge.oracle.record import record
from warpsmith.judge.oracle.reference import COTANGENTS, Reference, TaskProblem, seed_everything
from warpsmith.judge.oracle.subject import Subject, copied
from warpsmith.judge.oracle.telling import Hold, Known, blind_findings, holds
from warpsmith.judge.protocol import Open
from warpsmith.judge.tensorfile import foreign_type, leaves
from warpsmith.tasks.synth.compose.room import judged_bytes
from warpsmith.tasks.synth.filters.audit import remaining_findings
from warpsmith.tasks.synth.filters.compiled import CompiledModel
from warpsmith.tasks.synth.filters.conduct import Misconduct, check_conduct, reason_of
from warpsmith.tasks.synth.filters.outcome import Reason
from warpsmith.tasks.synth.filters.protocol import (
    Agree,
    Agreed,
    Clock,
    Clocked,
    Compile,
    Failed,
    Fine,
    Greet,
    Greeted,
    Inspect,
    Inspected,
    Look,
    Question,
    Ran,
    Refused,
    Repeat,
    Reply,
    Run,
    Tell,
    Told,
)

NUM_TIMED_SETS = 2
NO_ROOM = ("allocate memory", "out of memory", "not enough memory", "Storage size calculation overflowed")


class Examination:
    """Answers questions about one task. Everything but `Greet` comes after `Run`, in the order of stages."""

    def __init__(self) -> None:
        self._answers: dict[type, Callable[[Any], Reply]] = {
            Greet: lambda _: Greeted(),
            Run: self._ran,
            Compile: self._compiled,
            Look: self._looked,
            Repeat: self._repeated,
            Tell: self._told,
            Inspect: self._inspected,
            Agree: self._agreed,
            Clock: self._clocked,
        }
        self._run: Run
        self._settings: dict[str, str]  # of torch's, before the task was imported
        self._reference: Reference
        self._inputs: list[Any]  # the first set, until it is looked at
        self._subject: Subject
        self._known: list[Known]
        self._model: CompiledModel

    def answer(self, question: Question) -> Reply:
        try:
            with torch.no_grad():
                return self._answers[type(question)](question)
        except Misconduct as found:
            return Refused(reason=found.reason, evidence=found.evidence)
        except (torch.OutOfMemoryError, MemoryError) as error:
            return Refused(reason=Reason.TOO_LARGE, evidence=_said(error))
        except TaskProblem as problem:
            return _blamed(problem, Reason.FORWARD_RAISES)
        except Exception as error:  # noqa: BLE001 - the outermost frame around a stranger's code
            return Failed(why=f"{type(question).__name__}: {_said(error)}")

    def _ran(self, request: Run) -> Ran | Refused:
        warnings.simplefilter("ignore")
        sys.dont_write_bytecode = True
        torch.set_num_threads(request.num_threads)
        flags.pin(request.regime.precision, request.device)
        self._run = request
        self._settings = flags.snapshot()
        seed = request.checks.seed
        with _blaming(Reason.NOT_BUILT), _seeded(seed, "Model"):
            self._reference = Reference(request.source, request.device, seed, request.regime)
        with _blaming(Reason.NO_INPUTS), _seeded(seed + 1, "get_inputs"):
            inputs = self._inputs = self._reference.inputs(seed + 1)
        _forget_peak(request.device)
        answer = self._reference.answer(copied(inputs), seed)
        peak_bytes = _peak_bytes(request.device)
        _check_answer(answer)
        outputs, answer_bytes = tuple(_described(answer)), _num_bytes(answer)
        del answer
        if flipped := flags.flipped(self._settings):
            raise Misconduct(Reason.CHANGES_SETTINGS, "; ".join(flipped))
        ran = self._recorded(inputs, outputs, answer_bytes, peak_bytes)
        _forget_peak(request.device)  # others may have what the allocator keeps
        return ran

    def _recorded(
        self, inputs: list[Any], outputs: tuple[str, ...], answer_bytes: int, peak_bytes: int | None
    ) -> Ran:
        request, reference = self._run, self._reference
        model = reference.model
        sources = [*leaves(inputs), *model.parameters(), *model.buffers()]
        num_inputs = len(list(leaves(inputs)))
        try:
            done = record(reference.work(copied(inputs), request.checks.seed), sources, num_inputs=num_inputs)
        except Exception as error:
            raise Misconduct(Reason.FORWARD_RAISES, f"at its second call: {_said(error)}") from error
        memory_bytes = sum(piece.num_bytes for piece in done.memory) if peak_bytes is None else peak_bytes
        return Ran(
            inputs=tuple(_described(inputs)),
            outputs=outputs,
            modelled_us=program_us(done.launches, request.gpu),
            num_launches=sum(launch.kernels for launch in done.launches),
            memory_bytes=memory_bytes,
            is_memory_modelled=peak_bytes is None,
            look_bytes=judged_bytes(
                request.checks.num_inputs, inputs=_num_bytes(inputs), answer=answer_bytes, total=memory_bytes
            ),
        )

    def _looked(self, _: Look) -> Fine:
        """Find out what the judge would hold answers against."""
        request = self._run
        checks = request.checks
        opened = Open(
            source=request.source,
            folder=request.folder,
            device=request.device,
            seed=checks.seed,
            num_inputs=checks.num_inputs,
            tolerance=request.tolerance,
            regime=request.regime,
        )
        self._subject = Subject(self._reference, opened, checks.audit_budget_s)
        for answer in self._subject.answers:
            _check_answer(answer)
        self._known = known_outputs(self._reference, self._subject.examination)
        self._inputs = []
        return Fine()

    def _repeated(self, _: Repeat) -> Fine:
        check_conduct(self._subject)
        return Fine()

    def _told(self, _: Tell) -> Told | Refused:
        """Each output is as good as its best rival is bad; one that tells is enough."""
        times = self._run.checks.tell_times
        wide = [replace(known, allowed=[times * one for one in known.allowed]) for known in self._known]
        found = [list(holds(wide, index)) for index in range(len(wide[0].allowed))]
        if all(any(hold.passes for hold in rivals) for rivals in found):
            first = next(
                one for one in blind_findings(wide) if one.severity is Severity.DEGENERATE
            )  # its words are the judge's
            evidence = f"{first.subject}: {first.evidence} ({times:g} times the judge's bound)"
            return Refused(reason=reason_of(first.kind), evidence=evidence)
        best = max(min(map(_share, rivals)) for rivals in found if rivals)
        return Told(times_allowed=times * best)

    def _inspected(self, _: Inspect) -> Inspected | Refused:
        skipped: list[str] = []
        findings = list(remaining_findings(self._subject, self._known, self._run.source, skipped))
        for finding in findings:
            if finding.severity is Severity.DEGENERATE:
                return Refused(
                    reason=Reason.DEGENERATE,
                    evidence=f"{finding.kind}, {finding.subject}: {finding.evidence}",
                )
        kept = tuple(finding for finding in findings if finding.severity is not Severity.NOTE)
        return Inspected(findings=kept, skipped=tuple(skipped))

    def _compiled(self, _: Compile) -> Fine | Refused:
        with _compiling():
            self._model = CompiledModel(self._reference, self._run.checks.compile_backend)
            seed_everything(self._run.checks.seed)
            self._model.compile(copied(self._inputs))
        return Fine()

    def _agreed(self, _: Agree) -> Agreed | Refused:
        worst = None
        for case, given in enumerate(self._subject.inputs[:2]):
            seed_everything(self._subject.seed)
            with _compiling():
                answer = self._model.caller.whole(copied(given))
            shift = self._subject.distance(answer, case)
            if shift.is_seen:
                return Refused(
                    reason=Reason.COMPILED_DIFFERS,
                    evidence=f"on input set {case} what was compiled {shift.text}",
                )
            worst = shift if worst is None or shift.error > worst.error else worst
        assert worst is not None
        return Agreed(error=worst.error, allowed=worst.allowed, num_graph_breaks=self._model.num_graph_breaks)

    def _clocked(self, request: Clock) -> Clocked:
        checks = self._run.checks
        sets = self._subject.inputs[:NUM_TIMED_SETS]
        stopwatch = Stopwatch(request.flush_bytes, pretends=True)
        call = self._reference.caller.timed
        stopwatch.warm_up(call, sets, checks.warm_up_ms)
        samples_us, _ = stopwatch.run(call, sets, checks.num_timed)
        return Clocked(samples_us=tuple(samples_us))


@contextmanager
def _blaming(reason: Reason) -> Iterator[None]:
    """Make a problem of the task's a refusal for `reason`."""
    try:
        yield
    except TaskProblem as problem:
        refused = _blamed(problem, reason)
        raise Misconduct(refused.reason, refused.evidence) from problem


def _blamed(problem: TaskProblem, reason: Reason) -> Refused:
    is_large = isinstance(problem.__cause__, torch.OutOfMemoryError | MemoryError) or any(
        words in str(problem.__cause__) for words in NO_ROOM
    )
    return Refused(reason=Reason.TOO_LARGE if is_large else reason, evidence=str(problem))


@contextmanager
def _seeded(seed: int, what: str) -> Iterator[None]:
    """Refuse what sets a seed of its own: then the numbers that are drawn are the same each time."""
    yield
    found = torch.initial_seed()
    if found not in (seed, seed + COTANGENTS):  # which are drawn after the inputs, and not by the task
        raise Misconduct(Reason.SEEDS, f"{what} sets torch's seed to {found}; every set of it is the same")


@contextmanager
def _compiling() -> Iterator[None]:
    """torch.compile may raise anything at all on a model that runs eagerly."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError):
        raise
    except Exception as error:
        raise Misconduct(Reason.NOT_COMPILED, _said(error)) from error


def _check_answer(answer: Any) -> None:
    if name := foreign_type(answer):
        raise Misconduct(Reason.NO_ANSWER, f"forward returns a {name}")
    tensors = list(leaves(answer))
    if not any(tensor.numel() for tensor in tensors):
        raise Misconduct(Reason.NO_ANSWER, f"forward returns {len(tensors)} tensors and not one element")
    for index, tensor in enumerate(tensors):
        num_bad = int((~finite(tensor)).sum()) if tensor.numel() else 0
        if num_bad:
            evidence = f"{num_bad} of {tensor.numel()} elements of output {index} are NaN or infinite"
            raise Misconduct(Reason.NOT_FINITE, evidence)


def _described(tree: Any) -> Iterator[str]:
    for tensor in leaves(tree):
        yield f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _num_bytes(tree: Any) -> int:
    return sum(tensor.nbytes for tensor in leaves(tree))


def _share(hold: Hold) -> float:
    if hold.allowed:
        return hold.error / hold.allowed
    return float("inf") if hold.error else 0.0


def _forget_peak(device: str) -> None:
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _peak_bytes(device: str) -> int | None:
    """Of device memory, since `_forget_peak`; None where nobody counts it."""
    return torch.cuda.max_memory_allocated() if device == "cuda" else None


def _said(error: BaseException) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:400]
