"""Who rolls out, with a judge that is a fake: students that answer, teachers that work as agents."""

from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from warpsmith.agent import Budget
from warpsmith.agent.optimize import Bench, OptimizeConfig
from warpsmith.core import BuildFailed, InfraError, Message, Role, Task, ToolCall
from warpsmith.device import select_device
from warpsmith.learn.evaluation.rolling import TOO_LONG, StudentRolling, TeacherRolling
from warpsmith.learn.recipes import Manner, Suite, Work
from warpsmith.policy import Sampling
from warpsmith.policy.local import TokenOutput
from warpsmith.policy.scripted import ScriptedPolicy
from warpsmith.sandbox import pick
from warpsmith.toolchain import Build

SOURCE = "class Model: ...\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
TASKS = tuple(Task(task_id=name, source=SOURCE + f"# {name}\n", provenance="test") for name in ("one", "two"))
PROGRAM = "Here it is.\n\nmodel_new.py\n```python\nx = 1\n```\n"


@dataclass
class Judge:
    """Builds everything and has one verdict."""

    verdict: object
    held_s: float = 0.0
    asked: list = field(default_factory=list)

    def build(self, candidate):
        return BuildFailed(log="no build is needed") if self.verdict is None else _built(candidate)

    def verify(self, candidate):
        return self.measure(candidate)

    def measure(self, candidate):
        self.asked.append(candidate)
        if isinstance(self.verdict, BaseException):
            raise self.verdict
        return self.verdict


def _built(_candidate):
    return object.__new__(Build)  # nobody looks into it


def opener(judge):
    @contextmanager
    def opened(task, _config):
        yield Bench(
            task=task, judge=judge, sandbox=pick("process"), device=select_device("cpu"), environment={}
        )

    return opened


def work(manner, **how):
    told = {"suite": Suite(store="suite.parquet"), "manner": manner, "samples_per_task": 2}
    return Work(**(told | {"budget": Budget(max_turns=2)} | how))


CONFIG = OptimizeConfig(device=select_device("cpu"))


@dataclass
class Says:
    """Draws the same text for every prompt."""

    reader: object
    text: str

    def generate(self, prompts, sampling):
        end = self.reader.template.end_of_turn[0]
        ids = (*self.reader.template.ids(self.text), end)
        return tuple(TokenOutput(ids=ids, logprobs=(-1.0,) * len(ids), is_cut=False) for _ in prompts)


def answering(reader, judge, text, **how):
    return StudentRolling(
        student=reader,
        voice=Says(reader, text),
        sampling=Sampling(seed=0),
        work=work(Manner.ANSWER, **how),
        config=CONFIG,
        opened=opener(judge),
    )


def test_an_answer_is_an_attempt_with_its_verdict_and_tokens(reader, made, tmp_path):
    judge = Judge(made.passed(2.0, 1.5))
    found = answering(reader, judge, PROGRAM).rolled(TASKS, 1, tmp_path)
    tries = sorted((one.task_id, one.number, one.kind) for one in found.attempts)
    assert tries == [(name, number, "passed") for name in ("one", "two") for number in (0, 1)]
    assert {one.reward for one in found.attempts} == {3.0}
    assert found.attempts[0].candidate is not None
    assert [sample.reward for sample in found.samples] == [3.0] * 4
    assert len(judge.asked) == 2  # equal answers to one question are judged once


def test_what_cannot_be_read_is_counted_by_its_flaw(reader, made, tmp_path):
    found = answering(reader, Judge(made.passed(2.0)), "I cannot.").rolled(TASKS, 1, tmp_path)
    assert {(one.kind, one.reward, one.num_verdicts) for one in found.attempts} == {("no file", -1.0, 0)}


class Failing(Judge):
    """Knows the first program, and has no GPU any more for the next."""

    def measure(self, candidate):
        self.asked.append(candidate)
        if len(self.asked) > 1:
            raise InfraError("the GPU is gone")
        return self.verdict


def test_our_failure_is_no_failure_of_the_policy(reader, made, tmp_path):
    found = answering(reader, Failing(made.passed(2.0, 1.5)), PROGRAM).rolled(TASKS, 1, tmp_path)
    assert sorted((one.kind, one.reward) for one in found.attempts if one.reward) == [("passed", 3.0)] * 2
    assert [(one.kind, one.reward) for one in found.attempts if not one.reward] == [("ours", None)] * 2


def test_a_task_that_is_too_long_to_be_read_is_an_attempt_that_failed(reader, made, tmp_path):
    long = Task(task_id="long", source=SOURCE + "# word\n" * 20_000, provenance="test")
    found = answering(reader, Judge(made.passed(2.0)), PROGRAM).rolled((*TASKS, long), 1, tmp_path)
    assert [one.kind for one in found.attempts if one.task_id == "long"] == [TOO_LONG]
    assert len(found.attempts) == 5


def reply():
    program = ToolCall(call_id="1", tool="bash", arguments={"command": "echo 'x = 1' > model_new.py"})
    profile = ToolCall(call_id="2", tool="profile", arguments={})
    return Message(role=Role.ASSISTANT, text="I try.", tool_calls=(program, profile))


def teaching(judge, manner, asked, reader=None):
    def teacher(number):
        asked.append(number)
        return ScriptedPolicy([reply()])

    return TeacherRolling(made=teacher, work=work(manner), config=CONFIG, reader=reader, opened=opener(judge))


def test_a_teachers_finished_episodes_are_not_played_again(made, tmp_path):
    asked = []
    rolling = teaching(Judge(made.passed(2.0, 1.5)), Manner.AGENT, asked)
    first = rolling.rolled(TASKS, 1, tmp_path)
    assert sorted(asked) == [1, 1, 2, 2]
    assert [one.kind for one in first.attempts] == ["passed"] * 4
    assert first.samples == ()  # nobody reads them
    (tmp_path / "000001" / "0002" / "trajectory.jsonl").write_text("")  # as a kill may leave it
    asked.clear()
    again = rolling.rolled(TASKS, 1, tmp_path)
    assert asked == [1]
    assert [one.kind for one in again.attempts] == ["passed"] * 4


def test_a_teachers_program_is_a_lesson_in_one_turn(reader, made, tmp_path):
    rolling = teaching(Judge(made.passed(2.0, 1.5)), Manner.ANSWER, [], reader)
    found = rolling.rolled(TASKS[:1], 1, tmp_path)
    sample = found.samples[0]
    assert sample.reward == 3.0
    (span,) = sample.spans
    assert "model_new.py" in reader.template.said(sample.ids[span.start : span.end])
    student = answering(reader, Judge(made.passed(2.0)), PROGRAM).rolled(TASKS[:1], 1, tmp_path / "student")
    asked = student.samples[0]
    assert sample.ids[: span.start] == asked.ids[: asked.spans[0].start]  # as it will be asked itself


@pytest.mark.slow
def test_a_teachers_episode_is_a_sample_as_the_student_reads_it(reader, made, tmp_path):
    rolling = teaching(Judge(made.passed(2.0, 1.5)), Manner.AGENT, [], reader)
    found = rolling.rolled(TASKS[:1], 1, tmp_path)
    assert [sample.reward for sample in found.samples] == [3.0, 3.0]
    assert all(sample.spans[0].logprobs is None for sample in found.samples)
