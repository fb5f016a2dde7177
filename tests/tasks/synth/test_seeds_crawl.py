"""The crawl: what becomes of a name, in a helper process and by a scripted one."""

import random
import signal

import psutil
import pytest

from warpsmith.core import UsageError
from warpsmith.tasks.file import check_format
from warpsmith.tasks.synth.base import Domain, Kind, Provenance
from warpsmith.tasks.synth.seeds import CrawlConfig, Reason, Skipped, read_seeds, seeds, write_seeds
from warpsmith.tasks.synth.seeds.candidate import Candidate
from warpsmith.tasks.synth.seeds.crawl import Tried, settled, without_aliases
from warpsmith.tasks.synth.seeds.helper import Helper
from warpsmith.tasks.synth.seeds.pattern import Pattern, Slot
from warpsmith.tasks.synth.seeds.protocol import Answered, Question, Refused, reply_from, reply_line
from warpsmith.tasks.synth.seeds.worker import executed

TASK = """
import os, signal, time, warnings
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return {call}

def get_init_inputs():
    return []

def get_inputs():
    return [torch.randn(4, 6)]
"""
SEEN = Answered(
    shape=(4,), sample=(1.0,), is_local=True, is_causal=True, is_moved=False, is_smaller=False, is_traced=True
)  # fmt: skip


def candidate(*patterns, name="torch.f", kind=None):
    provenance = Provenance(library="torch", version="2", licence="BSD-3-Clause", name=name)
    return Candidate(provenance=provenance, rounds=((patterns,),), kind=kind)


def pattern(domain=Domain.NORMAL, forward="torch.f({x})"):
    return Pattern(x=Slot(name="x", shape="... features", domain=domain), forward=forward)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("x + torch.rand(())", Reason.RANDOM),
        ("torch.nn.functional.dropout(x)", Reason.RANDOM),
        ("x.mul_(2)", Reason.IN_PLACE),
        ("x * 1", Reason.IDENTITY),
        ("torch.ones_like(x)", Reason.NO_EFFECT),
        ("x > 0", Reason.NOT_FLOATING),
        ("torch.fft.fft(x)", Reason.COMPLEX),
        ("x.to_sparse()", Reason.NO_SHAPE),
        ("torch.log(x)", Reason.NOT_FINITE),
        ("1 / x", Reason.NOT_FINITE),
        ("x[x > 0]", Reason.NO_SHAPE),
        ("x[:0]", Reason.EMPTY),
        ("x.shape[0]", Reason.NOT_A_TENSOR),
        ("(x, x)", Reason.NOT_A_TENSOR),
        ("None", Reason.NOT_A_TENSOR),
        ("undefined", Reason.NO_PATTERN),
        ("x +", Reason.UNAVAILABLE),
        ("(warnings.warn('f is deprecated'), x.exp())[1]", Reason.DEPRECATED),
    ],
)
def test_what_is_no_operator_is_told_apart(call, reason):
    reply = executed(TASK.format(call=call), [[0.0]])
    assert isinstance(reply, Refused)
    assert reply.reason is reason


@pytest.mark.parametrize(
    ("call", "is_local", "is_causal", "is_moved", "is_smaller"),
    [
        ("x.relu()", True, True, False, False),
        ("x.cumsum(0)", False, True, False, False),
        ("x.softmax(-1)", False, False, False, False),
        ("x.flip(0)", False, False, True, False),
        ("x.sum(-1)", False, False, False, True),
    ],
)
def test_what_an_operator_does_shows_in_its_answers(call, is_local, is_causal, is_moved, is_smaller):
    reply = executed(TASK.format(call=call), [[0.0]])
    assert isinstance(reply, Answered)
    seen = (reply.is_local, reply.is_causal, reply.is_moved, reply.is_smaller)
    assert seen == (is_local, is_causal, is_moved, is_smaller)


def test_the_first_domain_that_stays_finite_is_taken():
    def ask(question):
        return SEEN if "+ 0.5" in question.source else Refused(reason=Reason.NOT_FINITE)

    found = settled(candidate(pattern(), pattern(Domain.POSITIVE)), ask)
    assert isinstance(found, Tried)
    assert [one.x.domain for one in found.operator.patterns] == [Domain.POSITIVE]


