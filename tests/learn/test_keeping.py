"""A full disk, a checkpoint that is broken or another run's: a clear stop, and what was saved is kept."""

import resource
import shutil
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

from warpsmith.core import InfraError, UsageError
from warpsmith.learn.engines.local.loop import train
from warpsmith.learn.engines.local.sft import Sft
from warpsmith.learn.engines.local.student import student_of
from warpsmith.learn.metrics import CLOCKS, Metric, paced
from warpsmith.learn.recipes import toy
from warpsmith.learn.toy.tuning import taught


def sft(base, *, steps=2, seed=0, lr=1e-2):
    student = student_of(base)
    config = replace(toy.sft(steps=steps, seed=seed), samples_per_step=4)
    config = replace(config, loop=replace(config.loop, save_every=1), descent=replace(config.descent, lr=lr))
    return Sft(student, taught(student.template, 8, seed=0), config)


@pytest.fixture
def run(base, tmp_path):
    """The folder of a run that has ended, with checkpoints of steps 1 and 2."""
    train(sft(base), tmp_path / "run")
    return tmp_path / "run"


@contextmanager
def files_up_to(size):
    """The system refuses to write more into one file, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("what", ["weights", "state"])
def test_a_disk_that_is_full_keeps_what_was_saved(base, run, tmp_path, what):
    weights = run / "checkpoints" / "000002" / "actor" / "model.safetensors"
    size = weights.stat().st_size
    state = (run / "checkpoints" / "000002" / "state.pt").stat().st_size
    assert state > 1.2 * size
    limit = size // 2 if what == "weights" else size + (state - size) // 2
    folder = tmp_path / "full"

    class Killed(Exception):
        pass

    def kill(step, _metrics):
        if step == 2:
            raise Killed

    with pytest.raises(Killed):
        train(sft(base), folder, kill)
    with files_up_to(limit), pytest.raises(InfraError, match=r"000002 cannot be written .* is kept"):
        train(sft(base), folder)
    assert [path.name for path in (folder / "checkpoints").iterdir()] == ["000001"]
    assert train(sft(base), folder).final is not None


def _shorter(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGE = {
    "cut weights": lambda place: _shorter(place / "actor" / "model.safetensors"),
    "no weights": lambda place: (place / "actor" / "model.safetensors").unlink(),
    "no network": lambda place: shutil.rmtree(place / "actor"),
    "cut state": lambda place: _shorter(place / "state.pt"),
    "empty state": lambda place: (place / "state.pt").write_bytes(b""),
    "no state": lambda place: (place / "state.pt").unlink(),
    "a state of something else": lambda place: torch.save({"epoch": 3}, place / "state.pt"),
    "a list": lambda place: torch.save([1], place / "state.pt"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_checkpoint_is_said_and_the_one_before_is_gone_on_from(base, run, name):
    place = run / "checkpoints" / "000002"
    DAMAGE[name](place)
    with pytest.raises(UsageError, match=r"000002 is damaged .*; remove it to go on from the one before"):
        train(sft(base), run)
    shutil.rmtree(place)
    assert train(sft(base), run).num_steps == 2


def test_a_checkpoint_lacking_weights_is_damaged(base, run):
    from safetensors.torch import load_file, save_file

    path = run / "checkpoints" / "000002" / "actor" / "model.safetensors"
    state = load_file(str(path))
    state.pop("model.norm.weight")
    save_file(state, str(path), metadata={"format": "pt"})
    with pytest.raises(UsageError, match=r"lacks weights: model\.norm\.weight"):
        train(sft(base), run)


def test_another_runs_checkpoint_is_not_taken_up(base, run, tmp_path):
    """Its shapes are the same: only its name could tell."""
    train(sft(base, lr=5e-3), tmp_path / "other")
    place = run / "checkpoints" / "000002"
    shutil.rmtree(place)
    shutil.copytree(tmp_path / "other" / "checkpoints" / "000002", place)
    with pytest.raises(UsageError, match="000002 is a checkpoint of another run"):
        train(sft(base), run)


def test_a_step_tells_its_pace():
    told = {Metric.GENERATED: 600.0, Metric.READ: 900.0, Metric.ROLLOUT_S: 6.0, Metric.GENERATE_S: 2.0}
    assert paced(told, 9.0) == {
        Metric.WALL_S: 9.0,
        Metric.UPDATE_S: 3.0,
        Metric.ROLLOUT_TOKENS_PER_S: 100.0,
        Metric.GENERATE_TOKENS_PER_S: 300.0,
        Metric.UPDATE_TOKENS_PER_S: 300.0,
        Metric.IDLE: pytest.approx(4 / 9),
    }
    assert paced({Metric.READ: 900.0}, 3.0) == {
        Metric.WALL_S: 3.0,
        Metric.UPDATE_S: 3.0,
        Metric.UPDATE_TOKENS_PER_S: 300.0,
        Metric.IDLE: 0.0,
    }
    assert set(paced(told, 9.0)) | {Metric.ROLLOUT_S, Metric.GENERATE_S} == CLOCKS


def test_a_runs_metrics_hold_its_pace(run):
    import json

    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for step in steps:
        assert step["update_s"] == step["wall_s"] > 0.0
        assert step["update_tokens_per_s"] == pytest.approx(step["read"] / step["update_s"])
        assert step["read"] > step["tokens"]
