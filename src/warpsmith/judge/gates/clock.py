"""How long does it take, beside the reference? Measured on a GPU; on the CPU modelled, and labelled so.

`prepare` does what need not have the GPU alone: it warms all programs, lets torch.compile compile and makes
input sets. `check` has it alone: it times the candidate beside eager (`rounds`), and the other baselines only
if they are not known from before (`baselines`).
"""

import math
import random
from statistics import median

import numpy as np

from warpsmith.core import (
    Crashed,
    Implausible,
    InfraError,
    Provenance,
    Ratio,
    Rejected,
    Series,
    TimedOut,
    Timing,
    Wrong,
)
from warpsmith.core.codec import to_json
from warpsmith.judge.clock import model
from warpsmith.judge.clock.baselines import Baseline, Pace, baseline_key, driver_version
from warpsmith.judge.clock.rounds import Rounds, deal, make_ahead, secret_key, secret_seed, shown_failure
from warpsmith.judge.clock.statistics import exact_ratio, half_width, median_ratio, product, widened
from warpsmith.judge.clock.throttle import Throttle
from warpsmith.judge.clock.waiting import waits_itself
from warpsmith.judge.config import ClockConfig
from warpsmith.judge.gates import forward
from warpsmith.judge.protocol import (
    CANDIDATE,
    COMPILE,
    EAGER,
    TWIN,
    Compare,
    Count,
    Counted,
    Hello,
    Place,
    Placed,
    Ready,
    Time,
    Timed,
    Unavailable,
    Warm,
    Warmed,
)
from warpsmith.judge.trial import Trial

CONFIRMED = 2  # times the usual rounds, before clocks that disagree are held against a program
LEAST_TRAFFIC = 0.5  # of inputs and outputs: kernels that are given less leave the work to somebody else
MIN_VERIFIED = 3

Failed = Crashed | TimedOut | Rejected | Implausible | Wrong


def prepare(trial: Trial) -> Failed | None:
    """Warm up, choose how much to do, and make what is slow to make. The GPU may be shared meanwhile."""
    if trial.device.kind != "cuda":
        return None
    making_s = _hand_out_warm_sets(trial)
    if not isinstance(making_s, float):
        return making_s
    eager_us = _warm_baselines(trial)
    request = _warm_request(trial, CANDIDATE)
    warmed = trial.guest.ask(request, Warmed, stage="clock", limit_s=trial.config.limits.clock_s)
    if not isinstance(warmed, Warmed):
        return warmed
    trial.pace = _pace(trial, min(eager_us, warmed.call_us), making_s / trial.config.clock.warm_sets)
    return _rehearse(trial, trial.pace.num_calls)


def check(trial: Trial) -> Failed | None:
    timing = _measured(trial) if trial.device.kind == "cuda" else _modelled(trial)
    if not isinstance(timing, Timing):
        return timing
    trial.timing = timing
    if timing.provenance is Provenance.MEASURED:
        _look_closer(trial, timing)
    return _too_fast(trial, timing)


def _look_closer(trial: Trial, timing: Timing) -> None:
    most = trial.config.clock.audit_ratio
    if timing.best_baseline.centre > most:
        trial.advice.append(
            f"hold for audit: {timing.best_baseline.centre:.1f} times as fast as the better baseline; more "
            f"than {most:g} times is rarely true"
        )
    if timing.trouble:
        trial.advice.append(f"the time could not be told: {timing.trouble}")


def _too_fast(trial: Trial, timing: Timing) -> Implausible | None:
    clock, best_us = trial.config.clock, timing.candidate.median_us
    if timing.provenance is Provenance.MEASURED and best_us < clock.launch_floor_us:
        return Implausible(message=f"{best_us:.3g} us is less than it takes to launch one kernel")
    certain_us = trial.subject.floor(trial.device.gpu).certain_us
    if best_us >= clock.floor_slack * certain_us:
        return None
    return Implausible(
        message=f"{best_us:.3g} us is less than it takes to read the inputs and write the outputs once at "
        f"{trial.device.gpu.name}'s bandwidth ({certain_us:.3g} us)"
    )


def _counted(trial: Trial) -> Counted | Crashed | TimedOut | Rejected:
    limit_s = trial.config.limits.forward_s
    return trial.guest.ask(Count(inputs=forward.lend(trial, 0, 0)), Counted, stage="clock", limit_s=limit_s)


# --- modelled ---


