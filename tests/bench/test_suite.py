"""Which tasks a bench is about."""

import pytest

from warpsmith.bench.suite import Choice, Source, chosen, levels_of
from warpsmith.core import UsageError
from warpsmith.tasks.caps import Cap


@pytest.fixture
def source(suite_folder):
    root = suite_folder({1: ["passes 50", "wrong", "declines"], 2: ["wrong", "long"]})
    return Source(kind="kernelbench", path=root)


def keys(found):
    return [item.name.key for item in found.items]


def test_tasks_are_in_order_with_names_that_files_can_have(source):
    found = chosen(source, Choice(), "cpu")
    assert keys(found) == ["level1-001", "level1-002", "level1-003", "level2-001", "level2-002"]
    assert {item.name.group for item in found.items} == {"level 1", "level 2"}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"levels": (2,)}, ["level2-001", "level2-002"]),
        ({"pattern": "wrong"}, ["level1-002", "level2-001"]),
        ({"pattern": "*_l?ng"}, ["level2-002"]),
        ({"pattern": "level1-00[13]"}, ["level1-001", "level1-003"]),
        ({"limit": 1}, ["level1-001", "level2-001"]),
        ({"levels": (1,), "limit": 2}, ["level1-001", "level1-002"]),
    ],
)
def test_tasks_are_chosen(source, choice, expected):
    assert keys(chosen(source, Choice(**choice), "cpu")) == expected


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"levels": (1, 7)}, "has no level 7; its levels are 1, 2"),
        ({"pattern": "softmax"}, "none of the 5 tasks"),
        ({"scale": 0.5}, "no top-level SCALE"),
    ],
)
def test_a_choice_of_nothing_says_what_there_is(source, choice, said):
    with pytest.raises(UsageError, match=said):
        chosen(source, Choice(**choice), "cpu")


def test_a_resized_task_is_another_one_and_says_so(source):
    path = source.path / "level1" / "1_passes.py"
    path.write_text(f"batch = 64\n{path.read_text()}")
    whole, capped = (
        chosen(source, Choice(pattern="passes", caps=caps), "cpu").items[0].name
        for caps in ((), (Cap(names="batch*", most=4),))
    )
    assert (whole.is_resized, capped.is_resized) == (False, True)
    assert whole.digest != capped.digest


def test_an_example_is_shrunk_on_the_cpu_and_says_so(source):
    path = source.path / "level1" / "1_passes.py"
    path.write_text(f"SCALE = 1.0\n{path.read_text()}")
    names = [
        chosen(source, Choice(pattern="passes"), kind).items[0].name.is_resized for kind in ("cpu", "cuda")
    ]
    assert names == [True, False]


def test_a_broken_task_does_not_stop_the_others(source):
    (source.path / "level2" / "9_broken.py").write_text("def f(:")
    found = chosen(source, Choice(), "cpu")
    assert len(found.items) == 5
    assert "not valid Python" in found.broken[0].reason


def test_a_store_is_a_suite_too(source, tmp_path):
    pytest.importorskip("pyarrow")
    from warpsmith.tasks.store import Store
    from warpsmith.tasks.suites import imported, suite

    path = tmp_path / "store" / "tasks.parquet"
    Store(path).write(imported(suite("kernelbench"), source.path).made)
    for spec in (path, path.parent):
        found = chosen(Source.named(f"store:{spec}", None), Choice(), "cpu")
        assert keys(found)[0] == "level1-001"


@pytest.mark.parametrize(
    ("spec", "with_dir", "said"),
    [
        ("kernelbench", False, "add --dir PATH"),
        ("kernelbunch", True, "unknown suite 'kernelbunch'; name one of ops6k, kernelbench, jsonl"),
        ("store:", False, "unknown suite 'store:'"),
        ("store:x.parquet", True, "leave --dir"),
        ("jsonl:x", True, "unknown suite"),
    ],
)
def test_what_is_no_suite_is_told_what_is(tmp_path, spec, with_dir, said):
    with pytest.raises(UsageError, match=said):
        Source.named(spec, tmp_path if with_dir else None)


def test_a_folder_without_a_store_says_what_it_holds(tmp_path):
    with pytest.raises(UsageError, match="should hold one store"):
        Source.named(f"store:{tmp_path}", None)


def test_an_empty_folder_is_no_suite(tmp_path):
    with pytest.raises(UsageError, match="no folder level1"):
        chosen(Source(kind="kernelbench", path=tmp_path), Choice(), "cpu")
    (tmp_path / "level1").mkdir()
    with pytest.raises(UsageError, match="holds no task"):
        chosen(Source(kind="kernelbench", path=tmp_path), Choice(), "cpu")


def test_levels_are_read():
    assert levels_of("3, 1,1") == (3, 1)
    for text in ("", "one", "1,,2", "0", "-1", "1-3", "²"):
        with pytest.raises(UsageError, match="--levels takes numbers"):
            levels_of(text)
