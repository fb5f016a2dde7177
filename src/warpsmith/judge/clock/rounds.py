"""A candidate timed beside eager, round by round, by two clocks.

The guest's device events say what each call took. That is a claim. The host's own clock says what the whole
batch took, from asking to answer, less the same request without any call. Eager is timed in the same way, by
the same loop, and its events can be believed: so the host's time of a candidate's call is eager's by events,
and the difference of the two batches. What hiding, flushing and waiting cost is in both, and cancels. The
claim must agree with it. In some rounds every call is waited for, which shows work that runs on after it;
what the guest claims must be the same there.

The inputs of a round were never seen before: they lie under a veil whose key the guest is told as the host's
clock starts. Both programs are woken before it does, so that the GPU's turning from one process to the other,
which takes up to a millisecond, is in no bracket. Some outputs are compared with the reference's after it has
stopped.

What is reported is the claim: it is ten times finer than the host's clock on a short kernel, and no claim
stands that the host's clock contradicts.
"""

import math
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from warpsmith.core import Crashed, Implausible, Rejected, TimedOut, Wrong
from warpsmith.judge.clock.baselines import Pace
from warpsmith.judge.clock.throttle import Throttle
from warpsmith.judge.clock.waiting import waits_itself
from warpsmith.judge.config import ClockConfig
from warpsmith.judge.protocol import (
    CANDIDATE,
    EAGER,
    Compare,
    Compared,
    Deal,
    Dealt,
    Place,
    Placed,
    Show,
    Shown,
    Time,
    Timed,
    TooLarge,
)
from warpsmith.judge.trial import Trial

SEED_BITS = 48
KEY_BITS = 62
NUM_WAKES = 2  # empty requests before a timed one: at the first the GPU turns from the other process
ROOM = 4  # times the reference's output, beyond which an answer is not worth looking at
ROOM_BYTES = 1 << 20
TIMED = "seen on a call that was timed, on inputs of its own"

