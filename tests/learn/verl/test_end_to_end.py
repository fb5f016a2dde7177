"""verl itself, on a CPU: our orders, loops and tables in its own trainer, with a model of two layers.

Slow (minutes: each of Ray's processes imports verl), and skipped where verl is missing. It starts a Ray of
its own, or uses the one at RAY_ADDRESS, which needs what `ENVIRONMENT` says and one pretended GPU.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("verl", exc_type=ImportError)

from warpsmith.core import Task
from warpsmith.learn.config import DescentConfig, LoopConfig, PpoConfig, UpdateConfig, ValueConfig
from warpsmith.learn.engines.local import critic as critics
from warpsmith.learn.engines.local.student import student_of
from warpsmith.learn.engines.verl import launch
from warpsmith.learn.engines.verl.config import EngineConfig
from warpsmith.learn.engines.verl.order import order_of
from warpsmith.learn.engines.verl.rows import sample_rows, task_rows
from warpsmith.learn.toy.tiny import write_tiny
from warpsmith.learn.toy.tuning import TASKS, taught
from warpsmith.policy.base import Sampling

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

HERE = Path(__file__).parent
LIMIT_S = 1_800
ENVIRONMENT = {
    "VERL_USE_EXTERNAL_MODULES": "on_cpu",
    "VERL_PLATFORM": "cpu",
    "PYTHONPATH": os.pathsep.join(
        [str(HERE), str(HERE.parents[2] / "src"), os.environ.get("PYTHONPATH", "")]
    ),
    "PYTHON": sys.executable,
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
}
ON_CPU = (
    "trainer.device=cpu",
    "actor_rollout_ref.rollout.name=tiny",
    "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
    "actor_rollout_ref.model.use_remove_padding=false",
    "critic.model.use_remove_padding=false",
    "+actor_rollout_ref.model.override_config.attn_implementation=eager",
    "+critic.model.override_config.attn_implementation=eager",
    "actor_rollout_ref.actor.fsdp_config.use_torch_compile=false",
    "actor_rollout_ref.actor.use_torch_compile=false",
    "critic.fsdp.use_torch_compile=false",
    "data.dataloader_num_workers=0",
)
OWN_RAY = (
    "ray_kwargs.ray_init.num_cpus=8",
    "+ray_kwargs.ray_init.num_gpus=1",
    "+ray_kwargs.ray_init.include_dashboard=false",
    "+ray_kwargs.ray_init.object_store_memory=200000000",
)


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verl")
    write_tiny(folder / "tiny", hidden=32)
    engine = EngineConfig(
        model=folder / "tiny", gpus=1, prompt_tokens=64, response_tokens=64, prompts_per_step=8, num_workers=1
    )
    return folder, engine


def run(order, engine, rows, folder):
    """The metrics of each step, as verl wrote them."""
    written = launch.write(order, engine, rows, folder)
    assert written.is_checked
    extra = ON_CPU if os.environ.get("RAY_ADDRESS") else (*ON_CPU, *OWN_RAY)
    done = subprocess.run(
        [str(written.script), *extra],
        cwd=folder,
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4_000:]
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["data"] for line in lines]


def test_ppo_learns_from_episodes_of_two_turns_and_none_that_failed(ground):
    folder, engine = ground
    recipe = PpoConfig(
        loop=LoopConfig(steps=3, save_every=3),
        update=UpdateConfig(descent=DescentConfig(lr=2e-3), epochs=2, num_minibatches=2),
        critic=DescentConfig(lr=3e-3),
        sampling=Sampling(temperature=1.0, max_tokens=4),
        critic_only_steps=1,
    )
    tasks = [Task(task_id=name, source="class Model: ...\n", provenance="toy") for name in TASKS * 2]
    order = order_of(recipe, engine, folder / "ppo", {"_target_": "toy_place.ToyPlace", "broken": "gelu"})
    first, *later = run(order, engine, task_rows(tasks), folder / "ppo")
    assert len(later) == 2
    assert not any(name.startswith("actor/pg_") for name in first)  # only the critic learnt
    assert all("actor/pg_loss" in step for step in later)
    assert first["training/rollout_failure/evicted_samples"] >= 1  # and others were drawn for them
    for step in (first, *later):
        assert -1.0 <= step["critic/score/mean"] <= 3.0
        assert step["num_turns/mean"] == 4.0
    student = student_of(folder / "ppo" / "checkpoints" / "global_step_3" / "actor" / "huggingface")
    assert student.model.num_parameters() == student_of(engine.model).model.num_parameters()


def test_a_critic_is_fitted_to_recorded_samples_and_comes_back(ground):
    folder, engine = ground
    samples = taught(student_of(engine.model).template, 128, 0)
    rows = sample_rows(samples, engine, needs_reward=True)
    recipe = ValueConfig(
        loop=LoopConfig(steps=8, save_every=8), descent=DescentConfig(lr=5e-3), samples_per_step=32
    )
    steps = run(order_of(recipe, engine, folder / "value", {}), engine, rows, folder / "value")
    assert not any(name.startswith("actor/pg_") for step in steps for name in step)
    losses = [step["critic/vf_loss"] for step in steps]
    assert losses[-1] < losses[0] / 2
    made = folder / "value" / "checkpoints" / "global_step_8" / "critic" / "huggingface"
    shutil.copytree(made, folder / "critic")
    critics.read(folder / "critic", student_of(engine.model).device)  # no weight of it is missing
    again = replace(engine, critic=folder / "critic")
    recipe = replace(recipe, loop=LoopConfig(steps=1))
    (resumed,) = run(order_of(recipe, again, folder / "again", {}), again, rows, folder / "again")
    assert resumed["critic/vf_loss"] < losses[0] / 2  # it goes on where it was
