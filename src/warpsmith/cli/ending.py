"""How a run ends for whoever started it, took it up again or forked it: what came of it, in words."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from warpsmith.cli.console import Console
from warpsmith.cli.documents import entry_data, verdict_data
from warpsmith.cli.errors import HANDLED, exit_code_of, message_of
from warpsmith.cli.exit_codes import MEANINGS, ExitCode, optimized
from warpsmith.core import InfraError, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from warpsmith.agent.attempts.parallel import Attempts
    from warpsmith.agent.events import Event
    from warpsmith.agent.optimize import Optimized
    from warpsmith.agent.runs.ledger import Row
    from warpsmith.core import Task, Verdict
    from warpsmith.device import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run that has ended, and what its folder is made ready with."""

    command: str
    task: "Task"
    done: "Optimized | Attempts"
    device: "Device"
    sandbox: str
    facts: Mapping[str, object] = field(default_factory=dict)  # more for the document


def conclude(console: Console, ended: Ended) -> ExitCode:
    """Make the folder ready, then say what came of it; gives the exit code."""
    from warpsmith.report.attempts import attempts_of
    from warpsmith.report.runs import read_lines
    from warpsmith.report.spending import ledger_rows
    from warpsmith.report.terminal import VerdictTable

    problem = _finish(ended)
    done, task = ended.done, ended.task
    best, stop = done.trajectory.best, done.trajectory.stop
    code = optimized(best, stop) if problem is None else exit_code_of(problem)
    verdict = None if best is None else best.verdict
    last_words = done.trajectory.turns[-1].reply.text if done.trajectory.turns else ""
    console.say(VerdictTable(task.task_id, verdict), _why(verdict, last_words), *_spent(done))
    console.say(f"run folder: {done.folder}")
    if problem is not None:
        console.complain(f"warpsmith: {message_of(problem)}")
    console.document(
        {
            "command": ended.command,
            "exit_code": int(code),
            "meaning": MEANINGS[code],
            "task": {"task_id": task.task_id, "digest": task.digest, "scale": task.scale},
            "folder": done.folder,
            "stop": stop,
            "cost": done.trajectory.cost,
            "ledger": ledger_rows(read_lines(done.folder)),
            "attempts": [entry_data(entry) for entry in attempts_of(done.folder)],
            "num_turns": len(done.trajectory.turns),
            "last_words": last_words,
            "candidate_digest": None if best is None else best.candidate.digest,
            **verdict_data(verdict),
            **ended.facts,
            "environment": done.environment,
            "error": None if problem is None else message_of(problem),
        }
    )
    return code


class Audience(Protocol):
    """Who wants to know what happens, in an episode or in several."""

    def on_event(self, event: "Event") -> None: ...

    def on_attempt(self, attempt: int, event: "Event") -> None: ...


class Both:
    """Tells several, in order."""

    def __init__(self, *audiences: Audience) -> None:
        self._audiences = audiences

    def on_event(self, event: "Event") -> None:
        for audience in self._audiences:
            audience.on_event(event)

    def on_attempt(self, attempt: int, event: "Event") -> None:
        for audience in self._audiences:
            audience.on_attempt(attempt, event)


class Tally:
    """A listener that keeps what a run has spent, to be told if it breaks off."""

    def __init__(self, told: "Iterable[Event]" = ()) -> None:
        """`told` is what a run that is taken up again has told before."""
        from warpsmith.agent.runs.ledger import Ledger

        self._ledgers = defaultdict[int, Ledger](Ledger)
        self._rows: list[Row] = []
        for event in told:
            self.on_event(event)

    def on_event(self, event: "Event") -> None:
        self.on_attempt(0, event)

    def on_attempt(self, attempt: int, event: "Event") -> None:
        """One of several that run side by side."""
        self._rows += self._ledgers[attempt].rows(event)

    @contextmanager
    def told_at_failure(self, console: Console) -> Iterator[None]:
        """While entered, what breaks off the run does not keep from saying what it has cost until then."""
        from warpsmith.agent.runs.ledger import cost_text
        from warpsmith.core import Cost

        num_before = len(self._rows)
        try:
            yield
        except HANDLED:
            if len(self._rows) > num_before:
                console.note(f"spent: {cost_text(sum((row.cost for row in self._rows), Cost()))}")
            raise


def _finish(ended: Ended) -> BaseException | None:
    """The program is safe by now: what goes wrong is told after the result.

    Attempts beside the best are made ready too, as far as that goes.
    """
    from warpsmith.report.attempts import attempts_of
    from warpsmith.report.package import finish
    from warpsmith.sandbox import pick
    from warpsmith.toolchain import Toolchain, default_store

    try:
        toolchain = Toolchain(ended.device, default_store(), pick(ended.sandbox))
        finish(ended.done.folder, toolchain)
        for attempt in attempts_of(ended.done.folder):
            with suppress(UsageError, InfraError):
                finish(attempt.folder, toolchain)
    except (UsageError, InfraError, OSError) as error:
        return error
    return None


def _spent(done: "Optimized | Attempts") -> "Iterator[RenderableType]":
    """The ledger's sum; of several attempts, each with what it came to."""
    from warpsmith.agent.attempts.parallel import Attempts
    from warpsmith.agent.runs.ledger import cost_text, summary_lines
    from warpsmith.report.attempts import attempts_of
    from warpsmith.report.plain import one_line
    from warpsmith.report.runs import read_lines
    from warpsmith.report.spending import ledger_rows
    from warpsmith.report.terminal import attempts_table

    if not isinstance(done, Attempts):
        yield from summary_lines(ledger_rows(read_lines(done.folder)))
        return
    best = done.trajectory.best
    yield attempts_table(attempts_of(done.folder), None if best is None else best.candidate.digest)
    for attempt in done.attempts:
        if attempt.reason:
            yield f"attempt {attempt.number}: {one_line(attempt.reason)}"
    yield f"spent: {len(done.attempts)} attempts, {cost_text(done.trajectory.cost)}"


def _why(verdict: "Verdict | None", last_words: str) -> str:
    """The evidence for a verdict, or for there being none: what the policy said in the end."""
    from warpsmith.report.plain import last_lines
    from warpsmith.report.verdicts import evidence_text

    if verdict is not None:
        return evidence_text(verdict)
    return f"last words: {last_lines(last_words) or 'none'}"
