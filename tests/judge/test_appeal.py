"""When a refused time is looked at again."""

from warpsmith.core import Accuracy, Implausible, Passed, Wrong
from warpsmith.judge.clock.appeal import twice_refused

REFUSED = Implausible(message="two clocks differ")
PASSED = Passed(accuracy=Accuracy(error=0.0, reference_error=0.0, allowed=1.0))
WRONG = Wrong(what="values", message="element 0 is 1, not 2", error=1.0, allowed=0.1)


def looking(*verdicts):
    """A look that gives these, one after the other; more than these are not asked for."""
    return iter(verdicts).__next__


def test_what_is_refused_twice_is_refused():
    assert twice_refused(looking(REFUSED, REFUSED)) == REFUSED


def test_what_passes_at_the_second_look_passes_and_says_why_it_was_looked_at_again():
    verdict = twice_refused(looking(REFUSED, PASSED))
    assert isinstance(verdict, Passed)
    assert verdict.advice == ("its time was refused at first: two clocks differ",)


def test_what_turns_out_wrong_at_the_second_look_is_wrong():
    assert twice_refused(looking(REFUSED, WRONG)) == WRONG


def test_no_other_verdict_is_looked_at_again():
    assert twice_refused(looking(PASSED)) == PASSED
    assert twice_refused(looking(WRONG)) == WRONG
