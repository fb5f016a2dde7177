"""Patterns: sizes by name, blocks, and task sources."""

import random
from pathlib import Path

import pytest

from warpsmith.core import UsageError
from warpsmith.tasks.file import check_format
from warpsmith.tasks.synth.base import Domain, Kind, Provenance
from warpsmith.tasks.synth.seeds import Crawled, Operator, Reason, Skipped, read_seeds, write_seeds
from warpsmith.tasks.synth.seeds.example import OTHER, NoExample, example_source
from warpsmith.tasks.synth.seeds.pattern import Draw, Pattern, Slot
from warpsmith.tasks.synth.seeds.sizes import bound, evaluated, shape_of

CONVOLUTION = Pattern(
    x=Slot(name="x", shape="batch channels length"),
    init=("{self}.{name} = nn.Conv1d({channels}, {out}, kernel_size={kernel}, padding={kernel // 2})",),
    forward="{self}.{name}({x})",
    draws=(
        Draw(name="out", among=("2 * channels", "channels")),
        Draw(name="kernel", among=("3", "5"), needs="kernel <= length"),
    ),
)
LOSS = Pattern(
    x=Slot(name="x", shape="... features"),
    forward="F.cross_entropy({x}, {target}, label_smoothing=0.1)",
    slots=(Slot(name="target", shape="...", domain=Domain.INDEX, bound="features"),),
    imports=("import torch.nn.functional as F",),
)


def operator(pattern, name="torch.nn.Conv1d"):
    provenance = Provenance(library="torch", version="2", licence="BSD-3-Clause", name=name)
    return Operator(provenance=provenance, kind=Kind.CONVOLUTION, patterns=(pattern,))


def first(choices):
    return choices[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("2 * a + b", 11), ("a // b", 1), ("a % b == 1", 1), ("a >= 5 and b >= 3", 0), ("a-b", 2)],
)
def test_arithmetic_on_sizes(text, value):
    assert evaluated(text, {"a": 4, "b": 3} if text != "a-b" else {"a": 5, "b": 3}) == value


@pytest.mark.parametrize(
    "text",
    [
        "c",
        "a // 0",
        "__import__('os').getpid()",
        "a.real",
        "[a][0]",
        "a if a else b",
        "",
        "a **",
        "'a'",
        "-a",
        "1.5",
    ],
)
def test_anything_but_arithmetic_on_sizes_is_refused(text):
    with pytest.raises(ValueError, match="size"):
        evaluated(text, {"a": 1, "b": 2})


def test_an_expression_too_deep_to_parse_is_refused():
    with pytest.raises(ValueError, match="size"):
        evaluated("(" * 500 + "1" + ")" * 500, {})


@pytest.mark.parametrize(
    ("spec", "shape", "found"),
    [
        ("batch features", (2, 3), ({"batch": 2, "features": 3}, ())),
        ("... features", (5, 2, 3), ({"features": 3}, (5, 2))),
        ("... features", (3,), ({"features": 3}, ())),
        ("...", (4, 5), ({}, (4, 5))),
        ("... size size", (2, 3, 3), ({"size": 3}, (2,))),
        ("... size size", (2, 3, 4), None),
        ("batch features", (2, 3, 4), None),
        ("batch 3", (2, 4), None),
        ("...", (), None),
        ("...", (0, 3), None),
    ],
)
def test_a_shape_binds_names_or_does_not_fit(spec, shape, found):
    assert bound(spec, shape) == found


def test_shapes_are_computed_from_sizes():
    assert shape_of("... hidden//heads 2", {"hidden": 64, "heads": 4}, (5,)) == (5, 16, 2)


def test_a_block_has_numbers_where_the_pattern_has_sizes():
    block = operator(CONVOLUTION).block((2, 8, 4), random.Random(0))
    assert block.init[0] in {
        "{self}.{name} = nn.Conv1d(8, 16, kernel_size=3, padding=1)",
        "{self}.{name} = nn.Conv1d(8, 8, kernel_size=3, padding=1)",
    }
    assert block.forward == "{self}.{name}({x})"
    assert block.input.shape == (2, 8, 4)


def test_a_block_is_the_same_for_the_same_randomness():
    seed = operator(CONVOLUTION)
    blocks = [seed.block((2, 8, 64), random.Random(7)) for _ in range(2)]
    assert blocks[0] == blocks[1]


def test_a_block_is_none_where_no_drawn_size_fits():
    assert operator(CONVOLUTION).block((2, 8, 2), random.Random(0)) is None


def test_slots_become_numbered_arguments_with_their_domains():
    block = operator(LOSS).block((4, 6, 10), random.Random(0))
    assert block.forward == "F.cross_entropy({x}, {argument0}, label_smoothing=0.1)"
    (target,) = block.arguments
    assert (target.shape, target.dtype, target.domain, target.bound) == ((4, 6), "int64", Domain.INDEX, 10)


def test_an_x_of_integers_is_offered_only_when_asked_for_alone():
    pattern = Pattern(x=Slot(name="x", shape="batch", domain=Domain.INDEX, bound="9"), forward="f({x})")
    assert operator(pattern).block((4,), random.Random(0)) is None
    assert operator(pattern).standalone((4,), random.Random(0)).input.dtype == "int64"


@pytest.mark.parametrize("pattern", [CONVOLUTION, LOSS])
@pytest.mark.parametrize("sizes", [None, OTHER])
def test_an_example_is_a_task_whose_sizes_are_constants(pattern, sizes):
    seed = operator(pattern)
    source = seed.example() if sizes is None else example_source(pattern, seed.provenance, sizes)
    check_format(source, "example")
    model = source[source.index("class Model") : source.index("def get_init_inputs")]
    assert not any(f" {size}" in model for size in (8, 16, 24, 32, 36))


def test_an_example_that_its_small_sizes_do_not_fit_says_so():
    pattern = Pattern(x=Slot(name="x", shape="features"), forward="f({x})", needs=("features >= 1000",))
    with pytest.raises(NoExample, match="takes no x"):
        operator(pattern).example()


CRAWLED = Crawled(
    seeds=(operator(CONVOLUTION), operator(LOSS)),
    skipped=(Skipped(name="torch.relu_", reason=Reason.IN_PLACE),),
)


def test_what_is_written_is_read_back_equal(tmp_path):
    write_seeds(CRAWLED, tmp_path / "seeds.json")
    assert read_seeds(tmp_path / "seeds.json") == CRAWLED
    assert [path.name for path in tmp_path.iterdir()] == ["seeds.json"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"in', '"ni'),
        ("warpsmith seeds 1", "warpsmith seeds 0"),
        ('"convolution"', '"poetry"'),
        ('"is_traced": true', '"is_traced": "yes"'),
        ('"aliases": []', '"aliases": {}'),
        ('"aliases": [],', ""),
        ("}", ""),
    ],
)
def test_a_file_that_was_tampered_with_is_refused_in_one_line(tmp_path, old, new):
    path: Path = tmp_path / "seeds.json"
    write_seeds(CRAWLED, path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(UsageError) as error:
        read_seeds(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[]", b"null", b"[" * 100_000, b'{"format": 1}'])
def test_a_file_of_something_else_is_refused(tmp_path, content):
    (tmp_path / "seeds.json").write_bytes(content)
    with pytest.raises(UsageError):
        read_seeds(tmp_path / "seeds.json")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="crawl"):
        read_seeds(tmp_path / "none.json")
