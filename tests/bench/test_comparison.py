"""Two benches held against each other."""

import pytest

from warpsmith.bench.comparison import CHANGES, Side, compare
from warpsmith.bench.record import Fate
from warpsmith.bench.suite import Mode
from warpsmith.core import UsageError


def side(*records, **more):
    known = {"folder": "a", "mode": Mode.EVAL, "device": "NVIDIA H200", "policy": "builtin"}
    return Side(records=records, **(known | more))


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        ("gained", {"wrong": True}, {"eager": 2.0}),
        ("lost", {"eager": 2.0}, {"wrong": True}),
        ("faster", {"eager": 2.0}, {"eager": 2.1}),
        ("slower", {"eager": 2.0}, {"eager": 1.9}),
        ("level", {"eager": 2.0}, {"eager": 2.03}),  # [1.98, 2.02] meets [2.01, 2.05]
        ("failed", {"wrong": True}, {"wrong": True}),
        ("untold", {"eager": 2.0}, {"eager": 9.0, "trouble": "it throttles"}),
        ("level", {"eager": 2.0, "measured": False}, {"eager": 3.0, "measured": False}),  # the same time
    ],
)
def test_a_task_is_sorted_by_what_changed(made, change, before, after):
    def record(says):
        return made.record(1, 1, made.wrong if says.pop("wrong", False) else made.passed(**says))

    found = compare(side(record(before)), side(record(after)))
    assert {name: len(getattr(found, name)) for name in CHANGES if getattr(found, name)} == {change: 1}


def test_what_we_failed_on_says_nothing(made):
    ours, passed = made.record(1, 1, fate=Fate.OURS), made.record(1, 1, made.passed())
    assert len(compare(side(ours), side(passed)).untold) == 1
    assert len(compare(side(passed), side(ours)).untold) == 1


def test_another_source_is_another_task(made):
    found = compare(
        side(made.record(1, 1, made.wrong)), side(made.record(1, 1, made.passed(), digest="other"))
    )
    assert len(found.changed) == 1


def test_tasks_of_one_bench_alone_are_told(made):
    both, old, new = (made.record(1, problem, made.wrong) for problem in (1, 2, 3))
    found = compare(side(both, old), side(both, new))
    assert ([r.name.key for r in found.only_before], [r.name.key for r in found.only_after]) == (
        ["level1-002"],
        ["level1-003"],
    )


@pytest.mark.parametrize(("what", "value"), [("mode", Mode.TRAIN), ("device", "NVIDIA L4")])
def test_other_modes_and_devices_are_not_compared(made, what, value):
    record = made.record(1, 1, made.wrong)
    with pytest.raises(UsageError, match=f"do not compare: a has the {what} .*, b {value}"):
        compare(side(record), side(record, folder="b", **{what: value}))


def test_nothing_in_common_is_told(made):
    with pytest.raises(UsageError, match="no finished task in common"):
        compare(side(made.record(1, 1, made.wrong)), side(made.record(1, 2, made.wrong)))
