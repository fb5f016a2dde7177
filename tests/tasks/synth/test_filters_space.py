"""A GPU's memory among visits: never more is lent than there is, nobody waits for ever, all comes back."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from warpsmith.tasks.synth.filters.space import ENTRY_BYTES, Halls, Space

PATIENCE_S = 20.0


def begun(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_who_finds_no_room_waits_until_some_is_given_back():
    space, got = Space(10), threading.Event()
    first = space.take(7)
    begun(lambda: (space.take(4), got.set()))
    assert not got.wait(0.05)
    first.give_back()
    assert got.wait(PATIENCE_S)


def test_who_wants_little_does_not_pass_who_wants_much():
    space, order = Space(10), []
    first = space.take(7)

    def taker(num_bytes):
        def take():
            share = space.take(num_bytes)
            order.append(num_bytes)
            share.give_back()

        return take

    much = begun(taker(8))
    time.sleep(0.05)
    little = begun(taker(1))
    time.sleep(0.05)
    assert order == []
    first.give_back()
    much.join(PATIENCE_S)
    little.join(PATIENCE_S)
    assert order == [8, 1]


def test_who_wants_more_than_there_is_gets_all_of_it_alone():
    space, got = Space(10), threading.Event()
    whole = space.take(99)
    begun(lambda: (space.take(1), got.set()))
    assert not got.wait(0.05)
    whole.give_back()
    assert got.wait(PATIENCE_S)


def test_a_share_comes_back_once():
    space = Space(10)
    share = space.take(6)
    share.give_back()
    share.give_back()
    assert space.take(10)
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(space.take, 1)
        time.sleep(0.05)
        assert not waits.done()
        space.give_back(1)


def test_many_visits_of_all_sizes_come_through_both_halls():
    halls = Halls(16 * ENTRY_BYTES)  # four may enter, and the second hall holds a little over ten times that

    def visit(seed):
        share = halls.enter()
        time.sleep(0.001)
        times = random.Random(seed).choice((0, 1, 9, 99))
        share = halls.look(share, times * ENTRY_BYTES)
        share.give_back()
        return seed

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(visit, range(64), timeout=PATIENCE_S)) == list(range(64))
