"""The verbs of `warpsmith train`, by their functions."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from warpsmith.agent import Budget, Record, Silent
from warpsmith.agent.optimize import Bench, OptimizeConfig, episode
from warpsmith.cli.train import acted, listing, recorded
from warpsmith.cli.train.overriding import StageWish, WorkWish
from warpsmith.core import Message, Role, Task, ToolCall, UsageError
from warpsmith.device import select_device
from warpsmith.learn.recipes import RECIPES, recipe_called
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
    told = {"model": reader.folder, "data": [samples], "steps": 2, "json": True}
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
    given = {"model": reader.folder, "run": tmp_path / "run"}
    if verb in (acted.ppo, acted.grpo):
        (tmp_path / "task.py").write_text("import torch\n\nclass Model(torch.nn.Module): ...\n" + SOURCE[17:])
        given |= {"task": [str(tmp_path / "task.py")], "device": "cpu"}
    else:
        given |= {"data": [tmp_path / "samples.jsonl"]}
    paths = {name: Path(value) if name in ("model", "critic") else value for name, value in changes.items()}
    if "data" in paths:
        paths["data"] = [Path(paths["data"])]
    with pytest.raises(UsageError, match=message):
        verb(**(given | paths))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recipe": "nope"}, "unknown recipe 'nope'; choose one of rft_qwen05b_h200"),
        ({"recipe": "rft_tiny_cpu"}, "a recipe of train sft; those of train ppo are warmup_ppo_qwen05b_h200"),
        ({"split": "test"}, "never trained on"),
        ({"task": ["a.py"], "split": "train"}, "leave --suite, --split and --limit out"),
        ({"manner": "song"}, "choose one of agent, answer"),
        ({"steps": 0}, "must be 1 or more"),
        ({"lr": 0.0}, "must be above 0"),
    ],
)
def test_a_recipe_that_cannot_be_carried_out_is_told_before_a_model_is_read(tmp_path, changes, message):
    with pytest.raises(UsageError, match=message):
        acted.ppo(model=tmp_path / "nowhere", run=tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


def test_what_was_said_replaces_what_the_recipe_has():
    recipe = recipe_called("rubric_grpo_tiny_cpu")
    stage = StageWish(steps=7, lr=0.5, seed=3, max_reply_tokens=11).acted(recipe.stage)
    assert (stage.loop.steps, stage.loop.seed, stage.update.descent.lr) == (7, 3, 0.5)
    assert stage.sampling == replace(recipe.stage.sampling, max_tokens=11)
    work = WorkWish(suite=Path("s.parquet"), reward="kevin", max_turns=2, manner="agent").applied(recipe.work)
    assert work.suite == replace(recipe.work.suite, store=Path("s.parquet"))
    assert (work.reward, work.budget.max_turns, work.tasks_per_step) == ("kevin", 2, 2)
    assert StageWish().acted(recipe.stage) == recipe.stage
    assert WorkWish().applied(recipe.work) == recipe.work


def test_every_recipe_is_listed_with_what_it_is(capsys):
    assert listing.recipes(json=True) == 0
    told = {one["name"]: one for one in json.loads(capsys.readouterr().out)["recipes"]}
    assert set(told) == set(RECIPES)
    assert {one["verb"] for one in told.values()} == {"sft", "value", "ppo", "grpo"}
    assert all(one["about"] and one["settings"]["stage"]["loop"]["steps"] for one in told.values())
