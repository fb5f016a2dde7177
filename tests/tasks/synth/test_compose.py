"""Composing by rules, on a few seeds that are written here."""

import ast
import random
import re
from dataclasses import dataclass

import pytest

from warpsmith.core import UsageError
from warpsmith.tasks.file import check_format
from warpsmith.tasks.scale import with_scale
from warpsmith.tasks.synth.base import Argument, Block, Curriculum, Domain, Kind, Made, Provenance, Shape
from warpsmith.tasks.synth.compose import Mix, Recipe, composed
from warpsmith.tasks.synth.compose.curricula import classified


@dataclass(frozen=True, slots=True, kw_only=True)
class Fake:
    """A seed of one call. `{last}` is x's last size; `other` is the shape of a second tensor."""

    name: str
    kind: Kind
    call: str
    init: str = ""
    domain: Domain = Domain.NORMAL
    other: str = ""  # "same", "last", or "matrix"
    rank: int = 0  # 0: any
    library: str = "torch"

    @property
    def provenance(self) -> Provenance:
        return Provenance(library=self.library, version="0", licence="BSD-3-Clause", name=self.name)

    def block(self, shape: Shape, rng: random.Random) -> Block | None:
        if not shape or (self.rank and len(shape) != self.rank):
            return None
        factor = rng.choice((1, 2))
        sizes = {"last": shape[-1], "wide": factor * shape[-1], "first": shape[0], "channels": shape[-3:][0]}
        shapes = {"same": shape, "last": shape[-1:], "matrix": (shape[-1], factor * shape[-1])}

        def text(open_text: str) -> str:
            return re.sub(r"\{(last|wide|first|channels)\}", lambda hole: str(sizes[hole[1]]), open_text)

        return Block(
            init=(text(self.init),) if self.init else (),
            forward=text(self.call),
            arguments=(Argument(shape=shapes[self.other]),) if self.other else (),
            input=Argument(shape=shape, domain=self.domain),
        )


RELU = Fake(
    name="torch.nn.ReLU", kind=Kind.ELEMENTWISE, call="{self}.{name}({x})", init="{self}.{name} = nn.ReLU()"
)
TANH = Fake(name="torch.tanh", kind=Kind.ELEMENTWISE, call="torch.tanh({x})")
SIGMOID = Fake(name="torch.sigmoid", kind=Kind.ELEMENTWISE, call="torch.sigmoid({x})")
EXP = Fake(name="torch.exp", kind=Kind.ELEMENTWISE, call="torch.exp({x})")
LOG = Fake(name="torch.log", kind=Kind.ELEMENTWISE, call="torch.log({x})", domain=Domain.POSITIVE)
ADD = Fake(name="torch.add", kind=Kind.BINARY, call="torch.add({x}, {argument0})", other="same")
SUM = Fake(name="torch.sum", kind=Kind.REDUCTION, call="torch.sum({x}, dim=-1)")
NORM = Fake(
    name="torch.nn.LayerNorm",
    kind=Kind.NORM,
    call="{self}.{name}({x})",
    init="{self}.{name} = nn.LayerNorm({last})",
)
LINEAR = Fake(
    name="torch.nn.Linear",
    kind=Kind.GEMM,
    call="{self}.{name}({x})",
    init="{self}.{name} = nn.Linear({last}, {wide})",
)
MATMUL = Fake(name="torch.matmul", kind=Kind.GEMM, call="torch.matmul({x}, {argument0})", other="matrix")
CONV = Fake(
    name="torch.nn.Conv2d", kind=Kind.CONVOLUTION, call="{self}.{name}({x})", rank=4,
    init="{self}.{name} = nn.Conv2d({channels}, 64, kernel_size=3, padding=1)",
)  # fmt: skip
ENCODER = Fake(
    name="torch.nn.TransformerEncoderLayer", kind=Kind.LAYER, call="{self}.{name}({x})", rank=3,
    init="{self}.{name} = nn.TransformerEncoderLayer({last}, 8, {wide}, dropout=0.0, batch_first=True)",
)  # fmt: skip
SEEDS = (RELU, TANH, SIGMOID, EXP, LOG, ADD, SUM, NORM, LINEAR, MATMUL, CONV, ENCODER)


def made_of(*seeds: Fake, n: int = 6, **recipe: object) -> list[Made]:
    return list(composed(seeds, Recipe(n=n, **recipe)))


@pytest.fixture(scope="module")
def some() -> list[Made]:
    return made_of(*SEEDS, n=24, seed=7)