def test_of_several_answers_the_first_is_taken():
    def ask(question):
        is_whole = "[0]" not in question.source
        return Refused(reason=Reason.NOT_A_TENSOR, is_tuple=True) if is_whole else SEEN

    found = settled(candidate(pattern()), ask)
    assert found.operator.patterns[0].forward == "torch.f({x})[0]"


def test_a_pattern_that_holds_at_one_size_alone_is_none():
    def ask(question):
        return SEEN if "FEATURES = 24" in question.source else Refused(reason=Reason.NO_PATTERN, detail="24")

    assert settled(candidate(pattern()), ask) == Skipped(
        name="torch.f", reason=Reason.NO_PATTERN, detail="24"
    )


def test_a_hang_is_not_tried_again():
    asked = []

    def ask(question):
        asked.append(question)
        return Refused(reason=Reason.HUNG)

    one = candidate(pattern())
    many = Candidate(provenance=one.provenance, rounds=one.rounds * 3)
    assert settled(many, ask).reason is Reason.HUNG
    assert len(asked) == 1


def test_a_constructor_that_fails_is_not_tried_with_other_calls():
    asked = []

    def ask(question):
        asked.append(question)
        return Refused(reason=Reason.NO_PATTERN, is_constructor=True)

    patterns = [
        Pattern(x=Slot(name="x", shape=shape), init=("{self}.{name} = f()",), forward="{self}.{name}({x})")
        for shape in ("features", "rows features")
    ]
    one = candidate(patterns[0])
    settled(Candidate(provenance=one.provenance, rounds=tuple(((p,),) for p in patterns)), ask)
    assert len(asked) == 1


def test_the_most_telling_reason_is_given():
    replies = iter([Refused(reason=Reason.NO_PATTERN), Refused(reason=Reason.NOT_FLOATING)])
    one = candidate(pattern())
    two = Candidate(provenance=one.provenance, rounds=one.rounds * 2)
    assert settled(two, lambda question: next(replies)).reason is Reason.NOT_FLOATING


def test_of_equal_operators_the_first_counts():
    tried = [
        settled(candidate(pattern(), name=name), lambda question: SEEN) for name in ("torch.a", "torch.b")
    ]
    crawled = without_aliases(tried)
    assert [seed.provenance.name for seed in crawled.seeds] == ["torch.a"]
    assert crawled.seeds[0].aliases == ("torch.b",)
    assert crawled.skipped == (Skipped(name="torch.b", reason=Reason.ALIAS, detail="torch.a"),)


@pytest.mark.parametrize(
    "reply", [SEEN, Refused(reason=Reason.RANDOM, detail="x"), Refused(reason=Reason.HUNG)]
)
def test_replies_survive_the_pipe(reply):
    assert reply_from(reply_line(reply)) == reply


@pytest.mark.parametrize("line", ["", "hello", "[]", "1", '{"kind": "Answered"}', '{"kind": "X"}', "{}"])
def test_anything_else_on_the_pipe_is_refused(line):
    with pytest.raises(ValueError, match="helper"):
        reply_from(line)


@pytest.mark.slow
def test_a_helper_outlives_hangs_crashes_and_chatter():
    helper = Helper(limit_s=3.0)
    calls = {
        "time.sleep(60)": Reason.HUNG,
        f"os.kill(os.getpid(), {int(signal.SIGSEGV)})": Reason.CRASHED,
        "os._exit(0)": Reason.CRASHED,
        "print('hello', flush=True)": Reason.NOT_A_TENSOR,
    }
    try:
        for call, reason in calls.items():
            reply = helper.ask(Question(source=TASK.format(call=call), edges=((),)))
            assert isinstance(reply, Refused)
            assert reply.reason is reason
        assert isinstance(helper.ask(Question(source=TASK.format(call="x.exp()"), edges=((),))), Answered)
    finally:
        helper.close()


