"""What is asked is short, whole, and the same for all that read and write it."""

from warpsmith.core import Role, Wrong
from warpsmith.learn.answering.question import EXAMPLE, question_of_skill, question_of_task
from warpsmith.learn.answering.reply import Program, read_reply
from warpsmith.tasks.synth.skills import Contract, Lesson, SubTask

WRONG = Wrong(what="values", message="off")


def test_a_task_is_asked_with_an_example_that_is_itself_a_good_reply(talk):
    question = question_of_task(talk.task())
    assert [message.role for message in question.messages] == [Role.SYSTEM, Role.USER]
    assert talk.task().source.strip() in question.messages[1].text
    example = read_reply(EXAMPLE, is_cut=False)
    assert isinstance(example, Program)
    assert example.candidate.form.value == "launcher"


def test_a_prompt_is_short(talk):
    """A token of a coder's vocabulary is about 3.4 characters of it."""
    question = question_of_task(talk.task())
    assert sum(len(message.text) for message in question.messages) - len(talk.task().source) < 1_900


def test_a_lesson_is_asked_with_what_was_said_of_its_program(made, talk):
    lesson = Lesson(
        task=talk.task(),
        before=talk.program(),
        verdict_before=WRONG,
        feedback="Row 3 is off.",
        after=talk.program("mul"),
        verdict_after=made.passed(),
        origin="run",
        turns=(1, 2),
    )
    question = question_of_skill(lesson)
    asked = question.messages[1].text
    assert "Row 3 is off." in asked
    assert talk.kernel in asked
    assert ".mul(" not in asked
    assert question.before.verdict == WRONG
    assert question.key == lesson.digest != question_of_task(talk.task()).key


def test_a_sub_task_is_asked_with_its_template(talk):
    skill = SubTask(
        name="add",
        operators=("add",),
        task=talk.task(),
        contract=Contract(operands=(), launcher="int add()"),
        template=talk.program(),
        origin="",
    )
    question = question_of_skill(skill)
    assert talk.kernel in question.messages[1].text
    assert question.before is None
