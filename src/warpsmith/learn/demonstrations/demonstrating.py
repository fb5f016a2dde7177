"""From tasks to replies worth imitating: written, told in a student's tokens, judged, and kept if correct."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from statistics import quantiles

from warpsmith.core import Candidate, Message, Passed, Role, Task, UsageError
from warpsmith.device.base import Gpu
from warpsmith.learn.answering.answered import earned
from warpsmith.learn.answering.court import Case, Court, Finding, Unknown
from warpsmith.learn.answering.question import Question, question_of_task
from warpsmith.learn.answering.reply import Program, read_reply, reply_text
from warpsmith.learn.demonstrations.writers import Declines, Written, written
from warpsmith.learn.grading import Grading
from warpsmith.learn.trajectory import Origin, Reading, Sample, sample_of
from warpsmith.policy.actions import Style
from warpsmith.policy.builtin.graph import Graph
from warpsmith.policy.local.template import Template


class Reason(StrEnum):
    """Why there is no demonstration."""

    UNREAD = "task not captured"
    DECLINED = "declined"  # the writer has no kernel for it, or nothing that another has not
    DOUBLE = "double"  # the program has been told before
    TOO_LONG = "too long"
    UNTOLD = "untold"  # does not read back from a reply as it was written
    NOT_CORRECT = "not correct"
    NOT_JUDGED = "not judged"  # ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A correct program as a reply; `sample` holds what it earned."""

    task: str  # its digest
    writer: str
    program: str  # likewise
    sample: Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Nothing to teach. `writer` is empty where it is the task's fault."""

    task: str
    writer: str
    reason: Reason
    message: str


