"""Nsight Compute's log, read; and what stands in it when there are no counters."""

import pytest

from warpsmith.agent.diagnosis import ncu
from warpsmith.agent.diagnosis.figures import Name, Sheet, Source
from warpsmith.agent.diagnosis.metrics import Counter, all_metrics
from warpsmith.agent.diagnosis.reading import of_counters


def test_numbers_carry_separators_and_what_is_not_counted_has_none(ncu_log):
    (launch,) = ncu.read(ncu_log())
    assert launch.value(Counter.BYTES_READ) == 10_240_000
    assert launch.value(Counter.TENSOR) is None
    assert (launch.grid, launch.block) == ("(8, 2, 1)", "(128, 1, 1)")


def test_the_line_of_units_is_no_launch_and_the_longest_launch_counts(ncu_log):
    launches = ncu.read(ncu_log({}, {Counter.TIME: "99,999"}, {Counter.TIME: "n/a"}))
    assert len(launches) == 3
    assert ncu.longest(launches, Counter.TIME) is launches[1]


def test_figures_follow_from_the_counters(ncu_log):
    sheet = Sheet(of_counters(ncu.read(ncu_log())[0]))
    assert sheet[Name.TRAFFIC] == 12_800_000
    assert sheet[Name.CONFLICTS] == pytest.approx(100 * 31 / 33)
    assert sheet[Name.LOCAL] == pytest.approx(5.0)
    assert sheet[Name.FP64] == 0.0  # of no arithmetic at all none is double
    assert sheet.get(Name.STALL).note.startswith("long_scoreboard in scale")
    assert "limited by registers" in sheet.get(Name.OCCUPANCY).note
    assert sheet.get(Name.TENSOR).source is Source.UNAVAILABLE
    assert all(figure.source is Source.MEASURED for figure in sheet if figure.value is not None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no counters"),
        ("==PROF== Connected to process 1\n==WARNING== No kernels were profiled.\n", "watched no kernel"),
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n", ncu.FORBIDDEN_WHY),
        ("==ERROR== The application returned an error code (9).\n", "error code (9)"),
        ('"ID","Process ID"\n"x","y"\n', "no counters"),
    ],
)
def test_a_log_without_counters_says_why(text, why):
    with pytest.raises(ncu.CounterError) as caught:
        ncu.read(text)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10,240", 10_240.0),
        ("0.5", 0.5),
        ("n/a", None),
        ("", None),
        ("inf", None),
        ("nan", None),
        ("1e3", 1000.0),
    ],
)
def test_a_cell_is_a_finite_number_or_nothing(text, value):
    assert ncu.number(text) == value


def test_a_broken_line_costs_only_its_values(ncu_log):
    whole, broken = ncu.read(ncu_log() + '"7"\n')
    assert whole.value(Counter.SM) == 12.5
    assert broken.values == {}


def test_one_launch_of_the_kernel_is_asked_for_with_every_metric(tmp_path):
    words = ncu.options(tmp_path, "scale")
    assert words[words.index("--kernel-name") + 1] == "regex:(^|:)scale$"
    assert words[words.index("--launch-count") + 1] == "1"
    assert words[words.index("--metrics") + 1].split(",") == list(all_metrics())
    assert words[words.index("--clock-control") + 1] == "none"


@pytest.mark.parametrize("kernel", [None, "", "a b", "operator()", "k$|.*", "--x"])
def test_a_name_that_is_no_identifier_is_not_passed_on(tmp_path, kernel):
    words = ncu.options(tmp_path, kernel)
    assert "--kernel-name" not in words
    assert words[words.index("--launch-count") + 1] == str(ncu.MAX_LAUNCHES)
