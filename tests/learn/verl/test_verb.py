"""`--engine verl` on a command line."""

import json
from pathlib import Path

import pytest

from warpsmith.cli.console import Console
from warpsmith.cli.train import engines
from warpsmith.cli.train.engines import Elsewhere, Errand
from warpsmith.core import EnvironmentMissing, Task, UsageError
from warpsmith.core.codec import from_json
from warpsmith.learn.engines.verl import environment, launch
from warpsmith.learn.recipes.base import Suite, Work


@pytest.fixture
def errand(recipes, tmp_path, monkeypatch):
    """PPO on 128 tasks, of a model that reads 4,096 tokens, on a machine without verl."""
    monkeypatch.setattr(launch, "is_there", lambda: False)
    monkeypatch.setattr(environment, "find_spec", lambda _name: None)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"max_position_embeddings": 4096}')
    task = Task(task_id="twice", source="class Model: ...\n", provenance="test")

    def made(**changes):
        told = {
            "stage": recipes.ppo,
            "model": tmp_path / "model",
            "run": tmp_path / "run",
            "tasks": [task] * 128,
            "work": Work(suite=Suite(store=Path("s.parquet")), tasks_per_step=128, samples_per_task=2),
            "device": "cpu",
        }
        return Errand(**told | changes)

    return made


DRY = Elsewhere(engine="verl", nodes=4, is_dry=True)


def test_a_dry_run_writes_and_starts_nothing(errand, tmp_path, capsys):
    assert engines.carry_out(Console(is_json=True), DRY, errand()) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["is_checked"] is False
    assert document["arguments"][:2] == ["-m", "verl.trainer.main_ppo"]
    lines = (tmp_path / "run" / "overrides.txt").read_text().splitlines()
    assert {"trainer.nnodes=4", "trainer.n_gpus_per_node=8", "actor_rollout_ref.rollout.n=2"} <= set(lines)
    assert {"data.max_prompt_length=2048", "data.max_response_length=2048"} <= set(lines)


def test_what_episodes_need_travels_with_them(errand, tmp_path):
    engines.carry_out(Console(is_json=True), DRY, errand())
    (loop,) = json.loads((tmp_path / "run" / "agent.yaml").read_text())
    post = loop["workplace"]
    assert from_json(Work, post["work"]) == errand().work
    assert (post["device"], post["gpu"], Path(post["runs"])) == ("cpu", None, tmp_path / "run-episodes")


def test_samples_need_no_judge(errand, recipes, sample, tmp_path):
    made = errand(stage=recipes.value, samples=[sample] * 32, work=None, device="auto")
    assert engines.carry_out(Console(is_json=True), DRY, made) == 0
    assert "data.train_batch_size=32" in (tmp_path / "run" / "overrides.txt").read_text().splitlines()


def test_without_verl_a_real_run_says_how_to_get_it(errand):
    with pytest.raises(EnvironmentMissing, match="in an environment of its own"):
        engines.carry_out(Console(is_json=True), Elsewhere(engine="verl"), errand())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"engine": "ray"}, "choose one of local, verl"),
        ({"nodes": 2}, "add --engine verl"),
        ({"is_dry": True}, "add --engine verl"),
        ({"engine": "verl", "judge_gpu": 7}, "lower --gpus"),
    ],
)
def test_what_makes_no_sense_together_is_refused(asked, message):
    with pytest.raises(UsageError, match=message):
        Elsewhere(**asked)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": "auto"}, "say which device judges"),
        ({"device": "cuda"}, "--judge-gpu N"),
        ({"model": Path("nowhere")}, "no model of Hugging Face's files"),
        ({"tasks": ()}, "there are 0 tasks"),
    ],
)
def test_what_would_go_wrong_on_the_nodes_is_said_before(errand, changes, message):
    with pytest.raises(UsageError, match=message):
        engines.carry_out(Console(is_json=True), DRY, errand(**changes))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"max_position_embeddings": "many"}', "\x00"])
def test_a_model_that_says_nothing_of_its_context_is_refused(errand, tmp_path, text):
    made = errand()
    (tmp_path / "model" / "config.json").write_text(text)
    with pytest.raises(UsageError, match="no model of"):
        engines.carry_out(Console(is_json=True), DRY, made)
