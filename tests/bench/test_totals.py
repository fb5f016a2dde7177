"""Records to totals, on planted records whose figures are worked out by hand."""

import math

import pytest

from warpsmith.bench.record import Fate
from warpsmith.bench.suite import Mode
from warpsmith.bench.totals import BOUND, Share, geometric_mean, has_room, is_faster, is_surely_faster, totals
from warpsmith.core import Implausible, Ratio, UsageError


def line_of(lines, name, *, has_degenerate=True):
    return next(line for line in lines if (line.name, line.has_degenerate) == (name, has_degenerate))


@pytest.fixture
def planted(made):
    """Level 1: 2x, 8x, wrong, ours, and one not done. Level 2: 4x on a degenerate task, and a slow one."""
    records = (
        made.record(1, 1, made.passed(eager=2.0, compiled=1.0)),
        made.record(1, 2, made.passed(eager=8.0, compiled=2.0)),
        made.record(1, 3, made.wrong),
        made.record(1, 4, fate=Fate.OURS, audit=None),
        made.record(2, 1, made.passed(eager=4.0, compiled=None), audit=made.degenerate),
        made.record(2, 2, made.passed(eager=0.5, compiled=0.25)),
    )
    names = [made.name(1, problem) for problem in range(1, 6)] + [made.name(2, 1), made.name(2, 2)]
    return names, records


def test_counts_are_of_all_tasks_and_of_those_done(planted):
    line = line_of(totals(*planted), "level 1")
    assert (line.num_tasks, line.num_done, line.num_ours, line.num_refused) == (5, 4, 1, 0)
    assert (line.passed.count, line.passed.num) == (2, 4)
    assert line.num_unaudited == 1


def test_geometric_means_are_over_all_that_passed_slow_ones_too(planted):
    lines = totals(*planted)
    assert line_of(lines, "level 1").eager.mean.centre == pytest.approx(4.0)  # sqrt(2 * 8)
    assert line_of(lines, "level 1").compile.mean.centre == pytest.approx(math.sqrt(2.0))
    assert line_of(lines, "level 2").eager.mean.centre == pytest.approx(math.sqrt(2.0))  # sqrt(4 * 0.5)
    assert line_of(lines, "overall").eager.mean.centre == pytest.approx(32.0**0.25)
    assert line_of(lines, "overall").compile.num_measured == 3


def test_every_line_stands_again_without_degenerate_tasks(planted):
    lines = totals(*planted)
    assert [(line.name, line.has_degenerate) for line in lines] == [
        (name, kept) for name in ("level 1", "level 2", "overall") for kept in (True, False)
    ]
    without = line_of(lines, "level 2", has_degenerate=False)
    assert (without.num_tasks, without.num_done, without.num_degenerate) == (1, 1, 1)
    assert without.eager.mean.centre == pytest.approx(0.5)
    overall = line_of(lines, "overall", has_degenerate=False)
    assert (overall.passed.count, overall.passed.num) == (3, 5)
    assert overall.eager.mean.centre == pytest.approx(2.0)  # cube root of 2 * 8 * 0.5


def test_shares_of_faster_programs_are_of_all_that_is_done(planted):
    overall = line_of(totals(*planted), "overall")
    assert (overall.eager.faster.count, overall.eager.faster.num) == (3, 6)
    assert (overall.compile.faster.count, overall.compile.faster.num) == (1, 6)
    assert overall.gpu_s == 12.0


@pytest.mark.parametrize(
    ("centre", "low", "trouble", "faster", "surely"),
    [
        (1.0525, 1.04, "", False, False),  # saves 4.99 %
        (1.0527, 1.04, "", True, False),  # saves 5.01 %
        (1.2, 0.99, "", False, False),  # may be none
        (1.2, 1.06, "", True, True),
        (1.2, 1.06, "the GPU slows itself down", False, False),
    ],
)
def test_faster_means_that_more_than_5_percent_of_the_time_is_saved(
    made, centre, low, trouble, faster, surely
):
    timing, ratio = made.timing(trouble=trouble), Ratio(centre=centre, low=low, high=2.0)
    assert is_faster(timing, ratio) is faster
    assert is_surely_faster(timing, ratio) is surely


