"""One or a few judges for several trajectories: who asks first is served first."""

from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Lock, Thread
from types import TracebackType
from typing import Literal, Self

from warpsmith.agent.judging import Judging
from warpsmith.agent.optimize import Bench
from warpsmith.core import Candidate, EnvironmentMissing, InfraError, Verdict
from warpsmith.toolchain import Build

GRACE_S = 1.0  # for a thread that is told to stop at once; what it waits for cannot be interrupted

Question = Literal["verify", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Request:
    """A question that waits for a judge; its answer comes with the seconds that a GPU was held for it."""

    question: Question
    candidate: Candidate
    answer: Future[tuple[Verdict, float]] = field(default_factory=Future)

    def fail(self, error: BaseException) -> None:
        with suppress(InvalidStateError):  # answered meanwhile
            self.answer.set_exception(error)


class JudgePool:
    """Judges, each in a thread of its own that opens it, asks it and closes it.

    A trajectory has one question at a time, so that with a single queue each is served in its turn. A judge
    that failed is opened anew for the next question: what one candidate broke shall not fail the others.
    """

    def __init__(self, opened: Callable[[], AbstractContextManager[Bench]], num_judges: int = 1) -> None:
        self._opened = opened
        self._num_judges = num_judges
        self._queue: SimpleQueue[_Request | None] = SimpleQueue()
        self._asked: set[_Request] = set()
        self._lock = Lock()
        self._is_stopped = False
        self._threads: list[Thread] = []
        self.bench: Bench

    def __enter__(self) -> Self:
        """Open all judges. Raises what opening one of them does."""
        benches: list[Future[Bench]] = [Future() for _ in range(self._num_judges)]
        self._threads = [
            Thread(target=self._serve, args=(ready,), name="judge", daemon=True) for ready in benches
        ]
        try:
            for thread in self._threads:
                thread.start()
            self.bench, *_ = [ready.result() for ready in benches]
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_early, self._is_stopped = self._is_stopped, True
        self._dismiss(GRACE_S if is_early else None)

    def seat(self) -> "Seat":
        """A judge for one trajectory."""
        return Seat(self)

    def ask(self, question: Question, candidate: Candidate) -> tuple[Verdict, float]:
        """Wait for the turn, and for the answer. Raises InfraError, and KeyboardInterrupt after `stop`."""
        request = _Request(question=question, candidate=candidate)
        with self._lock:
            if self._is_stopped:
                raise KeyboardInterrupt
            self._asked.add(request)
            self._queue.put(request)
        try:
            return request.answer.result()
        finally:
            with self._lock:
                self._asked.discard(request)

    def stop(self) -> None:
        """Answer nobody any more: all that wait get a KeyboardInterrupt at once."""
        with self._lock:
            self._is_stopped, asked = True, list(self._asked)
        for request in asked:
            request.fail(KeyboardInterrupt())
        self._dismiss(0.0)

    def _dismiss(self, limit_s: float | None) -> None:
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            if thread.is_alive():
                thread.join(limit_s)

    def _serve(self, ready: Future[Bench]) -> None:
        while not self._is_stopped:
            try:
                with self._opened() as bench:
                    if not ready.done():
                        ready.set_result(bench)
                    self._answer_with(bench.judge)
            except BaseException as error:  # noqa: BLE001 - raised where a judge was asked for
                if not ready.done():
                    ready.set_exception(error)
                    return
                request = self._queue.get()
                if request is None:
                    return
                request.fail(error)

    def _answer_with(self, judge: Judging) -> None:
        """Until nobody asks any more, or this judge has failed."""
        while (request := self._queue.get()) is not None:
            if request.answer.done():  # given up
                continue
            before_s = judge.held_s
            try:
                verdict = getattr(judge, request.question)(request.candidate)
            except BaseException as error:  # noqa: BLE001 - raised where it was asked
                request.fail(error)
                if isinstance(error, InfraError) and not isinstance(error, EnvironmentMissing):
                    return
            else:
                with suppress(InvalidStateError):
                    request.answer.set_result((verdict, judge.held_s - before_s))


class Seat:
    """A trajectory's place at the pool. `held_s` are the GPU-seconds that it has had, without the waiting."""

    def __init__(self, pool: JudgePool) -> None:
        self._pool = pool
        self.held_s = 0.0

    def build(self, candidate: Candidate) -> Build | Verdict:
        """At once and in the caller's thread: builds are shared by the store, and need no judge."""
        return self._pool.bench.judge.build(candidate)

    def verify(self, candidate: Candidate) -> Verdict:
        return self._ask("verify", candidate)

    def measure(self, candidate: Candidate) -> Verdict:
        return self._ask("measure", candidate)

    def _ask(self, question: Question, candidate: Candidate) -> Verdict:
        """Built first: a compiler may take minutes, and nobody else shall wait for it."""
        built = self.build(candidate)
        if not isinstance(built, Build):
            return built
        verdict, held_s = self._pool.ask(question, candidate)
        self.held_s += held_s
        return verdict
