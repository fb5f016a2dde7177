"""From an agent's run to a sample with a reward."""

from dataclasses import dataclass, field

import pytest

from warpsmith.agent import (
    Aborted,
    Budget,
    Compacted,
    Finished,
    Judged,
    Record,
    Silent,
)
from warpsmith.agent.optimize import Bench, OptimizeConfig, episode
from warpsmith.core import (
    BuildFailed,
    Candidate,
    Cost,
    Implausible,
    Message,
    Provenance,
    Role,
    Solution,
    StopReason,
    Task,
    ToolCall,
    UsageError,
    Wrong,
)
from warpsmith.device import select_device
from warpsmith.learn.grading import Grading
from warpsmith.learn.recorded import Shelf
from warpsmith.learn.rewards import Milestone, Missing, Shaped
from warpsmith.learn.rubric import StaticRubric
from warpsmith.policy import PolicyConfig, Sampling
from warpsmith.policy.local import LocalPolicy
from warpsmith.policy.scripted import ScriptedPolicy
from warpsmith.sandbox import pick

SOURCE = "class Model: ...\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
TASK = Task(task_id="twice", source=SOURCE, provenance="test")
PROGRAM = Candidate.of({"model_new.py": "x = 1\n"})


@dataclass
class Judge:
    """Passes everything, at the times that it was made with."""

    verdict: object
    held_s: float = 0.0
    asked: list = field(default_factory=list)

    def build(self, candidate):
        return BuildFailed(log="none")

    def verify(self, candidate):
        return self.measure(candidate)

    def measure(self, candidate):
        self.asked.append(candidate)
        return self.verdict


def run(policy, folder, verdict, **budget):
    bench = Bench(
        task=TASK, judge=Judge(verdict), sandbox=pick("process"), device=select_device("cpu"), environment={}
    )
    config = OptimizeConfig(device=bench.device, budget=Budget(**budget))
    with Record.create(folder, TASK) as record:
        return episode(policy, bench, config, record, Silent())


def shelf(template, grading=None):
    return Shelf(template=template, grading=grading or Grading(rule=Milestone()), tokenizer="t", weights="w")


def calls(*which):
    made = tuple(ToolCall(call_id=str(n), tool=tool, arguments=how) for n, (tool, how) in enumerate(which))
    return Message(role=Role.ASSISTANT, text="I try.", tool_calls=made)


def test_a_local_models_run_is_a_sample_of_the_tokens_it_drew(reader, tmp_path):
    sampling = Sampling(temperature=1.0, max_tokens=6, seed=1)
    policy = LocalPolicy(str(reader.folder), PolicyConfig(sampling=sampling))
    replies = []
    plain = policy.respond

    def respond(messages, tools):
        replies.append(plain(messages, tools))
        return replies[-1]

    policy.respond = respond
    trajectory = run(policy, tmp_path / "run", Wrong(what="values", message="off"), max_turns=2)
    samples = shelf(reader.template).drawn_in(tmp_path / "run")
    assert len(replies) == len(trajectory.turns) == 2
    drawn = [sample.ids[span.start : span.end] for sample in samples for span in sample.spans]
    assert drawn == [reply.tokens.ids for reply in replies]
    assert samples[0].ids[: samples[0].spans[0].start] == replies[0].tokens.prompt_ids
    assert samples[-1].reward == -1.0
    assert samples[-1].is_truncated


@pytest.mark.slow
def test_the_trainer_agrees_with_what_the_agents_model_drew(reader, tmp_path):
    from warpsmith.learn.config import MemoryConfig
    from warpsmith.learn.engines.local.actor import Actor
    from warpsmith.learn.engines.local.batch import Batch
    from warpsmith.learn.engines.local.rollout import remembered

    sampling = Sampling(temperature=0.9, max_tokens=6, seed=2)
    policy = LocalPolicy(str(reader.folder), PolicyConfig(sampling=sampling))
    run(policy, tmp_path / "run", Wrong(what="values", message="off"), max_turns=2)
    samples = shelf(reader.template).drawn_in(tmp_path / "run")
    batch = Batch.of(samples, reader.device)
    memory = MemoryConfig()
    _, apart = remembered(Actor(reader.model, memory), samples, batch, memory, 0.9)
    assert apart < 1e-4


