"""Programs that lie there already, judged as a teacher's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpsmith.agent.optimize import OptimizeConfig, open_bench
from warpsmith.core import Candidate, Passed, Task
from warpsmith.learn.acting import grading_of
from warpsmith.learn.acting.lessons import lesson_of
from warpsmith.learn.acting.workplace import Reader
from warpsmith.learn.answering import Court, question_of_task
from warpsmith.learn.answering.answered import earned
from warpsmith.learn.answering.court import Case, Finding, Unknown
from warpsmith.learn.evaluation.attempts import Attempt
from warpsmith.learn.evaluation.rollouts import Rolled
from warpsmith.learn.recipes.base import Work
from warpsmith.learn.rewards.base import Missing, NoReward, Outcome, Reward


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRolling:
    """By their task's digest; a task without a program is tried by nobody."""

    programs: Mapping[str, Candidate]
    work: Work
    config: OptimizeConfig
    reader: Reader

    def rolled(self, tasks: Sequence[Task], number: int, runs: Path) -> Rolled:  # noqa: ARG002
        """See Rolling. Samples are single turns."""
        known = [task for task in tasks if task.digest in self.programs]
        court = Court(opened=lambda task: open_bench(task, self.config))
        findings = court.judged([Case(task=task, candidates=(self.programs[task.digest],)) for task in known])
        told = [(task, finding) for task, (finding,) in zip(known, findings, strict=True)]
        return Rolled(
            attempts=tuple(self._attempt(task, finding) for task, finding in told),
            samples=tuple(
                lesson_of(task, self.programs[task.digest], self.reader, self._outcome(task, finding))
                for task, finding in told
            ),
        )

    def _outcome(self, task: Task, finding: Finding) -> Outcome:
        if isinstance(finding, Unknown):
            return NoReward(reason=Missing.INFRA, message=finding.message)
        candidate = self.programs[task.digest]
        return earned(question_of_task(task), candidate, finding, grading_of(self.work.reward))

    def _attempt(self, task: Task, finding: Finding) -> Attempt:
        outcome = self._outcome(task, finding)
        return Attempt(
            task_id=task.task_id,
            digest=task.digest,
            verdict=None if isinstance(finding, Unknown) else finding,
            is_ours=isinstance(finding, Unknown),
            reward=outcome.value if isinstance(outcome, Reward) else None,
            num_verdicts=int(not isinstance(finding, Unknown)),
            candidate=self.programs[task.digest] if isinstance(finding, Passed) else None,
        )
