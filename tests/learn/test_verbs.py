"""The verbs of `warpsmith train`, by their functions."""

import json
from types import SimpleNamespace

import pytest

from warpsmith.agent import Budget, Record, Silent
from warpsmith.agent.optimize import Bench, OptimizeConfig, episode
from warpsmith.cli.train import acted, recorded
from warpsmith.core import Message, Role, Task, ToolCall, UsageError
from warpsmith.device import select_device
from warpsmith.policy.scripted import ScriptedPolicy
from warpsmith.sandbox import pick

SOURCE = "class Model: ...\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"


@pytest.fixture
def run(made, tmp_path):
    """A run of a teacher whose program is twice as fast."""
    task = Task(task_id="twice", source=SOURCE, provenance="test")
    judge = SimpleNamespace(
        held_s=0.0,
        build=lambda candidate: made.failed,
        verify=lambda candidate: made.passed(),
        measure=lambda candidate: made.passed(),
    )
    bench = Bench(
        task=task, judge=judge, sandbox=pick("process"), device=select_device("cpu"), environment={}
    )
    program = ToolCall(call_id="1", tool="bash", arguments={"command": "echo 'x = 1' > model_new.py"})
    profile = ToolCall(call_id="2", tool="profile", arguments={})
    reply = Message(role=Role.ASSISTANT, text="I try.", tool_calls=(program, profile))
    with Record.create(tmp_path / "run", task) as record:
        config = OptimizeConfig(device=bench.device, budget=Budget())
        episode(ScriptedPolicy([reply]), bench, config, record, Silent())
    return tmp_path / "run"


@pytest.fixture
def samples(run, reader, tmp_path):
    assert recorded.collect(runs=[run], model=reader.folder, out=tmp_path / "samples.jsonl") == 0
    return tmp_path / "samples.jsonl"


def test_a_run_becomes_a_sample(samples):
    (line,) = samples.read_text().splitlines()
    assert json.loads(line)["outcome"]["value"] == 3.0


def test_a_rubric_is_there_for_a_reward_that_needs_one(run, reader, tmp_path):
    out = tmp_path / "shaped.jsonl"
    recorded.collect(runs=[run], model=reader.folder, out=out, reward="shaped", all_=True)
    assert 0.0 < json.loads(out.read_text())["outcome"]["value"] < 5.0


@pytest.mark.slow
def test_a_critic_and_an_imitator_are_made_of_samples(samples, reader, tmp_path, capsys):
    capsys.readouterr()
    told = {"model": reader.folder, "data": samples, "steps": 2, "json": True}
    assert recorded.sft(run=tmp_path / "sft", lr=1e-3, **told) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["command"] == "train sft"
    assert (tmp_path / "sft" / "final" / "actor" / "tokenizer.json").is_file()
    assert recorded.value(run=tmp_path / "value", **told) == 0
    assert (tmp_path / "value" / "final" / "critic" / "config.json").is_file()


@pytest.mark.parametrize(
    ("verb", "changes", "message"),
    [
        (recorded.sft, {"model": "nowhere"}, "does not exist"),
        (recorded.sft, {"data": "nowhere.jsonl"}, "cannot be read"),
        (recorded.value, {"data": "nowhere.jsonl"}, "cannot be read"),
        (acted.ppo, {"task": ["nowhere.py"]}, "nowhere"),
        (acted.grpo, {"task": ["nowhere.py"]}, "nowhere"),
        pytest.param(acted.ppo, {"critic": "nowhere"}, "is no critic", marks=pytest.mark.slow),
        (acted.grpo, {"reward": "gold"}, "unknown reward"),
    ],
)
def test_what_does_not_exist_is_named(reader, tmp_path, verb, changes, message):
    from pathlib import Path

    given = {"model": reader.folder, "run": tmp_path / "run"}
    if verb in (acted.ppo, acted.grpo):
        (tmp_path / "task.py").write_text("import torch\n\nclass Model(torch.nn.Module): ...\n" + SOURCE[17:])
        given |= {"task": [str(tmp_path / "task.py")], "device": "cpu"}
    else:
        given |= {"data": tmp_path / "samples.jsonl"}
    paths = {
        name: Path(value) if name in ("model", "data", "critic") else value for name, value in changes.items()
    }
    with pytest.raises(UsageError, match=message):
        verb(**(given | paths))
    assert not (tmp_path / "run").exists()