Outcome = Demonstration | Left


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """All that came of one task."""

    task: str
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A program as a reply to a question, not yet judged."""

    question: Question
    writer: str
    candidate: Candidate
    sample: Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstrating:
    """How demonstrations are made. `seed` decides which writers come first at a task."""

    template: Template
    court: Court
    grading: Grading
    gpu: Gpu  # whose peaks the builtin engineer plans with
    tokenizer: str = ""
    num_per_task: int = 2
    max_reply_tokens: int = 1_200
    seed: int = 0
    told: set[str] = field(default_factory=set)  # digests of programs that are not told again; grows

    def __post_init__(self) -> None:
        if min(self.num_per_task, self.max_reply_tokens) < 1:
            raise UsageError("num_per_task and max_reply_tokens must be 1 or more")

    def tried(self, tasks: Sequence[Task]) -> tuple[Tried, ...]:
        """All that came of these tasks, each once.

        As many programs as are wanted are judged first, then more for the tasks that still lack some.
        """
        outcomes: dict[str, list[Outcome]] = {task.digest: [] for task in tasks}
        drafts = {task.digest: self._drafts(task, outcomes[task.digest]) for task in tasks}
        while True:
            lacking = {task: self.num_per_task - _num_good(found) for task, found in outcomes.items()}
            drawn = [list(islice(drafts[task], count)) for task, count in lacking.items()]
            drawn = [some for some in drawn if some]
            if not drawn:
                break
            for outcome in self._judged(drawn):
                outcomes[outcome.task].append(outcome)
        return tuple(Tried(task=task, outcomes=tuple(found)) for task, found in outcomes.items())

    def _drafts(self, task: Task, outcomes: list[Outcome]) -> Iterator[Draft]:
        """One program after the other; why another writer has none goes into `outcomes`."""
        graph = _captured(task)
        if isinstance(graph, Left):
            outcomes.append(graph)
            return
        question = question_of_task(task)
        for one in written(graph, self.gpu, random.Random(f"{self.seed} {task.digest}")):
            draft = self._draft(question, one)
            if isinstance(draft, Left):
                outcomes.append(draft)
            else:
                yield draft

    def _draft(self, question: Question, one: Written | Declines) -> Draft | Left:
        def left(reason: Reason, message: str) -> Left:
            return Left(task=question.key, writer=one.writer, reason=reason, message=message)

        if isinstance(one, Declines):
            return left(Reason.DECLINED, one.why)
        text = reply_text(one.candidate)
        read = read_reply(text, is_cut=False)
        if not isinstance(read, Program) or not _is_same(read.candidate, one.candidate):
            return left(Reason.UNTOLD, "the reply reads back as another program")
        if read.candidate.digest in self.told:
            return left(Reason.DOUBLE, "the same program was told before")
        self.told.add(read.candidate.digest)
        sample = self._sample(question, one.writer, text)
        if sample.num_drawn > self.max_reply_tokens:
            return left(Reason.TOO_LONG, f"{sample.num_drawn} tokens")
        return Draft(question=question, writer=one.writer, candidate=read.candidate, sample=sample)

    def _sample(self, question: Question, writer: str, text: str) -> Sample:
        messages = (*question.messages, Message(role=Role.ASSISTANT, text=text))
        origin = Origin(
            sample_id=f"{question.key[:16]}/{writer}",
            task_id=question.task.task_id,
            group=question.key,
            tokenizer=self.tokenizer,
        )
        return sample_of(messages, Reading(template=self.template, style=Style.TOOLS), origin)

    def _judged(self, drawn: Sequence[Sequence[Draft]]) -> Iterator[Outcome]:
        cases = [
            Case(task=drafts[0].question.task, candidates=tuple(draft.candidate for draft in drafts))
            for drafts in drawn
        ]
        for drafts, findings in zip(drawn, self.court.judged(cases), strict=True):
            for draft, finding in zip(drafts, findings, strict=True):
                yield self._outcome(draft, finding)

    def _outcome(self, draft: Draft, finding: Finding) -> Outcome:
        def left(reason: Reason, message: str) -> Left:
            return Left(task=draft.question.key, writer=draft.writer, reason=reason, message=message[:400])

        if isinstance(finding, Unknown):
            return left(Reason.NOT_JUDGED, finding.message)
        if not isinstance(finding, Passed):
            return left(Reason.NOT_CORRECT, repr(finding))
        outcome = earned(draft.question, draft.candidate, finding, self.grading)
        sample = replace(draft.sample, outcome=outcome)
        return Demonstration(
            task=draft.question.key, writer=draft.writer, program=draft.candidate.digest, sample=sample
        )


def _captured(task: Task) -> Graph | Left:
    from warpsmith.policy.builtin.capture import capture

    try:
        return capture(task.source)
    # The boundary of a task: whatever its own code raises, in our process, is that task's outcome.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        message = f"{type(error).__name__}: {error!s:.300}"
        return Left(task=task.digest, writer="", reason=Reason.UNREAD, message=message)


def _num_good(outcomes: Sequence[Outcome]) -> int:
    return sum(isinstance(one, Demonstration) for one in outcomes)


def counted(tried: Iterable[Tried]) -> dict[str, dict[str, int]]:
    """How often each writer is taught by, and how often each reason stood against a program."""
    outcomes = [outcome for one in tried for outcome in one.outcomes]
    taught = Counter(one.writer for one in outcomes if isinstance(one, Demonstration))
    left = Counter(one.reason.value for one in outcomes if isinstance(one, Left))
    return {"taught": dict(taught.most_common()), "left out": dict(left.most_common())}


def programs_of(tried: Iterable[Tried]) -> set[str]:
    """The digests of all programs that are taught."""
    return {
        outcome.program for one in tried for outcome in one.outcomes if isinstance(outcome, Demonstration)
    }


def reply_lengths(tried: Iterable[Tried]) -> dict[str, float]:
    """Quantiles of the tokens of a reply; empty if there is none."""
    counts = [
        outcome.sample.num_drawn
        for one in tried
        for outcome in one.outcomes
        if isinstance(outcome, Demonstration)
    ]
    if not counts:
        return {}
    cuts = quantiles(counts, n=4, method="inclusive") if len(counts) > 1 else [float(counts[0])] * 3
    return {"min": min(counts), "q25": cuts[0], "median": cuts[1], "q75": cuts[2], "max": max(counts)}


def _is_same(one: Candidate, other: Candidate) -> bool:
    """Up to spaces at the end of a file."""
    return [(path, text.rstrip()) for path, text in one.files] == [
        (path, text.rstrip()) for path, text in other.files
    ]
