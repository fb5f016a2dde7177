"""Many programs are judged side by side, and whose fault it is stays clear."""

import pytest

from warpsmith.core import EnvironmentMissing, InfraError, TaskError, Wrong
from warpsmith.learn.answering.court import Case, Court, Unknown

WRONG = Wrong(what="values", message="off")


@pytest.fixture
def case(talk):
    """A case of programs by what they call."""
    return lambda name, *called: Case(
        task=talk.task(name), candidates=tuple(talk.program(one) for one in called)
    )


def test_findings_come_in_order_and_equal_programs_are_judged_once(judged, made, case):
    passed = made.passed()
    opened, judge = judged({"add": passed, "mul": WRONG})
    court = Court(opened=opened, num_cores=4)
    found = court.judged([case("one", "add", "mul", "add"), case("two", "mul"), case("three")])
    assert found == ((passed, WRONG, passed), (WRONG,), ())
    assert len(judge.asked) == 3


def test_what_breaks_for_one_is_unknown_for_it_alone(judged, made, case):
    opened, _ = judged({"add": made.passed(), "mul": InfraError("the guest would not start")})
    ((first, second),) = Court(opened=opened).judged([case("one", "add", "mul")])
    assert first == made.passed()
    assert second == Unknown(message="the guest would not start")


def test_a_task_that_cannot_be_judged_is_told_and_the_others_go_on(judged, made, case):
    opened, _ = judged({"add": made.passed(), "bad": TaskError("random"), "odd": InfraError("no memory")})
    found = Court(opened=opened).judged([case("bad", "add"), case("odd", "add"), case("one", "add")])
    assert found == (
        (Unknown(message="the task: random"),),
        (Unknown(message="no memory"),),
        (made.passed(),),
    )


def test_a_machine_that_lacks_something_ends_it(judged, case):
    opened, _ = judged({"one": EnvironmentMissing("install g++")})
    with pytest.raises(EnvironmentMissing, match="install"):
        Court(opened=opened).judged([case("one", "add")])


def test_nothing_to_judge_opens_nothing(judged):
    assert Court(opened=judged({})[0]).judged([]) == ()
