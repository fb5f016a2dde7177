"""How long does it take, beside the reference? Measured on a GPU; on the CPU modelled, and labelled so.

Candidate, eager and torch.compile are timed by the same code (`stopwatch`), the first in the guest, the
others in the oracle, one measurement of each a round, in random order. The guest's times are claims: the
host's own clock around each of its measurements must leave room for them, and the floor must lie below them.
A random few of the timed calls' outputs are not verified yet: `Time` is where they would be asked for.
"""

import math
import random
import time
from statistics import median

import numpy as np

from warpsmith.core import (
    Crashed,
    Implausible,
    Precision,
    Provenance,
    Ratio,
    Rejected,
    Series,
    TimedOut,
    Timing,
)
from warpsmith.judge import floor, model
from warpsmith.judge.config import ClockConfig
from warpsmith.judge.gates import forward
from warpsmith.judge.protocol import (
    CANDIDATE,
    COMPILE,
    EAGER,
    Count,
    Counted,
    Time,
    Timed,
    Unavailable,
    Warm,
    Warmed,
)
from warpsmith.judge.statistics import exact_ratio, median_ratio
from warpsmith.judge.trial import Trial

Failed = Crashed | TimedOut | Rejected | Implausible
Medians = dict[str, list[float]]  # program -> its time in each round


def check(trial: Trial) -> Failed | None:
    timing = _measured(trial) if trial.device.kind == "cuda" else _modelled(trial)
    if not isinstance(timing, Timing):
        return timing
    trial.timing = timing
    return _too_fast(trial, timing)


def _too_fast(trial: Trial, timing: Timing) -> Implausible | None:
    certain_us = task_floor(trial).certain_us
    best_us = timing.candidate.median_us
    if best_us >= trial.config.clock.floor_slack * certain_us:
        return None
    return Implausible(
        message=f"{best_us:.3g} us is less than it takes to read the inputs and write the outputs once at "
        f"{trial.device.gpu.name}'s bandwidth ({certain_us:.3g} us)"
    )


def task_floor(trial: Trial) -> floor.Floor:
    """The speed of light for this task on this GPU."""
    facts, task = trial.subject.facts, trial.subject.task
    return floor.floor(
        facts.eager,
        read_bytes=facts.read_bytes,
        written_bytes=facts.written_bytes,
        precision=Precision(task.precision),
        gpu=trial.device.gpu,
    )


def _counted(trial: Trial) -> Counted | Crashed | TimedOut | Rejected:
    limit_s = trial.config.limits.forward_s
    return trial.guest.ask(Count(inputs=forward.lend(trial, 0, 0)), Counted, stage="clock", limit_s=limit_s)


# --- modelled ---


def _modelled(trial: Trial) -> Timing | Failed:
    counted = _counted(trial)
    if not isinstance(counted, Counted):
        return counted
    gpu, facts = trial.device.gpu, trial.subject.facts
    candidate_us = model.program_us(counted.launches, gpu)
    if candidate_us <= 0:
        return Implausible(message="the program launches no kernel, so there is nothing to model")
    eager_us, compile_us = (model.program_us(launches, gpu) for launches in (facts.eager, facts.compiled))
    return Timing(
        provenance=Provenance.MODELLED,
        gpu=gpu.name,
        candidate=Series(name=CANDIDATE, samples_us=(candidate_us,)),
        eager=Series(name=EAGER, samples_us=(eager_us,)),
        compile=Series(name=COMPILE, samples_us=(compile_us,)),
        against_eager=exact_ratio(eager_us, candidate_us),
        against_compile=exact_ratio(compile_us, candidate_us),
        floor_us=task_floor(trial).us,
        num_launches=counted.num_launches,
    )


# --- measured ---