def test_no_room_is_where_the_floor_itself_saves_too_little(made):
    timing = made.timing(eager=1.0, compiled=2.0, floor=0.96)  # 4 % below eager, half of compile
    assert not has_room(timing, timing.eager)
    assert has_room(timing, timing.compile)
    record = made.record(1, 1, made.passed(eager=1.0, compiled=2.0, floor=0.96))
    line = line_of(totals([record.name], [record]), "level 1")
    assert (line.eager.num_no_room, line.compile.num_no_room) == (1, 0)
    assert pytest.approx(1 / 0.95) == BOUND


def test_of_modelled_times_no_speed_up_is_made(made):
    record = made.record(1, 1, made.passed(eager=2.0, compiled=1.0, spread=0.0, measured=False))
    line = line_of(totals([record.name], [record]), "level 1")
    assert (line.eager, line.compile) == (None, None)
    assert line.num_modelled_fast == 1
    assert line.over_floor.centre == pytest.approx(2.0)


def test_a_refused_time_does_not_pass(made):
    record = made.record(1, 1, Implausible(message="under the floor"))
    assert line_of(totals([record.name], [record]), "level 1").passed.count == 0


def test_operators_that_were_declined_are_counted(made):
    from warpsmith.bench.record import Told

    records = [
        made.record(1, problem, told=Told(declined=operator))
        for problem, operator in enumerate(["aten.conv", "aten.lstm", "aten.conv"])
    ]
    line = line_of(totals([record.name for record in records], records), "level 1")
    assert list(line.declined.items()) == [("aten.conv", 2), ("aten.lstm", 1)]


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("modes", {"mode": Mode.TRAIN}),
        ("devices", {"device": "NVIDIA L4"}),
    ],
)
def test_what_differs_in_mode_or_device_is_not_put_into_one_table(made, what, change):
    records = [made.record(1, 1, made.passed()), made.record(1, 2, made.passed(), **change)]
    with pytest.raises(UsageError, match=f"different {what} are not put into one table"):
        totals([record.name for record in records], records)


def test_measured_and_modelled_times_are_not_put_into_one_table(made):
    records = [made.record(1, 1, made.passed()), made.record(1, 2, made.passed(measured=False))]
    with pytest.raises(UsageError, match="kinds of time"):
        totals([record.name for record in records], records)


def test_nothing_done_is_no_failure(made):
    line = line_of(totals([made.name(1, 1)], []), "level 1")
    assert (line.num_done, line.passed.num, line.eager.mean) == (0, 0, None)


def test_wilson_s_interval_of_a_share():
    share = Share.of(8, 10)  # (0.8 + 0.192 ± 1.96 * sqrt(0.016 + 0.0096)) / 1.3842
    assert (share.low, share.high) == (pytest.approx(0.490, abs=1e-3), pytest.approx(0.943, abs=1e-3))
    assert Share.of(0, 0) == Share(count=0, num=0, low=0.0, high=1.0)


def test_a_geometric_mean_s_interval_shrinks_with_the_tasks_and_is_repeatable():
    few, many = geometric_mean([1.0, 4.0] * 2), geometric_mean([1.0, 4.0] * 50)
    assert few.centre == many.centre == pytest.approx(2.0)
    assert many.high - many.low < few.high - few.low
    assert many == geometric_mean([1.0, 4.0] * 50)
    # The spread of a mean of 100 logs that are ±ln 2: 1.96 * ln 2 / 10.
    assert math.log(many.high / 2.0) == pytest.approx(1.96 * math.log(2) / 10, rel=0.1)
    (one,) = {geometric_mean([3.0])}
    assert (one.centre, one.low, one.high) == (pytest.approx(3.0),) * 3
    assert geometric_mean([]) is None


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.inf, math.nan])
def test_no_mean_is_made_of_what_is_no_ratio(ratio):
    with pytest.raises(ValueError, match="positive and finite"):
        geometric_mean([1.0, ratio])
