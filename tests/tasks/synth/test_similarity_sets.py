"""A set is held against a benchmark, against itself, and split against split."""

import time
from dataclasses import replace

import pytest

from warpsmith.core import Task
from warpsmith.tasks.synth.similarity import (
    Measure,
    Thresholds,
    decontaminated,
    fingerprint,
    similarity,
    token_similarity,
    without_near_duplicates,
)

ACTIVATIONS = (
    "relu",
    "tanh",
    "sigmoid",
    "exp",
    "softplus",
    "selu",
    "elu",
    "gelu",
    "silu",
    "mish",
    "abs",
    "sin",
)
LAYERS = ("Linear(8, 8)", "Conv2d(8, 8, 3)", "Conv1d(8, 8, 3)", "ConvTranspose2d(8, 8, 3)", "LayerNorm(8)")


def chain(*operators, layer="Linear(8, 8)", name="", variable="x"):
    lines = "\n".join(f"        {variable} = torch.{one}({variable})" for one in operators)
    source = f"""
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.{layer}

    def forward(self, {variable}):
        {variable} = self.layer({variable})
{lines}
        return {variable}

def get_inputs():
    return [torch.rand(8, 8)]

def get_init_inputs():
    return []
"""
    return Task(
        task_id=name or f"{layer.partition('(')[0]}-{'-'.join(operators)}", source=source, provenance="test"
    )


BENCHMARK = [chain("relu", "exp", name="first"), chain("tanh", layer="Conv2d(8, 8, 3)", name="second")]
OURS = [
    chain("relu", "exp", name="renamed", layer="Linear(64, 512)", variable="tokens"),
    chain("sigmoid", "exp", name="other"),
    chain("tanh", layer="Conv2d(in_channels=3, out_channels=1, kernel_size=7)", name="keywords"),
    chain("tanh", "tanh", layer="Conv2d(8, 8, 3)", name="longer"),
]


def ids(tasks):
    return [task.task_id for task in tasks]


def test_copies_of_a_benchmark_are_dropped_and_named_with_what_they_copy():
    found = decontaminated(OURS, BENCHMARK)
    assert ids(found.kept) == ["other", "longer"]
    assert [
        (one.task.task_id, one.neighbour.other_id, one.neighbour.measure, one.neighbour.similarity)
        for one in found.dropped
    ] == [("renamed", "first", Measure.REFERENCE, 1.0), ("keywords", "second", Measure.STRUCTURE, 1.0)]
    assert found.dropped[0].neighbour.other_digest == BENCHMARK[0].digest


def test_every_task_has_its_nearest_neighbour_and_its_place_in_the_histogram():
    found = decontaminated(OURS, BENCHMARK)
    assert [one.task_id for one in found.nearest] == ids(OURS)
    for one, task in zip(found.nearest, OURS, strict=True):
        assert one.similarity == pytest.approx(max(similarity(task, other) for other in BENCHMARK), abs=1e-5)
    assert sum(found.histogram) == len(OURS)
    assert found.histogram[-1] == 2


def test_the_closest_pairs_come_first():
    tasks = [chain(a, b, layer=layer) for layer in LAYERS for a in ACTIVATIONS[:4] for b in ACTIVATIONS[4:8]]
    found = decontaminated(tasks, BENCHMARK)
    pairs = sorted((similarity(task, other) for task in tasks for other in BENCHMARK), reverse=True)
    assert [one.similarity for one in found.top] == pytest.approx(pairs[:20], abs=1e-5)


def test_fingerprints_may_be_taken_once_for_all():
    ours, others = [fingerprint(task) for task in OURS], [fingerprint(task) for task in BENCHMARK]
    assert decontaminated(ours, others) == decontaminated(OURS, BENCHMARK)
    assert without_near_duplicates(ours) == without_near_duplicates(OURS)


def test_a_lower_threshold_drops_more():
    found = decontaminated(OURS, BENCHMARK, Thresholds(structure=0.3))
    assert ids(found.kept) == []
    assert found.dropped[1].neighbour.similarity < 0.9