def test_a_teachers_run_is_a_sample_that_can_be_imitated(made, reader, tmp_path):
    teacher = ScriptedPolicy(
        [
            calls(("bash", {"command": "printf 'x = 1\\n' > model_new.py"}), ("profile", {})),
            Message(role=Role.ASSISTANT, text="It is twice as fast."),
        ]
    )
    run(teacher, tmp_path / "run", made.passed(2.0, 1.5))
    sample = shelf(reader.template).taught_in(tmp_path / "run")
    said = [reader.template.said(sample.ids[span.start : span.end]) for span in sample.spans]
    assert len(said) == 2
    assert said[1] == "It is twice as fast.<|im_end|>"
    assert sample.reward == 3.0
    assert sample.logprobs is None


# --- what an episode earns ---


def finished(best=None, stop=StopReason.FINISHED, reason=""):
    return Finished(stop=stop, cost=Cost(), num_turns=1, best=best, reason=reason)


def judged(verdict):
    return Judged(tool="profile", digest="d", verdict=verdict)


def graded(*events, grading=None):
    return (grading or Grading(rule=Milestone())).of_episode(TASK, events)


def solution(verdict):
    return Solution(candidate=PROGRAM, verdict=verdict)


def test_the_verdict_of_record_counts(made):
    found = graded(judged(made.passed(9.0, 9.0)), finished(solution(made.passed(2.0, 0.9))))
    assert found.outcome.value == 2.0


def test_without_a_program_that_passed_it_failed():
    assert graded(finished()).outcome.value == -1.0
    assert graded(judged(Wrong(what="values", message="")), finished(stop=StopReason.TURNS)).is_truncated


def test_what_passed_and_failed_its_last_measurement_has_failed(made):
    crashed = Wrong(what="values", message="off the second time")
    found = graded(judged(made.passed()), judged(crashed), finished(solution(crashed)))
    assert found.outcome.value == -1.0


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ((), Missing.INFRA),
        ((Aborted(reason="the disk is full"),), Missing.INFRA),
        ((finished(stop=StopReason.POLICY, reason="no route"),), Missing.INFRA),
        ((finished(stop=StopReason.INTERRUPTED),), Missing.INFRA),
        ((judged(Implausible(message="too fast")), finished()), Missing.IMPLAUSIBLE),
    ],
)
def test_what_is_no_fault_of_the_policys_has_no_reward(events, reason):
    assert graded(*events).outcome.reason is reason


def test_who_was_stopped_with_a_good_program_keeps_its_reward(made):
    assert graded(finished(solution(made.passed()), stop=StopReason.INTERRUPTED)).outcome.value == 3.0


def test_the_rubric_looks_at_the_program_of_record(made):
    grading = Grading(rule=Shaped(), rubric=StaticRubric())
    outcome = graded(finished(solution(made.passed(2.0))), grading=grading).outcome
    assert outcome.parts["engineering"] == 1.0  # a program without a kernel
    with pytest.raises(UsageError, match="needs a rubric"):
        Grading(rule=Shaped())


def test_a_modelled_verdict_marks_the_sample(made):
    outcome = graded(finished(solution(made.passed(provenance=Provenance.MODELLED)))).outcome
    assert outcome.is_modelled


def test_a_folder_that_is_no_run_is_said(reader, tmp_path):
    for read in (shelf(reader.template).drawn_in, shelf(reader.template).taught_in):
        with pytest.raises(UsageError):
            read(tmp_path)


def test_a_run_that_was_compacted_cannot_be_taught(made, reader, tmp_path):
    run(ScriptedPolicy([]), tmp_path / "run", made.passed())
    log = tmp_path / "run" / "trajectory.jsonl"
    from warpsmith.agent.runs.log import EventLog

    EventLog(log).append(Compacted(context=(0,), num_tokens=9, kept_in="x"))
    with pytest.raises(UsageError, match="compacted"):
        shelf(reader.template).taught_in(tmp_path / "run")