def _modelled(trial: Trial) -> Timing | Failed:
    counted = _counted_and_verified(trial)
    if not isinstance(counted, Counted):
        return counted
    gpu, facts = trial.device.gpu, trial.subject.facts
    candidate_us = model.program_us(counted.launches, gpu)
    if candidate_us <= 0:
        return Implausible(message="the program launches no kernel, so there is nothing to model")
    moved = sum(launch.num_bytes for launch in counted.launches)
    needed = facts.input_bytes + facts.written_bytes
    if moved < LEAST_TRAFFIC * needed:
        return Implausible(
            message=f"the program's kernels are given {moved} bytes of tensors; the task's inputs and "
            f"outputs hold {needed}: the work is done where the model cannot count it"
        )
    eager_us, compile_us = (model.program_us(launches, gpu) for launches in (facts.eager, facts.compiled))
    return Timing(
        provenance=Provenance.MODELLED,
        gpu=gpu.name,
        candidate=Series(name=CANDIDATE, samples_us=(candidate_us,)),
        eager=Series(name=EAGER, samples_us=(eager_us,)),
        compile=Series(name=COMPILE, samples_us=(compile_us,)),
        against_eager=exact_ratio(eager_us, candidate_us),
        against_compile=exact_ratio(compile_us, candidate_us),
        floor_us=trial.subject.floor(trial.device.gpu).us,
        num_launches=counted.num_launches,
        num_verified=1,
        num_input_sets=1,
    )


def _counted_and_verified(trial: Trial) -> Counted | Failed:
    """What one call does, on inputs that were never seen; what it returned is compared too."""
    seeds = _secret_seeds(1)
    (dealt,), _ = deal(trial, seeds)
    inputs = trial.guest.exchange / "inputs-counted"
    forward.copy(dealt, inputs)
    request, limit_s = Count(inputs=inputs), trial.config.limits.forward_s
    counted = trial.guest.ask(request, Counted, stage="clock", limit_s=limit_s)
    if not isinstance(counted, Counted):
        return counted
    outputs = trial.guest.exchange / "outputs-counted"
    compare = Compare(outputs=outputs, case=0, inputs=inputs, seed=seeds[0])
    return shown_failure(trial, 0, compare) or counted


# --- measured: before the GPU is ours alone ---


def _hand_out_warm_sets(trial: Trial, key: int | None = None) -> float | Failed:
    """Sets that are never timed, for both processes; the seconds that it took to make them."""
    paths, dealt = deal(trial, _secret_seeds(trial.config.clock.warm_sets), key)
    request = Place(inputs=paths)
    placed = trial.guest.ask(request, Placed, stage="clock", limit_s=trial.config.limits.forward_s)
    return dealt.making_s if isinstance(placed, Placed) else placed


def _secret_seeds(count: int) -> tuple[int, ...]:
    return tuple(secret_seed(random.SystemRandom()) for _ in range(count))


def _rehearse(trial: Trial, num_calls: int) -> Failed | None:
    """One batch of each, as they will be timed, so that all memory has been asked for and all code loaded."""
    limit_s, key = trial.config.limits.clock_s, secret_key() if trial.subject.facts.loan else None
    making_s = _hand_out_warm_sets(trial, key)
    if not isinstance(making_s, float):
        return making_s
    trial.subject.oracle.ask(Time(program=EAGER, calls=num_calls, key=key), Timed, limit_s=limit_s)
    request = Time(program=CANDIDATE, calls=num_calls, key=key)
    timed = trial.guest.ask(request, Timed, stage="clock", limit_s=limit_s)
    return None if isinstance(timed, Timed) else timed


def _warm_request(trial: Trial, program: str) -> Warm:
    clock = trial.config.clock
    flush_bytes = clock.flush_bytes(trial.device.gpu)
    return Warm(program=program, warm_up_ms=clock.warm_up_ms, flush_bytes=flush_bytes)


def _warm_baselines(trial: Trial) -> float:
    """What a call of eager takes, roughly, with its flush. The rest is warmed where it is to be timed."""
    limits, oracle = trial.config.limits, trial.subject.oracle
    eager_us = oracle.warm(_warm_request(trial, EAGER), limit_s=limits.clock_s)
    if trial.subject.baselines.find(_key(trial), trial.config.clock.cache) is None:
        _others(trial)
    assert isinstance(eager_us, float)  # only torch.compile's programs may be unavailable
    return eager_us


def _others(trial: Trial) -> tuple[str, ...]:
    """Eager's copy and the other baselines, warmed; those that work. Fast once they have been compiled."""
    limits, oracle = trial.config.limits, trial.subject.oracle
    names = (TWIN, *trial.config.clock.baselines)
    warmed = {name: oracle.warm(_warm_request(trial, name), limit_s=limits.compile_s) for name in names}
    return tuple(name for name, call_us in warmed.items() if not isinstance(call_us, Unavailable))


