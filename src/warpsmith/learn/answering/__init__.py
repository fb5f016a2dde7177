"""Single-turn work: one question, one reply with whole files, one verdict.

`question` words what a task or an atomic skill asks, `reply` reads what was answered, `fate` names what
became of it, `court` judges many programs at once, `answered` puts that together, and `source` lets a student
learn from it.
"""

from warpsmith.learn.answering.answered import Answered, Round
from warpsmith.learn.answering.court import Court
from warpsmith.learn.answering.fate import Fate, Histogram
from warpsmith.learn.answering.question import Question, question_of_skill, question_of_task
from warpsmith.learn.answering.reply import Program, Unread, read_reply, reply_text
from warpsmith.learn.answering.source import Answering

__all__ = [
    "Answered",
    "Answering",
    "Court",
    "Fate",
    "Histogram",
    "Program",
    "Question",
    "Round",
    "Unread",
    "question_of_skill",
    "question_of_task",
    "read_reply",
    "reply_text",
]