def test_every_task_has_the_format_and_a_scale_to_set(some):
    for made in some:
        check_format(made.task.source, made.task.task_id)
        assert with_scale(made.task.source, made.task.task_id, 0.01, "cpu")[1] == 0.01


def test_the_same_recipe_gives_the_same_tasks_and_a_longer_one_only_more(some):
    again = made_of(*SEEDS, n=4, seed=7)
    assert again == some[:4]
    assert made_of(*SEEDS, n=4, seed=8) != again


def test_composing_leaves_random_numbers_alone():
    import torch

    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    made_of(*SEEDS, n=2)
    assert torch.rand(1) == expected


def test_no_two_tasks_are_alike(some):
    assert len({made.task.source for made in some}) == 24


def test_modelled_times_fall_into_the_band():
    for made in made_of(*SEEDS, n=6, band_ms=(2.0, 4.0)):
        assert 2.0 <= float(made.facts["modelled eager ms on h200"]) <= 4.0


def test_a_slower_gpu_gets_smaller_tasks():
    large, small = (
        made_of(TANH, n=4, mix=Mix(depths=(1,)), gpu=gpu, band_ms=(1, 1.4)) for gpu in ("h200", "l4")
    )
    most = max(int(made.facts["bytes of all tensors"]) for made in small)
    assert most < min(int(made.facts["bytes of all tensors"]) for made in large)


def test_memory_stays_within_its_budget():
    for made in made_of(*SEEDS, n=6, memory_bytes=1 << 30, band_ms=(0.1, 10)):
        assert int(made.facts["bytes of all tensors"]) <= 1 << 30


def test_times_spread_over_the_band_where_memory_reaches_that_far():
    made = made_of(LINEAR, n=24, mix=Mix(depths=(1,)))
    times_ms = sorted(float(one.facts["modelled eager ms on h200"]) for one in made)
    assert times_ms[6] < 6, "log-uniform from 1 to 100 has its quarters at 3.2, 10 and 32"
    assert times_ms[18] > 15


def test_what_only_moves_memory_comes_as_far_as_the_room_that_the_judge_leaves():
    made = made_of(TANH, SUM, n=20, mix=Mix(depths=(1,)))
    times_ms = sorted(float(one.facts["modelled eager ms on h200"]) for one in made)
    assert times_ms[0] >= 1
    assert times_ms[10] < 2
    assert 2 < times_ms[-1] < 4


def test_a_composed_task_is_on_no_side_yet(some):
    assert {made.split for made in some} == {""}, "sides are dealt once, over all that is left of a set"


def test_sizes_do_not_show_in_a_structure():
    made = made_of(LINEAR, n=6, mix=Mix(depths=(1,), transformers=0))
    plain = [one for one in made if "bias" not in one.structure and "none" in one.structure]
    assert len({one.structure for one in plain}) < len({one.task.source for one in plain})


def test_depths_follow_the_mix():
    made = made_of(RELU, TANH, SIGMOID, ADD, n=30, mix=Mix(depths=(1, 0, 1), transformers=0))
    assert {one.depth for one in made} == {1, 3}
    assert all(one.source == f"torch#{len(one.operators)}" for one in made)


@pytest.mark.parametrize("curriculum", Curriculum)
def test_a_curriculum_holds_what_it_says(curriculum):
    kinds = {seed.name: seed.kind for seed in SEEDS}
    for made in made_of(*SEEDS, n=3, curriculum=curriculum, seed=2):
        assert made.curriculum is curriculum
        assert classified([kinds[name] for name in made.operators]) is curriculum


def test_fused_tasks_are_chains_of_three_or_more():
    assert all(made.depth >= 3 for made in made_of(*SEEDS, n=6, curriculum=Curriculum.FUSED))


def test_what_is_not_of_torch_stands_alone():
    alone = Fake(
        name="transformers.Gate", kind=Kind.LAYER, library="transformers", rank=3, call="{self}.{name}({x})",
        init="{self}.{name} = nn.Linear({last}, {wide})",
    )  # fmt: skip
    made = made_of(*SEEDS, alone, n=12, mix=Mix(transformers=100))
    assert {(one.depth, one.source) for one in made if "transformers.Gate" in one.operators} == {
        (1, "transformers")
    }
    assert any(one.depth == 2 for one in made)


def test_numbers_that_would_not_be_finite_are_left_out():
    made = made_of(SUM, EXP, n=3, mix=Mix(depths=(0, 1), transformers=0))
    assert all(one.operators != ("torch.sum", "torch.exp") for one in made)