def _pace(trial: Trial, call_us: float, set_s: float) -> Pace:
    """How many calls a round makes, and on which sets, if it takes `set_s` to make one."""
    clock = trial.config.clock
    num_calls = min(_num_calls(call_us, clock), _room(trial))
    affordable, num_sets = clock.deal_s / max(set_s, 1e-9), clock.rounds * num_calls
    if affordable >= num_sets:
        fits = num_sets * trial.subject.facts.input_bytes <= clock.ahead_bytes
        ahead = _secret_seeds(num_sets) if fits else ()
        make_ahead(trial, ahead)
        return Pace(num_calls=num_calls, ahead=ahead)
    known = trial.subject.baselines.pool
    if not known:
        known = _secret_seeds(max(int(affordable), clock.min_calls))
        trial.subject.baselines.pool = known
        make_ahead(trial, known)
    return Pace(num_calls=min(num_calls, len(known)), pool=known)


def _num_calls(call_us: float, clock: ClockConfig) -> int:
    wanted = 1e3 * clock.round_ms / (call_us + clock.idle_us) if math.isfinite(call_us) else clock.min_calls
    return min(max(math.ceil(wanted), clock.min_calls), clock.max_calls)


def _room(trial: Trial) -> int:
    """How many input sets and outputs there is room for at a time; never under the least number of calls."""
    facts, clock = trial.subject.facts, trial.config.clock
    slots = facts.loan.num_slots if facts.loan is not None else clock.max_calls
    if trial.device.memory_bytes:
        held = clock.held_share * trial.device.memory_bytes / max(facts.output_bytes, 1)
        slots = min(slots, int(held))
    return max(slots, clock.min_calls)


def _key(trial: Trial) -> str:
    """Of the baselines of this task, here."""
    subject, config = trial.subject, trial.config
    ready = subject.oracle.ask(Hello(), Ready, limit_s=config.limits.start_s)
    return baseline_key(
        {
            "task": subject.task.digest,
            "gpu": trial.device.uuid or trial.device.name,
            "driver": driver_version(),
            "python": ready.python,
            "torch": ready.torch,
            "flags": to_json(subject.facts.environment),
            "programs": " ".join(config.clock.baselines),
            "rounds": f"{config.clock.rounds} {config.clock.round_ms} {config.clock.flush_times_l2}",
        }
    )


# --- measured ---


def _measured(trial: Trial) -> Timing | Failed:
    pace, rng = trial.pace, np.random.default_rng()
    assert pace is not None
    key, cache = _key(trial), trial.config.clock.cache
    baseline = trial.subject.baselines.find(key, cache)
    if baseline is None:
        baseline = _baseline(trial, pace, rng)
        trial.subject.baselines.keep(key, baseline, cache)
    rounds = Rounds(trial, pace, throttle=Throttle(trial.device.uuid))
    failure = _run(rounds, trial.config.clock, rng)
    if failure is not None:
        return failure
    if _drift(baseline, rounds) > trial.config.clock.max_drift:
        baseline = _baseline(trial, pace, rng)
        trial.subject.baselines.keep(key, baseline, cache)
    counted = _counted(trial)  # last, so that it disturbs nothing that is timed
    if not isinstance(counted, Counted):
        return counted
    return _timing(trial, rounds, baseline, counted)


def _run(rounds: Rounds, clock: ClockConfig, rng: np.random.Generator) -> Failed | None:
    """Rounds until they settle it, or are too many."""
    num_rounds = clock.rounds
    while True:
        failure = rounds.run(num_rounds)
        if failure is not None or len(rounds.good) < num_rounds or num_rounds >= clock.max_rounds:
            return failure
        doubt = rounds.disagreement()
        if doubt is not None and num_rounds >= CONFIRMED * clock.rounds:
            return doubt
        is_long_enough = sum(item.total_us for item in rounds.good) >= 1e3 * clock.min_timed_ms
        is_narrow = half_width(_against_eager(rounds, clock, rng)) <= clock.max_width
        if doubt is None and is_long_enough and is_narrow:
            return None
        num_rounds = min(num_rounds + clock.rounds, clock.max_rounds)


def _against_eager(rounds: Rounds, clock: ClockConfig, rng: np.random.Generator) -> Ratio:
    eager, candidate = zip(*((item.eager_us, item.candidate_us) for item in rounds.good), strict=True)
    return median_ratio(eager, candidate, rng, num_resamples=clock.num_resamples)


