"""Replies with what became of them: read, judged, named and rewarded."""

from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.core import Candidate, Passed, UsageError, Verdict
from warpsmith.learn.answering.court import Case, Court, Finding, Unknown
from warpsmith.learn.answering.fate import Fate, Histogram, fate_of, fate_of_flaw, histogram
from warpsmith.learn.answering.question import Question
from warpsmith.learn.answering.reply import Program, Unread, read_reply
from warpsmith.learn.grading import NOTHING, Grading
from warpsmith.learn.rewards.base import Missing, NoReward, Outcome
from warpsmith.learn.rubric.base import Work
from warpsmith.policy.local.tokens import TokenOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a student drew, and what it was asked."""

    question: Question
    prompt_ids: tuple[int, ...]
    output: TokenOutput
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One reply and what became of it. `finding` is None where there was nothing to judge."""

    reply: Reply
    read: Program | Unread
    finding: Finding | None
    fate: Fate
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A step's replies, and how fast they came."""

    step: int
    answered: tuple[Answered, ...]
    num_left_out: int  # questions that the student cannot read whole
    drawing_s: float
    judging_s: float

    @property
    def histogram(self) -> Histogram:
        return histogram(one.fate for one in self.answered)

    @property
    def num_programs(self) -> int:
        """Distinct ones: each is built and judged once."""
        keys = {
            (one.reply.question.key, one.read.candidate.digest)
            for one in self.answered
            if isinstance(one.read, Program)
        }
        return len(keys)

    @property
    def throughput(self) -> dict[str, float]:
        """Replies, programs built and verdicts a minute of the whole round; tokens a second of drawing."""
        minutes = max(self.drawing_s + self.judging_s, 1e-9) / 60.0
        num_verdicts = sum(not isinstance(one.finding, Unknown | None) for one in self.answered)
        num_tokens = sum(len(one.reply.output.ids) for one in self.answered)
        return {
            "replies_per_minute": len(self.answered) / minutes,
            "programs_per_minute": self.num_programs / minutes,
            "verdicts_per_minute": num_verdicts / minutes,
            "drawn_tokens_per_s": num_tokens / max(self.drawing_s, 1e-9),
        }


def answered(replies: Sequence[Reply], court: Court, grading: Grading) -> tuple[Answered, ...]:
    """What became of each, in order. Raises as `Court.judged` does."""
    read = [read_reply(reply.text, is_cut=reply.output.is_cut) for reply in replies]
    places: dict[str, dict[int, Candidate]] = {}  # of the programs, by question
    for place, (reply, one) in enumerate(zip(replies, read, strict=True)):
        if isinstance(one, Program):
            places.setdefault(reply.question.key, {})[place] = one.candidate
    cases = [
        Case(task=replies[min(found)].question.task, candidates=tuple(found.values()))
        for found in places.values()
    ]
    findings: dict[int, Finding] = {}
    for found, of_case in zip(places.values(), court.judged(cases), strict=True):
        findings |= dict(zip(found, of_case, strict=True))
    return tuple(
        _graded(reply, one, findings.get(place), grading)
        for place, (reply, one) in enumerate(zip(replies, read, strict=True))
    )


def _graded(reply: Reply, read: Program | Unread, finding: Finding | None, grading: Grading) -> Answered:
    match read:
        case Unread(flaw=flaw):
            fate, outcome = fate_of_flaw(flaw), grading.rule.reward(NOTHING)
        case Program(candidate=candidate):
            if finding is None or isinstance(finding, Unknown):
                message = "nobody judged it" if finding is None else finding.message
                fate, outcome = Fate.INFRA, NoReward(reason=Missing.INFRA, message=message)
            else:
                fate = fate_of(candidate, finding)
                outcome = earned(reply.question, candidate, finding, grading)
    return Answered(reply=reply, read=read, finding=finding, fate=fate, outcome=outcome)


def earned(question: Question, candidate: Candidate, verdict: Verdict, grading: Grading) -> Outcome:
    """What a program earns as an answer. A rubric is asked only of one that passed."""
    scores = None
    if grading.rule.needs_rubric and isinstance(verdict, Passed):
        if grading.rubric is None:
            raise UsageError(f"the reward {grading.rule.name} needs a rubric")
        scores = grading.rubric.scores(
            Work(
                task=question.task,
                candidate=candidate,
                verdict=verdict,
                before=question.before,
                feedback=question.feedback,
            )
        )
    return grading.rule.reward(verdict, scores)