@pytest.mark.parametrize("config", [CrawlConfig(libraries=("jax",)), CrawlConfig(num_helpers=0)])
def test_a_crawl_of_something_else_is_refused(config):
    with pytest.raises(UsageError, match="libraries"):
        seeds(config)


DOZEN = {
    "torch.nn.Linear": Kind.GEMM,
    "torch.nn.Conv2d": Kind.CONVOLUTION,
    "torch.nn.LayerNorm": Kind.NORM,
    "torch.nn.CrossEntropyLoss": Kind.LOSS,
    "torch.nn.ReLU": Kind.ELEMENTWISE,
    "torch.nn.MaxPool2d": Kind.POOLING,
    "torch.nn.Embedding": Kind.INDEXING,
    "torch.rsqrt": Kind.ELEMENTWISE,
    "torch.mul": Kind.BINARY,
    "torch.cumsum": Kind.SCAN,
    "torch.mean": Kind.REDUCTION,
    "torch.matmul": Kind.GEMM,
    "torch.linalg.cholesky": Kind.LINALG,
    "torch.transpose": Kind.SHAPE,
    "torch.special.erfcx": Kind.ELEMENTWISE,
}
NONE = {
    "torch.nn.functional.relu": Reason.ALIAS,
    "torch.nn.Dropout": Reason.RANDOM,
    "torch.relu_": Reason.IN_PLACE,
    "torch.argmax": Reason.NOT_FLOATING,
    "torch.zeros": Reason.FACTORY,
    "torch.zeros_like": Reason.FACTORY,
    "torch.nonzero": Reason.NO_SHAPE,
    "torch.clone": Reason.IDENTITY,
    "torch.linalg.eigvals": Reason.COMPLEX,
    "torch.chain_matmul": Reason.DEPRECATED,
    "torch.nn.Sequential": Reason.CONTAINER,
    "torch.quantize_per_tensor": Reason.QUANTISED,
    "torch.float32": Reason.NO_OPERATOR,
}


@pytest.fixture(scope="module")
def dozen():
    config = CrawlConfig(libraries=("torch",), num_helpers=1)
    return seeds(config, names=lambda name: name in DOZEN or name in NONE)


def test_a_dozen_names_become_seeds_of_their_kinds(dozen):
    assert {seed.provenance.name: seed.kind for seed in dozen.seeds} == DOZEN


def test_every_other_name_has_its_reason(dozen):
    assert {one.name: one.reason for one in dozen.skipped} == NONE


def test_an_operator_is_drawn_from_where_it_is_finite(dozen):
    domains = {seed.provenance.name: seed.patterns[0].x.domain for seed in dozen.seeds}
    assert domains["torch.rsqrt"] is Domain.POSITIVE
    assert domains["torch.linalg.cholesky"] is Domain.POSITIVE_DEFINITE
    assert domains["torch.mul"] is Domain.NORMAL


def test_every_example_is_a_task(dozen):
    for seed in dozen.seeds:
        check_format(seed.example(), seed.provenance.name)


def test_blocks_fit_their_shapes_or_are_none(dozen):
    for seed in dozen.seeds:
        for shape in ((7,), (5, 8), (2, 3, 16), (2, 8, 16, 16), (1, 1, 1, 1)):
            block = seed.block(shape, random.Random(0))
            assert block is None or block.input.shape == shape


def test_nothing_of_the_crawl_is_left_behind(dozen):
    children = psutil.Process().children(recursive=True)
    assert not [child for child in children if any("seeds.worker" in part for part in child.cmdline())]


@pytest.mark.slow
def test_the_whole_crawl_finds_hundreds_and_can_be_kept(tmp_path):
    crawled = seeds()
    counts = {library: sum(kinds.values()) for library, kinds in crawled.counted().items()}
    assert counts["torch"] >= 250
    assert counts["transformers"] >= 60
    names = [*(seed.provenance.name for seed in crawled.seeds), *(one.name for one in crawled.skipped)]
    assert len(names) == len(set(names))
    assert Reason.CRASHED not in crawled.reasons()
    write_seeds(crawled, tmp_path / "seeds.json")
    assert read_seeds(tmp_path / "seeds.json") == crawled
