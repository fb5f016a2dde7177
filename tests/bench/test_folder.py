"""A bench's folder: what may be gone on with, and what damage does."""

import json
from dataclasses import replace

import pytest

from warpsmith.bench.folder import default_folder, done_in, held, read, read_plan
from warpsmith.bench.plan import joined
from warpsmith.bench.record import Fate, Technique, Told
from warpsmith.bench.suite import Mode
from warpsmith.core import UsageError


@pytest.fixture
def plan(made):
    return made.plan(made.name(1, 1), made.name(1, 2))


def test_a_record_is_read_back_as_it_was(made, plan, tmp_path):
    told = Told(techniques=(Technique(name="a", recipe="rows", operators=("mul",)),), declined="aten.x")
    record = made.record(1, 1, made.passed(), told=told, audit=made.degenerate, environment={"torch": "2"})
    with held(tmp_path, plan) as folder:
        folder.keep(record)
    assert read(tmp_path).records == (record,)
    assert read(tmp_path).plan == plan


def test_what_we_failed_on_is_kept_and_not_done(made, plan, tmp_path):
    with held(tmp_path, plan) as folder:
        folder.keep(made.record(1, 1, fate=Fate.OURS))
        folder.keep(made.record(1, 2, made.wrong))
    assert len(read(tmp_path).records) == 2
    assert done_in(tmp_path) == {"level1-002"}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"name": 3}', '{"name": {"key": "a"}}', "\x00\xff", '{"fate": "sunk"}']
)
def test_a_damaged_record_is_told_and_its_task_is_not_done(made, plan, tmp_path, text):
    with held(tmp_path, plan) as folder:
        folder.keep(made.record(1, 2, made.wrong))
    file = tmp_path / "records" / "level1-001.json"
    file.write_text(text, encoding="latin-1")
    kept = read(tmp_path)
    assert len(kept.records) == 1
    assert str(file) in kept.damaged[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"device": "NVIDIA L4"}, "was made on NVIDIA L4"),
        ({"eager": -1.0}, "times that cannot be"),
        ({"floor": 0.0}, "times that cannot be"),
        ({"compiled": float("inf")}, "times that cannot be"),
    ],
)
def test_a_record_that_cannot_be_is_not_taken(made, plan, tmp_path, change, said):
    device = change.pop("device", "NVIDIA H200")
    with held(tmp_path, plan) as folder:
        folder.keep(made.record(1, 1, made.passed(**change), device=device))
    assert said in read(tmp_path).damaged[0]


def test_a_record_of_another_task_is_not_taken(made, plan, tmp_path):
    with held(tmp_path, plan) as folder:
        folder.keep(made.record(1, 1, made.wrong, digest="another"))
    assert read(tmp_path).records == ()
    assert "another task" in read(tmp_path).damaged[0]


@pytest.mark.parametrize("text", ["", "[]", '{"format": 99}', '{"suite": "x"}'])
def test_a_damaged_plan_is_one_line(plan, tmp_path, text):
    (tmp_path / "bench.json").write_text(text)
    with pytest.raises(UsageError, match=r"bench\.json is damaged|another version"):
        read_plan(tmp_path)


def test_a_folder_without_a_plan_is_no_bench(tmp_path):
    with pytest.raises(UsageError, match="holds no bench"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policy": "openai:x"}, "the policy was builtin, and is openai:x now"),
        ({"device": "CPU"}, "the device was NVIDIA H200, and is CPU now"),
        ({"mode": Mode.TRAIN}, "the mode was eval, and is train now"),
        ({"settings": {"scale": "0.5", "precision": "reference"}}, "scale was none, and is 0.5 now"),
    ],
)
def test_only_the_same_bench_goes_on(plan, change, said):
    with pytest.raises(UsageError, match=said):
        joined(plan, replace(plan, **change), "runs/a")


def test_a_task_that_has_changed_stops_it(made, plan):
    other = replace(plan, names=(made.name(1, 1, "other"),))
    with pytest.raises(UsageError, match="another task than the one in runs/a"):
        joined(plan, other, "runs/a")


def test_tasks_may_be_added_and_are_in_order(made, plan):
    more = replace(plan, names=(made.name(2, 1), made.name(1, 3)))
    keys = [name.key for name in joined(plan, more, "runs/a").names]
    assert keys == ["level1-001", "level1-002", "level1-003", "level2-001"]


def test_a_plan_is_there_whole_while_it_is_worked_in(plan, tmp_path):
    with held(tmp_path / "a", plan):
        assert json.loads((tmp_path / "a" / "bench.json").read_text())["policy"] == "builtin"


def test_a_new_folder_s_name_is_not_taken(tmp_path):
    first = default_folder("store: a/b", tmp_path)
    first.mkdir()
    assert default_folder("store: a/b", tmp_path) != first
    assert first.parent == tmp_path
