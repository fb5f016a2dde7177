"""The table of routes as a pure function: every standing has one route, and it is the stated one."""

from itertools import product

import pytest

from warpsmith.agent.team.nouns import Kind, Outcome, Rhythm, Route
from warpsmith.agent.team.routing import RULES, Result, Standing, routed

RHYTHM = Rhythm(max_iterations=4, max_replans=1)
TIMES = {Outcome.SLOW: (100.0, 97.0, 80.0), Outcome.GOOD: (50.0,)}
RESULTS = tuple(
    Result(outcome=outcome, time_us=time_us) for outcome in Outcome for time_us in TIMES.get(outcome, (None,))
)
BUILD = {Outcome.NOTHING, Outcome.NOT_BUILT}


def standings():
    """Every last two results, with every place in a plan, rest of iterations and plans, and final test."""
    pasts = [(), *((one,) for one in RESULTS), *product(RESULTS, repeat=2)]
    for results, spent, replans, is_last, has_program, final in product(
        pasts, (1, 4), (0, 1), (False, True), (False, True), (None, Outcome.GOOD, Outcome.SLOW, Outcome.WRONG)
    ):
        yield Standing(
            rhythm=RHYTHM,
            num_iterations=spent,
            num_replans=replans,
            is_last=is_last,
            results=results,
            has_program=has_program,
            final=final,
        )


def expected(s):
    """The rules in words, once more and otherwise written."""
    is_spent = s.num_iterations >= 4
    can_replan = s.num_replans < 1 and not is_spent
    if s.final is not None:
        return Route.REPLAN if s.final is not Outcome.GOOD and can_replan else Route.STOP
    if is_spent:
        return Route.FINAL_TEST if s.has_program else Route.STOP
    outcomes = [result.outcome for result in s.results]
    onwards = Route.FINAL_TEST if s.is_last else Route.NEXT_TASK
    if len(outcomes) == 2 and (set(outcomes) <= BUILD or outcomes == [Outcome.WRONG] * 2):
        return Route.REPLAN if can_replan else Route.CODING
    if not outcomes or outcomes[-1] not in (Outcome.GOOD, Outcome.SLOW):
        return Route.CODING
    if outcomes[-1] is Outcome.GOOD:
        return onwards
    times = [result.time_us for result in s.results]
    if outcomes == [Outcome.SLOW] * 2 and abs(times[0] - times[1]) < 0.05 * max(times):
        return Route.REPLAN if can_replan else onwards
    return Route.CODING


def test_every_standing_of_a_team_has_the_stated_route():
    found = [(standing, routed(Kind.TEAM, standing).route) for standing in standings()]
    assert len(found) == 57 * 64
    assert not [(standing, route) for standing, route in found if route is not expected(standing)]
    assert {route for _, route in found} == set(Route)


def test_every_standing_of_a_pair_goes_on_until_its_rounds_are_spent():
    for standing in standings():
        route = routed(Kind.PAIR, standing).route
        if standing.final is not None:
            assert route is Route.STOP
        elif standing.num_iterations < 4:
            assert route is Route.CODING
        else:
            assert route is (Route.FINAL_TEST if standing.has_program else Route.STOP)


@pytest.mark.parametrize("kind", list(Kind))
def test_every_rule_decides_somewhere_and_no_two_have_a_name(kind):
    names = [rule.name for rule in RULES[kind]]
    assert len(set(names)) == len(names)
    deciding = {routed(kind, standing).name for standing in standings()}
    assert deciding == set(names)


def test_a_program_that_was_never_timed_is_not_said_to_stand_still():
    untimed = Result(outcome=Outcome.SLOW)
    standing = Standing(
        rhythm=RHYTHM,
        num_iterations=2,
        num_replans=0,
        is_last=True,
        results=(untimed, untimed),
        has_program=True,
    )
    assert routed(Kind.TEAM, standing).route is Route.CODING


def test_the_rhythm_is_that_of_the_paper():
    assert (Rhythm().max_iterations, Rhythm().num_failures, Rhythm().small_change) == (15, 2, 0.05)