Failed = Crashed | TimedOut | Rejected | Implausible | Wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One measurement of each program; times of one call."""

    candidate_us: float  # median of what the guest claims
    eager_us: float
    claim_us: float  # mean of what the guest claims, to be held against ...
    host_us: float  # ... what the host's clock says
    total_us: float  # of all of the candidate's calls
    waits: bool = False  # after each call for the whole device
    trouble: str = ""  # why it does not count
    sm_mhz: int | None = None  # afterwards


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """One request to time, by both clocks."""

    samples_us: tuple[float, ...]
    host_us: float  # from asking to answer, less what asking costs


class Rounds:
    """Runs rounds for one candidate and keeps what they say."""

    def __init__(
        self,
        trial: Trial,
        pace: Pace,
        *,
        throttle: Throttle,
        now_s: Callable[[], float] = time.perf_counter,
        rng: random.Random | None = None,
    ) -> None:
        self._trial = trial
        self._clock = trial.config.clock
        self._pace = pace
        self._throttle = throttle
        self._now_s = now_s
        self._rng = rng or random.SystemRandom()
        self._shows = Counter(
            self._rng.randrange(self._clock.rounds) for _ in range(self._clock.num_verified)
        )
        self._ahead = iter(pace.ahead)
        self._seeds: tuple[int, ...] = ()
        self._key: int | None = None
        self._is_placed = False
        self._asks_us: list[float] = []  # what it cost each time to ask the oracle, which was awake
        self._seen: set[int] = set()
        self.good: list[Round] = []
        self.bad: list[Round] = []
        self.num_verified = 0

    @property
    def num_input_sets(self) -> int:
        return len(self._seen)

    def run(self, num_rounds: int) -> Failed | None:
        """Run until `num_rounds` are good, or the GPU has disturbed too many."""
        while len(self.good) < num_rounds:
            done = self._round()
            if not isinstance(done, Round):
                return done
            (self.bad if done.trouble else self.good).append(done)
            if len(self.bad) > self._clock.max_repeats:
                return None  # whoever looks at `good` sees that there are too few
        return self._unlike()

    def disagreement(self) -> Implausible | None:
        """Whether the claim is not what the host's clock says, over all rounds of a kind."""
        for waits in (False, True):
            rounds = [item for item in self.good if item.waits is waits]
            if not rounds:
                continue
            claim_us = median(item.claim_us for item in rounds)
            host_us = claim_us + median(item.host_us - item.claim_us for item in rounds)
            # A program that waits itself leaves the stream idle after each call, as if it were waited for.
            explained_us = resolution_us(
                self._pace.num_calls, self._clock, waits=waits or waits_itself(self._trial.candidate)
            )
            if not agrees(claim_us, host_us, explained_us, self._clock):
                return Implausible(
                    message=f"the program's clock says {claim_us:.1f} us a call, the judge's own "
                    f"{host_us:.1f} us, by the median of {len(rounds)} rounds; the current stream must wait "
                    "for all that forward starts"
                )
        return None

    def _unlike(self) -> Implausible | None:
        """Whether the guest claims more for calls that are waited for, as work that is then seen would be.

        Less is no lie that wins anything: a program that is long to launch has more time for it there.
        """
        waited, free = (
            [item.claim_us for item in self.good if item.waits is waits] for waits in (True, False)
        )
        if not (waited and free):
            return None
        most_us, least_us = max(free), min(waited)
        if least_us <= most_us or agrees(least_us, most_us, self._clock.agree_us, self._clock):
            return None
        return Implausible(
            message=f"the program's clock says {median(free):.1f} us a call, and {median(waited):.1f} us "
            "where each call is waited for: the same program must take the same time"
        )

    def _round(self) -> Round | Failed:
        failure = self._hand_out()
        if failure is not None:
            return failure
        brackets: dict[str, Bracket] = {}
        waits = len(self.good) % self._clock.waits_every == 0
        order = [EAGER, CANDIDATE]
        if self._asks_us:  # the candidate is not asked before it is known what asking costs
            self._rng.shuffle(order)
        for name in order:
            bracket = self._candidate(waits=waits) if name == CANDIDATE else self._eager(waits=waits)
            if not isinstance(bracket, Bracket):
                return bracket
            brackets[name] = bracket
        failure = self._verified()
        if failure is not None:
            return failure
        mine, eager = brackets[CANDIDATE], brackets[EAGER]
        claim_us = fmean(mine.samples_us)
        host_us = fmean(eager.samples_us) + (mine.host_us - eager.host_us) / self._pace.num_calls
        slow = self._throttle.reason()
        return Round(
            candidate_us=median(mine.samples_us),
            eager_us=median(eager.samples_us),
            claim_us=claim_us,
            host_us=host_us,
            total_us=sum(mine.samples_us),
            waits=waits,
            trouble=f"the GPU slows down: {slow}" if slow else "",
            sm_mhz=self._throttle.sm_mhz(),
        )

    def _hand_out(self) -> Failed | None:
        """New input sets for the oracle's programs and, still hidden, for the guest."""
        num_calls = self._pace.num_calls
        if self._pace.pool:
            self._seeds = tuple(self._rng.sample(self._pace.pool, num_calls))
        else:
            self._seeds = tuple(next(self._ahead, None) or secret_seed(self._rng) for _ in range(num_calls))
        self._seen.update(self._seeds)
        self._key = secret_key() if self._trial.subject.facts.loan else None
        paths, dealt = deal(self._trial, self._seeds, self._key)
        if self._is_placed and not dealt.is_new:
            return None
        request, limit_s = Place(inputs=paths), self._trial.config.limits.forward_s
        placed = self._trial.guest.ask(request, Placed, stage="clock", limit_s=limit_s)
        self._is_placed = True
        return None if isinstance(placed, Placed) else placed

    def _eager(self, *, waits: bool) -> Bracket:
        oracle, limit_s = self._trial.subject.oracle, self._trial.config.limits.clock_s
        for _ in range(NUM_WAKES):
            began = self._now_s()
            oracle.ask(Time(program=EAGER, calls=0), Timed, limit_s=limit_s)
            asking_us = 1e6 * (self._now_s() - began)
        self._asks_us.append(asking_us)
        began = self._now_s()
        request = Time(program=EAGER, calls=self._pace.num_calls, waits=waits, key=self._key)
        timed = oracle.ask(request, Timed, limit_s=limit_s)
        bracket_us = 1e6 * (self._now_s() - began)
        return Bracket(samples_us=timed.samples_us, host_us=bracket_us - asking_us)

    def _candidate(self, *, waits: bool) -> Bracket | Failed:
        guest, limit_s = self._trial.guest, self._trial.config.limits.clock_s
        for _ in range(NUM_WAKES):
            began = self._now_s()
            woken = guest.ask(Time(program=CANDIDATE, calls=0), Timed, stage="clock", limit_s=limit_s)
            asking_us = 1e6 * (self._now_s() - began)
            if not isinstance(woken, Timed):
                return woken
        began = self._now_s()
        request = Time(program=CANDIDATE, calls=self._pace.num_calls, waits=waits, key=self._key)
        timed = guest.ask(request, Timed, stage="clock", limit_s=limit_s)
        bracket_us = 1e6 * (self._now_s() - began)
        if not isinstance(timed, Timed):
            return timed
        # The guest could dawdle over an empty request, to have more taken off its time.
        most_us = max(median(self._asks_us), self._trial.guest.asking_us) + self._clock.dawdle_us
        asking_us = min(asking_us, most_us)
        return _plausible(timed, self._pace.num_calls) or Bracket(
            samples_us=timed.samples_us, host_us=bracket_us - asking_us
        )

    def _verified(self) -> Failed | None:
        """Compare the outputs of as many of this round's calls as were drawn for it."""
        for _ in range(self._shows.pop(len(self.good), 0)):
            call = self._rng.randrange(self._pace.num_calls)
            outputs = self._trial.guest.exchange / f"outputs-timed-{self.num_verified}"
            inputs = dealt_path(self._trial, call) if self._trial.subject.facts.loan else None
            compare = Compare(outputs=outputs, case=0, inputs=inputs, seed=self._seeds[call])
            failure = shown_failure(self._trial, call, compare)
            if failure is not None:
                return failure
            self.num_verified += 1
        return None