def _baseline(trial: Trial, pace: Pace, rng: np.random.Generator) -> Baseline:
    """Eager, its copy and the other baselines in rounds of their own, in the oracle alone: all is trusted."""
    oracle, clock = trial.subject.oracle, trial.config.clock
    deal(trial, (pace.pool or pace.ahead or _secret_seeds(pace.num_calls))[: pace.num_calls], secret_key())
    times: dict[str, list[float]] = {name: [] for name in (EAGER, *_others(trial))}
    for number in range(-1, clock.rounds):  # the first round is a rehearsal
        order = list(times)
        random.SystemRandom().shuffle(order)
        for name in order:
            request = Time(program=name, calls=pace.num_calls)
            timed = oracle.ask(request, Timed, limit_s=trial.config.limits.clock_s)
            if number >= 0:
                times[name].append(median(timed.samples_us))

    def against(name: str, other: str) -> Ratio:
        return median_ratio(times[name], times[other], rng, num_resamples=clock.num_resamples)

    best = min(
        (name for name in times if name not in (EAGER, TWIN)),
        key=lambda name: median(times[name]),
        default=None,
    )
    return Baseline(
        eager=Series(name=EAGER, samples_us=tuple(times[EAGER])),
        null=widened(against(EAGER, TWIN), clock.process_effect),
        best=None if best is None else Series(name=best, samples_us=tuple(times[best])),
        best_over_eager=None if best is None else against(best, EAGER),
    )


def _drift(baseline: Baseline, rounds: Rounds) -> float:
    """How far eager is from what it was when the baselines were measured."""
    if not rounds.good:
        return 0.0
    return abs(median(item.eager_us for item in rounds.good) / baseline.eager.median_us - 1.0)


def _timing(trial: Trial, rounds: Rounds, baseline: Baseline, counted: Counted) -> Timing:
    clock, good, rng = trial.config.clock, rounds.good, np.random.default_rng()
    if not good:
        raise InfraError(f"{trial.device.name} cannot be timed on: {rounds.bad[-1].trouble}; try again later")
    by_events = _against_eager(rounds, clock, rng)
    against_eager, over_eager = _confirmed(by_events, rounds, trial), baseline.best_over_eager
    return Timing(
        provenance=Provenance.MEASURED,
        gpu=trial.device.name,
        candidate=Series(name=CANDIDATE, samples_us=tuple(item.candidate_us for item in good)),
        eager=Series(name=EAGER, samples_us=tuple(item.eager_us for item in good)),
        compile=baseline.best,
        against_eager=against_eager,
        against_compile=None if over_eager is None else product(over_eager, against_eager),
        floor_us=trial.subject.floor(trial.device.gpu).us,
        num_launches=counted.num_launches,
        null=baseline.null,
        host_us=median(item.host_us for item in good if not item.waits),
        num_verified=rounds.num_verified,
        num_input_sets=rounds.num_input_sets,
        sm_mhz=tuple(item.sm_mhz for item in good if item.sm_mhz is not None),
        trouble=_trouble(rounds, by_events, clock),
    )


def _confirmed(by_events: Ratio, rounds: Rounds, trial: Trial) -> Ratio:
    """The ratio with an interval that reaches down to what the host's own clock allows for the candidate.

    So a guest gains nothing by claiming as little as the two clocks' agreement lets it. Of a program that
    waits itself the agreement asks little, so there the centre is the host's too.
    """
    free = [item for item in rounds.good if not item.waits] or rounds.good
    claim_us, host_us = (
        median(item.claim_us for item in free),
        median(item.host_us for item in free) - trial.config.clock.confirm_us,
    )
    low = by_events.centre * claim_us / max(claim_us, host_us)
    centre = low if waits_itself(trial.candidate) else by_events.centre
    return Ratio(centre=centre, low=min(by_events.low, low), high=by_events.high)


def _trouble(rounds: Rounds, ratio: Ratio, clock: ClockConfig) -> str:
    """Why nothing can be said of the speed, if so."""
    if len(rounds.good) < clock.rounds:
        return f"only {len(rounds.good)} of {clock.rounds} rounds count: {rounds.bad[-1].trouble}"
    if half_width(ratio) > clock.max_width:
        return f"after {len(rounds.good)} rounds the ratio still scatters by {half_width(ratio):.0%}"
    if rounds.num_verified < min(MIN_VERIFIED, clock.num_verified):
        return f"only {rounds.num_verified} outputs of timed calls could be verified"
    return ""
