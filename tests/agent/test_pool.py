"""Judges that several trajectories share: who is served when, by whom, and what happens at a stop."""

import threading
import time

import pytest

from warpsmith.agent.attempts.pool import JudgePool
from warpsmith.agent.optimize import OptimizeConfig
from warpsmith.core import Candidate, Passed
from warpsmith.device import select_device


def candidate(word):
    return Candidate.of({"model_new.py": f"# {word}\nx = 1\n"})


def pool_of(say, judge, num_judges=1):
    config = OptimizeConfig(device=select_device("cpu"))
    return JudgePool(lambda: say.bench_of(judge)(None, config), num_judges)


def wait_for(condition):
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.002)
    raise AssertionError("it did not come")


def test_a_judge_is_asked_one_thing_at_a_time_and_by_one_thread(say):
    busy, threads = [], set()

    class Watched(say.Judge):
        def measure(self, given):
            busy.append(1)
            threads.add(threading.get_ident())
            time.sleep(0.002)
            assert len(busy) == 1
            busy.pop()
            return super().measure(given)

    with pool_of(say, Watched()) as pool:
        answers = in_threads(lambda: [pool.seat().measure(candidate(9)) for _ in range(5)], 6)
    assert all(isinstance(verdict, Passed) for verdicts in answers for verdict in verdicts)
    assert len(threads) == 1


def in_threads(work, count):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(work())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_who_asks_first_is_served_first_and_nobody_twice_before_another(say):
    gate = threading.Event()

    class Gated(say.Judge):
        def measure(self, given):
            gate.wait(10)
            time.sleep(0.05)  # longer than it takes to ask again
            return super().measure(given)

    judge = Gated()
    with pool_of(say, judge) as pool:
        threads = []
        for number in (1, 2, 3):
            work = lambda number=number: [pool.seat().measure(candidate(number)) for _ in range(3)]  # noqa: E731
            threads.append(threading.Thread(target=work))
            threads[-1].start()
            wait_for(lambda number=number: len(pool._asked) == number)
        gate.set()
        for thread in threads:
            thread.join()
    order = [given.text("model_new.py")[2] for question, given in judge.asked if question == "measure"]
    assert order == ["1", "2", "3"] * 3


def test_a_few_judges_share_the_work(say):
    both = threading.Barrier(2)

    class Meets(say.Judge):
        def measure(self, given):
            both.wait(10)
            return super().measure(given)

    with pool_of(say, Meets(), num_judges=2) as pool:
        answers = in_threads(lambda: pool.seat().measure(candidate(9)), 2)
    assert len(answers) == 2


def test_building_waits_for_nobody(say):
    gate = threading.Event()

    class Gated(say.Judge):
        def measure(self, given):
            gate.wait(10)
            return super().measure(given)

    with pool_of(say, Gated()) as pool:
        waiting = threading.Thread(target=lambda: pool.seat().measure(candidate(9)))
        waiting.start()
        wait_for(lambda: pool._asked)
        assert pool.seat().build(candidate(8)).log == "ptxas info"
        assert pool.seat().measure(candidate("broken")).log.startswith("a.cu"), "it needs no judge"
        gate.set()
        waiting.join()


def test_the_time_that_a_trajectory_waits_is_not_the_gpus(say):
    class Slow(say.Judge):
        held_s = 0.0

        def measure(self, given):
            time.sleep(0.05)
            self.held_s += 0.01
            return super().measure(given)

    with pool_of(say, Slow()) as pool:
        seats = [pool.seat() for _ in range(3)]
        threads = [threading.Thread(target=seat.measure, args=(candidate(9),)) for seat in seats]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [seat.held_s for seat in seats] == pytest.approx([0.01] * 3)


def test_a_stopped_pool_answers_nobody_any_more(say):
    gate = threading.Event()
    outcomes = []

    class Gated(say.Judge):
        def measure(self, given):
            gate.wait(10)
            return super().measure(given)

    def work():
        try:
            pool.seat().measure(candidate(9))
        except KeyboardInterrupt:
            outcomes.append("stopped")

    pool = pool_of(say, Gated())
    with pool:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(pool._asked) == 3)
        pool.stop()
        for thread in threads:
            thread.join()
        gate.set()
        with pytest.raises(KeyboardInterrupt):
            pool.seat().measure(candidate(9))
    assert outcomes == ["stopped"] * 3
