"""One try at one task, and what the judge said of it: read from the run's folder, kept in a line of JSON."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.agent.events import Aborted, Finished, Judged
from warpsmith.agent.runs.past import Past
from warpsmith.core import Candidate, Cost, Passed, Provenance, StopReason, Timing, UsageError, Verdict
from warpsmith.core.codec import from_data, to_json
from warpsmith.learn.grading import Grading
from warpsmith.learn.rewards.base import Reward
from warpsmith.report.verdicts import verdict_text

PASSED = "passed"
NO_PROGRAM = "no program"
OURS = "ours"
REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """`verdict` is that of record; where no program has passed, the last one there was."""

    task_id: str
    digest: str  # of the task
    number: int = 0  # among the attempts at the task
    verdict: Verdict | None = None  # None: nothing was judged
    is_ours: bool = False  # it broke off by a failure of ours, and says nothing of the policy
    refused: str = ""  # why the task cannot be judged: then nobody worked on it
    stop: StopReason | None = None
    reward: float | None = None
    num_verdicts: int = 0
    cost: Cost = field(default_factory=Cost)
    flaw: str = ""  # why the policy's answer is no program, if that is known
    candidate: Candidate | None = None  # the program of the verdict of record, if it has passed
    folder: str = ""  # of its run

    @property
    def has_passed(self) -> bool:
        return isinstance(self.verdict, Passed)

    @property
    def timing(self) -> Timing | None:
        return self.verdict.timing if isinstance(self.verdict, Passed) else None

    @property
    def is_modelled(self) -> bool:
        return self.timing is not None and self.timing.provenance is Provenance.MODELLED

    @property
    def kind(self) -> str:
        """How it ended, in the words that failures are counted by."""
        if self.is_ours or self.refused:
            return OURS if self.is_ours else REFUSED
        if self.verdict is None:
            return self.flaw or NO_PROGRAM
        return PASSED if self.has_passed else verdict_text(self.verdict)


def attempt_of(past: Past, grading: Grading) -> Attempt:
    """What a run came to."""
    events = past.events
    end = events[-1] if events else None
    judged = [event.verdict for event in events if isinstance(event, Judged)]
    failed = [verdict for verdict in judged if not isinstance(verdict, Passed)]
    best = end.best if isinstance(end, Finished) else None
    outcome = grading.of_episode(past.task, events).outcome
    return Attempt(
        task_id=past.task.task_id,
        digest=past.task.digest,
        verdict=best.verdict if best is not None else failed[-1] if failed else None,
        is_ours=isinstance(end, Aborted) or not isinstance(end, Finished),
        stop=end.stop if isinstance(end, Finished) else None,
        reward=outcome.value if isinstance(outcome, Reward) else None,
        num_verdicts=len(judged),
        cost=end.cost if isinstance(end, Finished) else Cost(),
        candidate=None if best is None else best.candidate,
        folder=str(past.folder),
    )


def attempts_text(attempts: Iterable[Attempt]) -> str:
    return "".join(to_json(attempt) + "\n" for attempt in attempts)


def read_attempts(path: Path) -> Iterator[Attempt]:
    """Raises UsageError, naming the line, for what is no attempt."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            yield from_data(Attempt, json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise UsageError(f"{path}, line {number}: {error!s:.200}") from error