def resolution_us(num_calls: int, clock: ClockConfig, *, waits: bool) -> float:
    """What the host's clock cannot tell of one call."""
    return (clock.agree_waits_us if waits else clock.agree_us) + clock.agree_bracket_us / num_calls


def agrees(one_us: float, other_us: float, explained_us: float, clock: ClockConfig) -> bool:
    """Whether both clocks may be right, which differ by `explained_us` for reasons of their own."""
    return abs(one_us - other_us) <= explained_us + clock.agree_share * max(one_us, other_us)


def secret_seed(rng: random.Random) -> int:
    """Of an input set; never zero."""
    return 1 + rng.getrandbits(SEED_BITS)


def secret_key() -> int:
    """Of a veil over input sets."""
    return secrets.randbits(KEY_BITS)


def deal(trial: Trial, seeds: tuple[int, ...], key: int | None = None) -> tuple[tuple[Path, ...], Dealt]:
    """Have the oracle make input sets, veiled if there is a key; where the guest will find them."""
    paths = tuple(dealt_path(trial, slot) for slot in range(len(seeds)))
    limit_s = trial.config.limits.open_s
    return paths, trial.subject.oracle.ask(Deal(seeds=seeds, inputs=paths, key=key), Dealt, limit_s=limit_s)


def make_ahead(trial: Trial, seeds: tuple[int, ...]) -> None:
    """Have the oracle make input sets that later rounds are dealt."""
    limit_s = trial.config.limits.open_s
    trial.subject.oracle.ask(Deal(seeds=seeds, inputs=()), Dealt, limit_s=limit_s)


def dealt_path(trial: Trial, slot: int) -> Path:
    """The file that says where an input set of the current round lies."""
    return trial.subject.folder / f"dealt-{slot}"


def shown_failure(trial: Trial, call: int, compare: Compare) -> Failed | None:
    """Let the guest show what a timed call returned, and hold it against the reference's answer."""
    limits, loan = trial.config.limits, trial.subject.facts.loan
    room = loan.answer_bytes if loan else ROOM * trial.subject.facts.output_bytes + ROOM_BYTES
    request = Show(call=call, outputs=compare.outputs, max_bytes=room)
    shown = trial.guest.ask(request, (Shown, TooLarge), stage="clock", limit_s=limits.forward_s)
    if isinstance(shown, TooLarge):
        return Wrong(what="structure", message=f"{TIMED}: the output holds {shown.num_bytes} bytes")
    if not isinstance(shown, Shown):
        return shown
    found = trial.subject.oracle.ask(compare, Compared, limit_s=limits.compare_s)
    return _wrong(found, trial.config.clock.timed_times_allowed)


def _plausible(claim: Timed, num_calls: int) -> Implausible | None:
    samples = claim.samples_us
    if len(samples) == num_calls and all(math.isfinite(sample) and sample > 0 for sample in samples):
        return None
    return Implausible(
        message=f"the program's clock gave {len(samples)} times for {num_calls} calls, or one not above 0"
    )


def _wrong(found: Compared, times_allowed: float) -> Wrong | None:
    difference = found.difference
    if difference is None:
        return None
    if difference.what == "values" and found.error <= times_allowed * found.allowed:
        return None
    return Wrong(
        what=difference.what,
        message=f"{TIMED}: {difference.message}",
        error=difference.error,
        allowed=difference.allowed,
    )
