"""Single-turn replies as a source of samples: drawn in one batch, judged side by side, and rewarded."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from warpsmith.core import InfraError, UsageError
from warpsmith.learn.answering.answered import Answered, Reply, Round, answered
from warpsmith.learn.answering.court import Court, Unknown
from warpsmith.learn.answering.question import Question
from warpsmith.learn.grading import Grading
from warpsmith.learn.order import drawn_for
from warpsmith.learn.trajectory.nouns import Sample, Span
from warpsmith.policy.base import Sampling
from warpsmith.policy.local.template import Template
from warpsmith.policy.local.tokens import TokenOutput, TokenPolicy

STEP = 1_000_000_007  # between the seeds of steps


def nobody(_: Round) -> None:
    """Told of a round, says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """Each step some of the questions, each answered several times at once.

    A reply that is no program earns what a wrong one does; one that could not be judged, by our fault, has
    no reward. Replies to one question are a group.
    """

    questions: Sequence[Question]
    template: Template
    context_tokens: int  # that the student can read and write
    court: Court
    grading: Grading
    tokenizer: str = ""
    questions_per_step: int = 16
    samples_per_question: int = 8
    seed: int = 0  # of the order of questions
    turn: Callable[[], AbstractContextManager[None]] = nullcontext  # held while the model runs
    told: Callable[[Round], None] = nobody

    def __post_init__(self) -> None:
        if not self.questions or min(self.questions_per_step, self.samples_per_question) < 1:
            raise UsageError(
                "answering needs a question, and 1 or more questions a step and samples a question"
            )

    def rollouts(self, policy: TokenPolicy, sampling: Sampling, step: int) -> tuple[Sample, ...]:
        """See Source. Raises as `round`."""
        done = self.round(policy, sampling, step)
        self.told(done)
        return tuple(self._sample(number, one, step) for number, one in enumerate(done.answered))

    def round(self, policy: TokenPolicy, sampling: Sampling, step: int) -> Round:
        """A step's questions, answered and judged.

        Raises UsageError if the student can read none of them, InfraError if nothing at all could be judged.
        """
        begun_s = time.monotonic()
        asked = drawn_for(step, self.questions, self.questions_per_step, self.seed)
        fitting = self._fitting(asked)
        each = [pair for pair in fitting for _ in range(self.samples_per_question)]
        seeded = replace(sampling, seed=(sampling.seed or 0) + step * STEP)
        with self.turn():
            outputs = policy.generate([ids for _, ids in each], seeded)
        drawn_s = time.monotonic()
        replies = [
            Reply(question=question, prompt_ids=ids, output=output, text=self._text(output))
            for (question, ids), output in zip(each, outputs, strict=True)
        ]
        judged = answered(replies, self.court, self.grading)
        _check_known(judged)
        return Round(
            step=step,
            answered=judged,
            num_left_out=len(asked) - len(fitting),
            drawing_s=drawn_s - begun_s,
            judging_s=time.monotonic() - drawn_s,
        )

    def _fitting(self, asked: Sequence[Question]) -> list[tuple[Question, tuple[int, ...]]]:
        """Those that leave room for a reply: one long task is no reason to stop a training."""
        worded = [(question, question.ids(self.template)) for question in asked]
        fitting = [pair for pair in worded if len(pair[1]) < self.context_tokens]
        if not fitting:
            shortest = min(len(ids) for _, ids in worded)
            raise UsageError(
                f"no question fits a context of {self.context_tokens} tokens; the shortest has {shortest}"
            )
        return fitting

    def _text(self, output: TokenOutput) -> str:
        return self.template.said(output.ids if output.is_cut else output.ids[:-1])

    def _sample(self, number: int, one: Answered, step: int) -> Sample:
        reply = one.reply
        ids = reply.prompt_ids + reply.output.ids
        span = Span(
            start=len(reply.prompt_ids),
            end=len(ids),
            weights=f"{step - 1} updates",
            is_cut=reply.output.is_cut,
            logprobs=reply.output.logprobs,
        )
        return Sample(
            sample_id=f"{step:06d}/{number:04d}",
            task_id=reply.question.task.task_id,
            ids=ids,
            spans=(span,),
            group=f"{step}/{reply.question.key}",
            tokenizer=self.tokenizer,
            outcome=one.outcome,
            is_truncated=reply.output.is_cut,
        )


def _check_known(judged: Sequence[Answered]) -> None:
    """One judge that fails costs its samples; if all do, there is something to mend first."""
    findings = [one.finding for one in judged if one.finding is not None]
    unknown = [finding for finding in findings if isinstance(finding, Unknown)]
    if unknown and len(unknown) == len(findings):
        raise InfraError(f"no program of this step could be judged: {unknown[0].message}")
