"""Who rolls out: a student whose words are drawn for all at once, or a policy that speaks for itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from warpsmith.agent.optimize import OptimizeConfig, open_bench
from warpsmith.agent.runs.past import past_of
from warpsmith.agent.runs.record import TOKENS, TRAJECTORY
from warpsmith.agent.runs.resume import OpenBench
from warpsmith.core import Candidate, Cost, Task, UsageError
from warpsmith.learn.acting import Teaching, Workplace, grading_of, shelf_of
from warpsmith.learn.acting.lessons import lesson_of
from warpsmith.learn.acting.workplace import Reader, answering_of
from warpsmith.learn.answering import Answered, Program, Round
from warpsmith.learn.answering.court import Unknown
from warpsmith.learn.evaluation.attempts import Attempt, attempt_of
from warpsmith.learn.evaluation.rollouts import Rolled
from warpsmith.learn.recipes.base import Manner, Work
from warpsmith.learn.rewards.base import Reward
from warpsmith.learn.trajectory import Sample
from warpsmith.policy import Policy
from warpsmith.policy.base import Sampling
from warpsmith.policy.local.tokens import TokenPolicy

if TYPE_CHECKING:
    from warpsmith.learn.engines.local.student import Student

TOO_LONG = "too long to be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentRolling:
    """A model's tokens, drawn for all rollouts of a batch at once."""

    student: Reader
    voice: TokenPolicy
    sampling: Sampling
    work: Work
    config: OptimizeConfig
    opened: OpenBench = open_bench

    def rolled(self, tasks: Sequence[Task], number: int, runs: Path) -> Rolled:
        """See Rolling."""
        work = replace(self.work, tasks_per_step=len(tasks))
        place = Workplace(tasks=tasks, work=work, config=self.config, runs=runs, opened=self.opened)
        return WAYS[work.manner](self, place, number)

    def acted(self, place: Workplace, number: int) -> Rolled:
        samples = place.source(self.student).rollouts(self.voice, self.sampling, number)
        runs = sorted((place.runs / f"{number:06d}").glob(f"*/{TRAJECTORY}"))
        return Rolled(attempts=_attempts([run.parent for run in runs], self.work.reward), samples=samples)

    def answered(self, place: Workplace, number: int) -> Rolled:
        rounds: list[Round] = []
        source = replace(answering_of(place, self.student), told=rounds.append)
        samples = source.rollouts(self.voice, self.sampling, number)
        told = [one for done in rounds for one in done.answered]
        known = {one.reply.question.task.digest for one in told}
        unread = [
            Attempt(task_id=task.task_id, digest=task.digest, flaw=TOO_LONG)
            for task in place.tasks
            if task.digest not in known
        ]
        return Rolled(attempts=(*_numbered([_answer(one) for one in told]), *unread), samples=samples)


WAYS: dict[Manner, Callable[[StudentRolling, Workplace, int], Rolled]] = {
    Manner.AGENT: StudentRolling.acted,
    Manner.ANSWER: StudentRolling.answered,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TeacherRolling:
    """Episodes of any other policy, as an agent; what `reader` is given as samples, if there is one.

    If the work is to answer in one turn, a sample is the program that came of an episode as such an answer.
    """

    made: Callable[[int], Policy]
    work: Work
    config: OptimizeConfig
    reader: Reader | None = None
    opened: OpenBench = open_bench

    def rolled(self, tasks: Sequence[Task], number: int, runs: Path) -> Rolled:
        """See Rolling."""
        config = replace(self.config, budget=self.work.budget)
        teaching = Teaching(
            opened=lambda task: self.opened(task, config),
            config=config,
            made=self.made,
            samples_per_task=self.work.samples_per_task,
        )
        folders = teaching.played(tasks, runs / f"{number:06d}")
        attempts = _attempts(folders, self.work.reward)
        if self.reader is None:
            return Rolled(attempts=attempts, samples=())
        if self.work.manner is Manner.ANSWER:
            return Rolled(attempts=attempts, samples=_lessons(attempts, self.work.reward, self.reader))
        return Rolled(attempts=attempts, samples=_samples_in(folders, self.work.reward, self.reader))


def student_rolling(
    student: "Student", work: Work, sampling: Sampling, config: OptimizeConfig
) -> StudentRolling:
    """A student that draws as it does in training: in bfloat16 on a GPU."""
    from warpsmith.learn.config import MemoryConfig
    from warpsmith.learn.engines.local.rollout import Voice  # imports torch

    student.model.eval()
    precision = "bf16" if student.device.type == "cuda" else "fp32"
    voice = Voice(student, MemoryConfig(precision=precision))
    return StudentRolling(student=student, voice=voice, sampling=sampling, work=work, config=config)


def _answer(one: Answered) -> Attempt:
    """A failure of ours is none of the policy's; what could not be read was never judged."""
    task, output, finding = one.reply.question.task, one.reply.output, one.finding
    verdict = None if isinstance(finding, Unknown) else finding
    is_program = isinstance(one.read, Program)
    program: Candidate | None = one.read.candidate if isinstance(one.read, Program) else None
    attempt = Attempt(
        task_id=task.task_id,
        digest=task.digest,
        verdict=verdict,
        is_ours=is_program and verdict is None,
        reward=one.outcome.value if isinstance(one.outcome, Reward) else None,
        num_verdicts=int(verdict is not None),
        cost=Cost(prompt_tokens=len(one.reply.prompt_ids), completion_tokens=len(output.ids)),
        flaw="" if is_program else one.fate.value,
    )
    return replace(attempt, candidate=program if attempt.has_passed else None)


def _lessons(attempts: Sequence[Attempt], reward: str, reader: Reader) -> tuple[Sample, ...]:
    """Of episodes that came to a program, which then has a run's folder."""
    grading, found = grading_of(reward), []
    for attempt in attempts:
        if attempt.candidate is not None:
            past = past_of(Path(attempt.folder))
            outcome = grading.of_episode(past.task, past.events).outcome
            found.append(lesson_of(past.task, attempt.candidate, reader, outcome))
    return tuple(found)


def _samples_in(folders: Sequence[Path], reward: str, reader: Reader) -> tuple[Sample, ...]:
    """Of each run that is in one piece: what was compacted, or a team's, is left out."""
    shelf = shelf_of(reader, reward)
    found: list[Sample] = []
    for folder in folders:
        try:
            if (folder / TOKENS).is_file():
                found += shelf.drawn_in(folder)
            else:
                found.append(shelf.taught_in(folder))
        except UsageError:
            continue
    return tuple(found)


def _attempts(folders: Sequence[Path], reward: str) -> tuple[Attempt, ...]:
    """A run that broke off before it began is none."""
    grading = grading_of(reward)
    return _numbered(
        [attempt_of(past_of(folder), grading) for folder in folders if (folder / TRAJECTORY).is_file()]
    )


def _numbered(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """From 0 within their task."""
    counts: dict[str, int] = {}
    found = []
    for attempt in attempts:
        number = counts.get(attempt.digest, 0)
        counts[attempt.digest] = number + 1
        found.append(replace(attempt, number=number))
    return tuple(found)