LONG = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        a = torch.nn.functional.pad(x, (1, 1, 2, 2), mode='reflect', value=0).reshape(8, 8, 2, 3)
        b = a.transpose(0, 1).contiguous().roll(shifts=(1, 2), dims=(0, 1)).flip(dims=(0, 1))
        c = torch.nn.functional.interpolate(b, scale_factor=2, mode='nearest', align_corners=None)
        d = torch.nn.functional.normalize(c, p=2, dim=1, eps=1e-6).clamp(min=0, max=1)
        e = torch.nn.functional.avg_pool2d(d, kernel_size=3, stride=1, padding=1, ceil_mode=False)
        f = torch.addcmul(d, e, e, value=2).mean(dim=(0, 1), keepdim=True).expand(3, 4, 5, 6)
        return torch.where(f > 0, d.sum(dim=0, keepdim=True), torch.OPERATOR(e))

def get_inputs():
    return [torch.rand(8, 8)]

def get_init_inputs():
    return []
"""


def test_a_long_text_with_one_other_word_is_dropped_by_its_tokens():
    one, other = (
        Task(task_id=name, source=LONG.replace("OPERATOR", name), provenance="") for name in ("relu", "tanh")
    )
    assert similarity(one, other) < 0.9
    assert token_similarity(one, other) >= 0.9
    [dropped] = decontaminated([one], [other]).dropped
    assert dropped.neighbour.measure is Measure.TOKENS
    assert dropped.neighbour.similarity == pytest.approx(token_similarity(one, other), abs=1e-6)
    assert decontaminated([one], [other], Thresholds(tokens=1.0)).kept == (one,)


def test_of_near_duplicates_the_first_is_kept():
    found = without_near_duplicates([*OURS, *BENCHMARK])
    assert ids(found.kept) == ["renamed", "other", "keywords", "longer"]
    assert [(one.task.task_id, one.neighbour.other_id) for one in found.dropped] == [
        ("first", "renamed"),
        ("second", "keywords"),
    ]


def test_a_task_is_no_duplicate_of_one_that_was_dropped():
    """Similarity is not transitive: what is near a dropped task may be far from the one that is kept."""
    steps = [chain(*["relu"] * at, *["tanh"] * (30 - at), name=str(at)) for at in range(0, 30, 2)]
    found = without_near_duplicates(steps, Thresholds(tokens=1.01))
    kept = [int(one) for one in ids(found.kept)]
    assert kept[0] == 0
    assert 1 < len(kept) < len(steps)
    for one in found.dropped:
        assert one.neighbour.other_id in ids(found.kept)


def test_a_test_split_that_leaks_into_training_is_found():
    train = [chain(a, b) for a in ACTIVATIONS[:3] for b in ACTIVATIONS[:3]]
    leaked = replace(train[4], task_id="leak", source=train[4].source.replace("layer", "fc"))
    found = decontaminated(train, [leaked, chain("sin", "sin")])
    assert ids(one.task for one in found.dropped) == [train[4].task_id]


def test_what_cannot_be_read_is_neither_kept_nor_dropped():
    broken = Task(task_id="broken", source="class Model(:", provenance="")
    found = decontaminated([broken, OURS[1]], [broken, *BENCHMARK])
    assert ids(found.kept) == ["other"]
    assert [one.task_id for one in (*found.unread, *found.unread_others)] == ["broken", "broken"]
    assert "not valid Python" in found.unread[0].reason


@pytest.mark.parametrize("ours", [[], OURS])
def test_nothing_to_hold_against_keeps_everything(ours):
    found = decontaminated(ours, [])
    assert found.kept == tuple(ours)
    assert found.histogram == (0,) * 20


def test_an_empty_set_stays_empty():
    assert decontaminated([], BENCHMARK).kept == ()
    assert without_near_duplicates([]).kept == ()


def test_what_no_operator_is_found_in_does_not_pass_for_unlike_everything():
    empty = Task(task_id="empty", source=chain().source.replace("self.layer(x)", "x"), provenance="")
    found = decontaminated([empty], BENCHMARK)
    assert (found.kept, found.nearest) == ((), ())
    assert "no operator is found in its forward" in found.unread[0].reason


@pytest.mark.slow
def test_thousands_against_a_benchmark_take_seconds():
    tasks = [chain(a, b, layer=layer) for layer in LAYERS for a in ACTIVATIONS for b in ACTIVATIONS]
    began = time.monotonic()
    found = decontaminated(tasks * 2, tasks[:250])
    assert len(found.dropped) == 500
    assert time.monotonic() - began < 60