def _measured(trial: Trial) -> Timing | Failed:
    warmed = _warm(trial)
    if not isinstance(warmed, dict):
        return warmed
    rounds = _rounds(trial, {name: _num_calls(us, trial.config.clock) for name, us in warmed.items()})
    if not isinstance(rounds, dict):
        return rounds
    counted = _counted(trial)  # last, so that it disturbs nothing that is timed
    if not isinstance(counted, Counted):
        return counted
    rng = np.random.default_rng()

    def against(baseline: str) -> Ratio:
        return median_ratio(
            rounds[baseline], rounds[CANDIDATE], rng, num_resamples=trial.config.clock.num_resamples
        )

    series = {name: Series(name=name, samples_us=tuple(medians)) for name, medians in rounds.items()}
    return Timing(
        provenance=Provenance.MEASURED,
        gpu=trial.device.name,
        candidate=series[CANDIDATE],
        eager=series[EAGER],
        compile=series.get(COMPILE),
        against_eager=against(EAGER),
        against_compile=against(COMPILE) if COMPILE in series else None,
        floor_us=task_floor(trial).us,
        num_launches=counted.num_launches,
    )


def _warm(trial: Trial) -> dict[str, float] | Failed:
    """Each program's time a call, roughly; without torch.compile where that fails on the reference."""
    clock, limits, oracle = trial.config.clock, trial.config.limits, trial.subject.oracle
    flush_bytes = int(clock.flush_times_l2 * trial.device.gpu.l2_bytes)
    requests = {
        name: Warm(program=name, warm_up_ms=clock.warm_up_ms, flush_bytes=flush_bytes)
        for name in (EAGER, COMPILE, CANDIDATE)
    }
    baselines = {
        EAGER: oracle.warm(requests[EAGER], limit_s=limits.clock_s),
        COMPILE: oracle.warm(requests[COMPILE], limit_s=limits.compile_s),
    }
    candidate = trial.guest.ask(requests[CANDIDATE], Warmed, stage="clock", limit_s=limits.clock_s)
    if not isinstance(candidate, Warmed):
        return candidate
    available = {name: us for name, us in baselines.items() if not isinstance(us, Unavailable)}
    return {CANDIDATE: candidate.call_us} | available


def _num_calls(call_us: float, clock: ClockConfig) -> int:
    wanted = 1e3 * clock.round_ms / max(call_us, 1.0) if math.isfinite(call_us) else clock.min_calls
    return min(max(math.ceil(wanted), clock.min_calls), clock.max_calls)


def _rounds(trial: Trial, num_calls: dict[str, int]) -> Medians | Failed:
    medians: Medians = {name: [] for name in num_calls}
    for _ in range(trial.config.clock.rounds):
        order = list(num_calls)
        random.SystemRandom().shuffle(order)
        for name in order:
            samples = _samples(trial, Time(program=name, calls=num_calls[name]))
            if not isinstance(samples, Timed):
                return samples
            medians[name].append(median(samples.samples_us))
    return medians


def _samples(trial: Trial, request: Time) -> Timed | Failed:
    limit_s = trial.config.limits.clock_s
    if request.program != CANDIDATE:
        return trial.subject.oracle.ask(request, Timed, limit_s=limit_s)
    began = time.monotonic()
    answer = trial.guest.ask(request, Timed, stage="clock", limit_s=limit_s)
    bracket_us = 1e6 * (time.monotonic() - began)
    return _doubted(answer, request.calls, bracket_us) if isinstance(answer, Timed) else answer


def _doubted(claim: Timed, num_calls: int, bracket_us: float) -> Timed | Implausible:
    """The guest's claim, if the host's own clock leaves room for it."""
    samples = claim.samples_us
    if len(samples) != num_calls or not all(math.isfinite(sample) and sample > 0 for sample in samples):
        return Implausible(
            message=f"the program's clock gave {len(samples)} times for {num_calls} calls, or none above 0"
        )
    if sum(samples) > bracket_us:
        return Implausible(
            message=f"the program's clock says {sum(samples):.0f} us for calls that took {bracket_us:.0f} us"
        )
    return claim
