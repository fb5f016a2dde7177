"""A program of anybody's as the answer that a student could have given in one turn."""

from warpsmith.core import Candidate, Message, Role, Task
from warpsmith.learn.acting.workplace import Reader
from warpsmith.learn.answering import question_of_task, reply_text
from warpsmith.learn.rewards.base import Outcome
from warpsmith.learn.trajectory import Origin, Reading, Sample, sample_of
from warpsmith.policy.actions import Style


def lesson_of(task: Task, candidate: Candidate, reader: Reader, outcome: Outcome) -> Sample:
    """Raises UsageError if the student's template does not let one tell where the answer ends."""
    question = question_of_task(task)
    said = Message(role=Role.ASSISTANT, text=reply_text(candidate))
    reading = Reading(template=reader.template, style=Style.TOOLS)
    origin = Origin(
        sample_id=f"{task.task_id}/{candidate.digest[:12]}",
        task_id=task.task_id,
        group=question.key,
        tokenizer=reader.vocabulary,
        outcome=outcome,
    )
    return sample_of((*question.messages, said), reading, origin)
