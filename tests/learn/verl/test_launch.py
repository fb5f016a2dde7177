"""A folder that one command starts: what is in it, and what it refuses."""

import json
import subprocess
from dataclasses import replace

import pytest

from warpsmith.core import EnvironmentMissing, InfraError, Task, UsageError
from warpsmith.learn.engines.verl import environment, launch
from warpsmith.learn.engines.verl.order import EPISODES, REPLAY, order_of
from warpsmith.learn.engines.verl.rows import sample_rows, task_rows

POST = {"_target_": "warpsmith.learn.engines.verl.acting.Post", "runs": "episodes", "work": "{}"}


@pytest.fixture
def unchecked(monkeypatch):
    """As on a machine without verl."""
    monkeypatch.setattr(launch, "is_there", lambda: False)


@pytest.fixture
def written(unchecked, recipes, engine, tmp_path):
    def write(kind, **changes):
        sized = replace(engine, **changes)
        order = order_of(getattr(recipes, kind), sized, tmp_path / "run", POST)
        task = Task(task_id="twice", source="class Model: ...\n", provenance="test")
        return launch.write(order, sized, task_rows([task] * 128), tmp_path / "run")

    return write


def overrides(written):
    return (written.folder / "overrides.txt").read_text().splitlines()


def test_a_dry_run_leaves_all_that_a_node_needs(written):
    folder = written("ppo").folder
    names = {"agent.yaml", "launch.sh", "notes.txt", "overrides.txt", "train.parquet"}
    assert {path.name for path in folder.iterdir()} == names
    (loop,) = json.loads((folder / "agent.yaml").read_text())
    assert loop["name"] == EPISODES
    assert loop["workplace"] == POST
    assert loop["max_reply_tokens"] == 16_384


def test_the_script_is_a_shells(written):
    made = written("ppo")
    assert subprocess.run(["sh", "-n", str(made.script)], check=False).returncode == 0
    assert made.command[:2] == ("-m", "verl.trainer.main_ppo")


def test_what_the_script_runs_is_what_the_order_says(written, tmp_path):
    made = written("ppo")
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    python.chmod(0o755)
    told = subprocess.run(
        [str(made.script), "trainer.nnodes=1"],
        env={"PYTHON": str(python), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert tuple(told) == (*made.command, "trainer.nnodes=1")


def test_nodes_of_imitation_meet_at_an_address(unchecked, recipes, engine, sample, tmp_path):
    order = order_of(recipes.sft, engine, tmp_path, {})
    made = launch.write(order, engine, sample_rows([sample] * 32, engine, needs_reward=False), tmp_path)
    assert '"--rdzv-endpoint=$MEETING"' in made.script.read_text()
    assert "--nproc-per-node=8" in made.command


def test_what_failed_by_our_fault_is_drawn_anew_but_not_for_ever(written):
    lines = overrides(written("ppo"))
    assert "trainer.v1.sampler.sync_refill_failed_groups=true" in lines
    assert "trainer.v1.sampler.custom_sampler.name='PatientBuffer'" in lines


def test_value_pretraining_never_comes_to_the_actor(written):
    made = written("value")
    lines = overrides(made)
    assert "trainer.critic_warmup=21" in lines  # of 20 steps
    assert "trainer.total_training_steps=20" in lines
    assert "algorithm.rollout_correction.bypass_mode=true" in lines
    (loop,) = json.loads((made.folder / "agent.yaml").read_text())
    assert loop["name"] == REPLAY


def test_grpo_has_no_critic(written):
    lines = overrides(written("grpo", samples_per_prompt=8))
    assert "critic.enable=false" in lines
    assert "actor_rollout_ref.rollout.n=8" in lines
    assert not any(line.startswith("critic.model.path") for line in lines)


def test_a_run_of_another_recipe_is_not_written_over(written):
    made = written("ppo")
    made.checkpoints.mkdir()
    written("ppo")
    with pytest.raises(UsageError, match="holds checkpoints of another order"):
        written("grpo")


def test_without_verl_nothing_has_looked_at_it(written):
    assert not written("ppo").is_checked


def test_a_folder_that_cannot_be_written_is_named(written, tmp_path):
    (tmp_path / "run").write_text("a file")
    with pytest.raises(UsageError, match="cannot be written"):
        written("ppo")


def test_verl_is_asked_for_with_the_command_that_brings_it(monkeypatch, written):
    made = written("ppo")
    monkeypatch.setattr(environment, "find_spec", lambda _name: None)
    with pytest.raises(EnvironmentMissing, match=r"pip install 'warpsmith\[verl\]'"):
        launch.launch(made, "vllm")


def test_another_verl_is_refused(monkeypatch):
    monkeypatch.setattr(environment, "find_spec", lambda name: name)
    monkeypatch.setattr(environment, "version", lambda _name: "0.10.0")
    with pytest.raises(EnvironmentMissing, match=r"verl 0\.10\.0 is not 0\.9\.1"):
        environment.check_environment()


def test_what_draws_is_asked_for_too(monkeypatch):
    monkeypatch.setattr(environment, "find_spec", lambda name: None if name == "vllm" else name)
    monkeypatch.setattr(environment, "version", lambda _name: "0.9.1")
    environment.check_environment()
    with pytest.raises(EnvironmentMissing, match=r"verl\[vllm\]==0\.9\.1"):
        environment.check_environment("vllm")


def test_a_run_that_fails_says_so(monkeypatch, written):
    made = written("ppo")
    monkeypatch.setattr(launch, "check_environment", lambda _rollout: None)
    made.script.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(InfraError, match="exit code 3"):
        launch.launch(made, "vllm")
