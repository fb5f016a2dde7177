"""What a judge tells of a reference before any candidate: what the oracle said, and counts."""

from types import SimpleNamespace

import pytest
import torch

from warpsmith.core import Task
from warpsmith.device.gpus import GPUS
from warpsmith.judge.clock.model import Launch
from warpsmith.judge.oracle.naming import named
from warpsmith.judge.profile import profile_of
from warpsmith.judge.protocol import NamedTensor
from warpsmith.judge.trial import OpenTask

GPU = GPUS["h200"]


@pytest.fixture
def subject(tmp_path):
    facts = SimpleNamespace(
        inputs=tuple(named([torch.randn(3, 4), {"mask": torch.ones(2, dtype=torch.bool)}, 7])),
        weights=tuple(named({"fc.weight": torch.randn(5, 4), "step": torch.tensor(1)})),
        eager=(Launch(name="addmm", num_bytes=480, flops=120), Launch(name="relu", num_bytes=120)),
        compiled=(Launch(name="addmm", num_bytes=480, flops=120),),
        read_bytes=4_800_000,
        input_bytes=48,
        written_bytes=0,
    )
    task = Task(task_id="t", source="", provenance="test")
    return OpenTask(task=task, facts=facts, oracle=None, folder=tmp_path, num_inputs=1)


def test_inputs_have_their_places_and_weights_their_names(subject):
    profile = profile_of(subject, GPU)
    assert profile.inputs == (
        NamedTensor(name="0", shape=(3, 4), dtype="float32"),
        NamedTensor(name="1.mask", shape=(2,), dtype="bool"),
    )
    assert [(one.name, one.shape) for one in profile.weights] == [("fc.weight", (5, 4)), ("step", ())]


def test_times_are_those_of_the_model_and_the_floor_is_the_judge_s(subject):
    profile = profile_of(subject, GPU)
    assert [one.name for one in profile.operators] == ["addmm", "relu"]
    assert profile.eager_us == pytest.approx(sum(one.modelled_us for one in profile.operators))
    assert profile.eager_us > profile.compiled_us
    assert profile.floor.bytes_us == pytest.approx(1e6 * 4_800_000 / GPU.dram_bytes_s)
