"""What a judge tells of a reference before any candidate: read from headers and counts, no tensor touched."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from warpsmith.core import InfraError, Task
from warpsmith.device.gpus import GPUS
from warpsmith.judge.clock.model import Launch
from warpsmith.judge.profile import Tensor, profile_of
from warpsmith.judge.tensorfile import write

GPU = GPUS["h200"]


@pytest.fixture
def subject(tmp_path):
    write(tmp_path / "inputs-0", [torch.randn(3, 4), {"mask": torch.ones(2, dtype=torch.bool)}, 7])
    write(tmp_path / "weights", {"fc.weight": torch.randn(5, 4), "step": torch.tensor(1)})
    facts = SimpleNamespace(
        eager=(Launch(name="addmm", num_bytes=480, flops=120), Launch(name="relu", num_bytes=120)),
        compiled=(Launch(name="addmm", num_bytes=480, flops=120),),
        read_bytes=4_800_000,
        input_bytes=48,
        written_bytes=0,
    )
    task = Task(task_id="t", source="", provenance="test")
    return SimpleNamespace(
        facts=facts, task=task, inputs=(tmp_path / "inputs-0",), weights=tmp_path / "weights"
    )


def test_inputs_have_their_places_and_weights_their_names(subject):
    profile = profile_of(subject, GPU)
    assert profile.inputs == (
        Tensor(name="0", shape=(3, 4), dtype="float32"),
        Tensor(name="1.mask", shape=(2,), dtype="bool"),
    )
    assert [(one.name, one.shape) for one in profile.weights] == [("fc.weight", (5, 4)), ("step", ())]


def test_times_are_those_of_the_model_and_the_floor_is_the_judge_s(subject):
    profile = profile_of(subject, GPU)
    assert [one.name for one in profile.operators] == ["addmm", "relu"]
    assert profile.eager_us == pytest.approx(sum(one.modelled_us for one in profile.operators))
    assert profile.eager_us > profile.compiled_us
    assert profile.floor.bytes_us == pytest.approx(1e6 * 4_800_000 / GPU.dram_bytes_s)


@pytest.mark.parametrize("body", [b"", b"12345678", b"12345678\xff\xff\xff\xff\xff\xff\xff\x7f{", b"x" * 100])
def test_a_file_that_is_none_of_ours_is_our_failure(subject, body):
    Path(subject.weights).write_bytes(body)
    with pytest.raises(InfraError, match="cannot be read"):
        profile_of(subject, GPU)


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("inputs-0"), Path.mkdir])
def test_what_is_no_plain_file_is_neither_followed_nor_waited_for(subject, put):
    subject.weights.unlink()
    put(subject.weights)
    with pytest.raises(InfraError, match="cannot be read"):
        profile_of(subject, GPU)
