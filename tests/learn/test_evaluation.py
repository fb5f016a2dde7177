"""How good a policy is: figures with intervals, and two policies held against each other."""

from dataclasses import replace

import pytest

from warpsmith.core import BuildFailed, Provenance, UsageError, Wrong
from warpsmith.learn.evaluation.attempts import Attempt, attempts_text, read_attempts
from warpsmith.learn.evaluation.comparison import compare
from warpsmith.learn.evaluation.intervals import change, geometric, rate
from warpsmith.learn.evaluation.standing import standing


def attempt(task, verdict=None, **how):
    return Attempt(task_id=task, digest=task, verdict=verdict, **how)


def test_one_try_a_task_has_wilsons_interval():
    found = rate([1.0] * 8 + [0.0] * 2)
    assert found.value == pytest.approx(0.8)
    assert (found.low, found.high) == pytest.approx(
        (0.490, 0.943), abs=1e-3
    )  # binomtest(8, 10).proportion_ci


def test_none_or_all_of_few_tasks_is_not_certain():
    assert rate([0.0] * 5).high == pytest.approx(0.4345, abs=1e-3)
    assert rate([1.0] * 5).low == pytest.approx(0.5655, abs=1e-3)
    assert (rate([]).low, rate([]).high) == (0.0, 1.0)


def test_more_tries_that_agree_make_no_task_more():
    once, often = rate([1.0, 0.0] * 5), rate([1.0, 0.0] * 5, num_tries=8)
    assert (often.low, often.high) == pytest.approx((once.low, once.high))


def test_tries_that_scatter_by_chance_count_each():
    often = rate([0.5] * 10, num_tries=8)
    once = rate([1.0, 0.0] * 5)
    assert often.high - often.low < 0.5 * (once.high - once.low)
    assert (often.low, often.high) == pytest.approx((0.393, 0.607), abs=1e-3)  # Wilson's of 40 of 80


def test_paired_changes_have_agresti_and_mins_interval():
    found = change([1.0] * 6 + [-1.0] * 1 + [0.0] * 13)
    assert found.value == pytest.approx(0.25)
    b, c, n = 6.5, 1.5, 22.0  # by hand: (b - c) / n and its Wald interval
    centre = (b - c) / n
    half = 1.959964 * (b + c - (b - c) ** 2 / n) ** 0.5 / n
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half), abs=1e-6)


def test_no_difference_on_few_tasks_leaves_doubt():
    found = change([0.0] * 4)
    assert found.value == 0.0
    assert found.low < -0.2 < 0.2 < found.high
    assert not found.is_told


def test_geometric_means():
    assert geometric([]) is None
    assert geometric([2.0, 8.0]).centre == pytest.approx(4.0)
    assert geometric([2.0]).high == float("inf")
    same = geometric([3.0, 3.0, 3.0])
    assert (same.low, same.high) == pytest.approx((3.0, 3.0))
    with pytest.raises(ValueError, match="positive"):
        geometric([1.0, float("nan")])


def test_figures_of_measured_programs(made):
    found = standing(
        [
            attempt("a", made.passed(2.0, 1.5), reward=3.0),
            attempt("b", made.passed(1.04, 0.9), reward=1.0),  # saves less than 5 %
            attempt("c", made.passed(2.0, 1.5, trouble="drift")),
            attempt("d", Wrong(what="values", message="off"), reward=-1.0),
            attempt("e", is_ours=True),
            attempt("f", BuildFailed(log="no"), reward=-1.0),
            attempt("g", flaw="no file", reward=-1.0),
            attempt("h", refused="zeros pass"),
        ]
    )
    assert (found.num_tasks, found.num_attempts, found.num_ours, found.num_refused) == (7, 7, 1, 1)
    assert found.passed.value == pytest.approx(3 / 7)
    assert found.eager.faster.value == pytest.approx(1 / 7)
    assert found.eager.num_measured == 3
    assert found.modelled_fast is None
    assert found.kinds == {"passed": 3, "wrong: values": 1, "ours": 1, "does not compile": 1, "no file": 1}
    assert found.reward == pytest.approx(0.2)


def test_no_speed_up_is_made_of_modelled_times(made):
    modelled = made.passed(2.0, 1.5, provenance=Provenance.MODELLED)
    found = standing([attempt("a", modelled), attempt("b", made.failed)])
    assert (found.eager, found.compile) == (None, None)
    assert found.modelled_fast.value == pytest.approx(0.5)
    with pytest.raises(UsageError, match="not put into one table"):
        standing([attempt("a", modelled), attempt("b", made.passed(2.0))])


def test_tries_at_one_task_are_one_task(made):
    found = standing(
        [attempt("a", made.passed(2.0), number=n) for n in range(4)] + [attempt("b", made.failed)]
    )
    assert (found.num_tasks, found.num_attempts) == (2, 5)
    assert found.passed.value == pytest.approx(0.5)


def test_a_task_is_held_against_itself(made):
    before = [attempt(f"{n}", made.passed(1.0 + n, 1.0) if n < 3 else made.failed) for n in range(10)]
    after = [attempt(f"{n}", made.passed(2.0 + 2 * n, 1.0) if n < 9 else made.failed) for n in range(10)]
    found = compare(before, [*after, attempt("new", made.failed)])
    assert found.passed.value == pytest.approx(0.6)
    assert found.passed.is_told
    assert found.speed.centre == pytest.approx(2.0)
    assert (found.num_only_before, found.num_only_after) == (0, 1)


def test_what_cannot_be_compared_is_refused(made):
    one = [attempt("a", made.passed(2.0))]
    with pytest.raises(UsageError, match="no task in common"):
        compare(one, [attempt("b", made.failed)])
    with pytest.raises(UsageError, match="do not compare"):
        compare(one, [attempt("a", made.passed(2.0, provenance=Provenance.MODELLED))])


def test_attempts_are_read_back(made, tmp_path):
    attempts = [attempt("a", made.passed(2.0), candidate=made.program()), attempt("b", is_ours=True)]
    path = tmp_path / "attempts.jsonl"
    path.write_text(attempts_text(attempts))
    assert list(read_attempts(path)) == [replace(one) for one in attempts]


@pytest.mark.parametrize("line", ["{", "[]", '{"task_id": "a"}', '{"task_id": "a", "digest": 3}', "null"])
def test_a_line_that_is_no_attempt_is_named(tmp_path, line):
    path = tmp_path / "attempts.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UsageError, match="line 1"):
        list(read_attempts(path))