def test_an_operator_of_another_domain_gets_one_before_it_that_gives_such_numbers():
    made = made_of(TANH, SIGMOID, LOG, n=12, mix=Mix(depths=(0, 0, 1), transformers=0))
    later = [one.operators for one in made if "torch.log" in one.operators[1:]]
    assert later
    assert all(names[names.index("torch.log", 1) - 1] == "torch.sigmoid" for names in later)


def test_a_text_that_depends_on_the_batch_is_no_task():
    bound = Fake(name="torch.reshape", kind=Kind.SHAPE, call="torch.reshape({x}, ({first}, -1, 2))")
    with pytest.raises(UsageError, match="none of 200"):
        made_of(bound, n=1, mix=Mix(depths=(1,)))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("{x}", "identity"),
        ("torch.zeros_like({x})", "constant"),
        ("{x} / 0", "not finite"),
        ("torch.sparse.nothing({x})", "no such name"),
        ("({x}, {x})", "two answers"),
        ("{x}.to(torch.float64)", "another dtype"),
        ("{x}[:0]", "empty"),
        ("{x}.view(7, 7)", "does not fit"),
        ("{x} +", "no Python"),
    ],
)
def test_an_operator_that_cannot_be_used_ends_in_one_line(call, why):
    broken = Fake(name="torch.broken", kind=Kind.ELEMENTWISE, call=call)
    with pytest.raises(UsageError, match="none of 200"):
        made_of(broken, n=1, mix=Mix(depths=(1,)))


def test_tensors_that_are_smaller_than_scale_allows_keep_two_rows(some):
    for made in some:
        assert re.search(r"= max\(2, int\([A-Z]+ \* SCALE\)\)", made.task.source)


def test_a_model_has_named_parts_and_says_what_it_computes(some):
    for made in some:
        model = next(node for node in ast.parse(made.task.source).body if isinstance(node, ast.ClassDef))
        assert ast.get_docstring(model)
        assert "part0" not in made.task.source


def test_large_sizes_have_names(some):
    for made in some:
        model = made.task.source[made.task.source.index("class Model") :]
        assert not re.findall(r"(?<![\w.])\d{3,}(?![\w.])", model), made.task.source


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": -1},
        {"n": 1, "max_ops": 0},
        {"n": 1, "max_ops": 6},
        {"n": 1, "gpu": "toaster"},
        {"n": 1, "band_ms": (5.0, 1.0)},
        {"n": 1, "band_ms": (0.0, 1.0)},
        {"n": 1, "memory_bytes": 10},
    ],
)
def test_a_recipe_that_cannot_be_followed_is_refused(wrong):
    with pytest.raises(UsageError):
        Recipe(**wrong)


@pytest.mark.parametrize(
    "shares", [{"depths": ()}, {"depths": (-1, 2)}, {"depths": (0, 0), "transformers": 0}]
)
def test_a_mix_of_nothing_is_refused(shares):
    with pytest.raises(UsageError):
        Mix(**shares)


def test_no_seeds_and_seeds_of_the_wrong_kind_are_said():
    with pytest.raises(UsageError, match="crawl first"):
        made_of(n=1)
    with pytest.raises(UsageError, match="convolutions"):
        made_of(TANH, n=1, curriculum=Curriculum.CONVOLUTIONS)
    with pytest.raises(UsageError, match="3 operators or more"):
        made_of(TANH, n=1, max_ops=2, curriculum=Curriculum.FUSED)


def test_no_tasks_are_none():
    assert made_of(TANH, n=0) == []


def test_recurrent_layers_take_few_steps():
    cell = Fake(
        name="torch.nn.GRU", kind=Kind.RECURRENT, call="{self}.{name}({x})[0]", rank=3,
        init="{self}.{name} = nn.GRU({last}, {wide}, batch_first=True)",
    )  # fmt: skip
    (made,) = made_of(cell, n=1, mix=Mix(depths=(1,)))
    assert int(re.search(r"LENGTH = (\d+)", made.task.source)[1]) <= 64


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("torch.nn.ReLU", "relu"),
        ("torch.nn.LeakyReLU", "leaky_relu"),
        ("torch.nn.PReLU", "prelu"),
        ("torch.nn.RMSNorm", "rms_norm"),
        ("torch.nn.PoissonNLLLoss", "poisson_nll_loss"),
        ("torch.nn.Conv2d", "conv2d"),
        ("torch.logsumexp", "logsumexp"),
    ],
)
def test_attributes_are_named_as_one_would(name, attribute):
    from warpsmith.tasks.synth.compose.telling import snake

    assert snake(name) == attribute
