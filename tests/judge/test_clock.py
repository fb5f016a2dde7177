"""The clock against guests that bend it: scripted processes in a time of their own, no GPU."""

import functools
import random
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from warpsmith.core import Candidate, Crashed, Implausible, InfraError, Provenance, Speed, Task, Timing, Wrong
from warpsmith.device import GPUS
from warpsmith.device.base import Device
from warpsmith.judge import JudgeConfig
from warpsmith.judge.clock import throttle
from warpsmith.judge.clock.rounds import Rounds, agrees, resolution_us
from warpsmith.judge.config import ClockConfig
from warpsmith.judge.gates import clock
from warpsmith.judge.protocol import (
    CANDIDATE,
    COMPILE,
    TWIN,
    Compare,
    Compared,
    Count,
    Counted,
    Deal,
    Dealt,
    Difference,
    Hello,
    Lend,
    Lent,
    Place,
    Placed,
    Ready,
    Show,
    Shown,
    Time,
    Timed,
    TooLarge,
    Unavailable,
    Warm,
    Warmed,
)
from warpsmith.judge.trial import OpenTask, Trial

FLUSH_US, ASKING_US = 60.0, 200.0
TRUE_US = 100.0
EAGER_US = 200.0


@dataclass
class World:
    """A GPU, its time, and what lies where."""

    noise: random.Random = field(default_factory=lambda: random.Random(7))
    now_s: float = 0.0
    jitter: float = 0.01  # of a call
    speed: float = 1.0  # drifts with the GPU's clock rate
    sets: dict[Path, int] = field(default_factory=dict)  # file -> seed
    key: int | None = None
    shown: dict[Path, int | None] = field(default_factory=dict)  # file -> seed that the answer belongs to

    def batch_us(self, call_us: float, calls: int, flush_us: float = FLUSH_US) -> tuple[float, ...]:
        """Let a batch pass; the true time of each call."""
        samples = tuple(
            call_us * self.speed * (1.0 + self.jitter * abs(self.noise.gauss(0, 1))) for _ in range(calls)
        )
        asking_us = ASKING_US + 20.0 * abs(self.noise.gauss(0, 1))
        self.now_s += 1e-6 * (asking_us + sum(samples) + calls * flush_us)
        return samples


class FakeOracle:
    def __init__(self, world, *, making_s=1e-4, compiles=True, times=None):
        self.world, self.making_s, self.compiles = world, making_s, compiles
        self.times = {"eager": EAGER_US, TWIN: EAGER_US, COMPILE: 0.8 * EAGER_US} | (times or {})
        self.known: set[int] = set()
        self.timed: list[str] = []

    def warm(self, request, *, limit_s):
        if request.program == COMPILE and not self.compiles:
            return Unavailable(reason="no")
        return self.times[request.program] + FLUSH_US

    def ask(self, request, kind, *, limit_s):
        answer = self.answer(request)
        assert isinstance(answer, kind)
        return answer

    def answer(self, request):
        match request:
            case Lend():
                return Lent()
            case Hello():
                return Ready(python="3", torch="2")
            case Deal(seeds=seeds, inputs=paths, key=key):
                new = set(seeds) - self.known
                self.known |= new
                if paths:
                    self.world.sets = dict(zip(paths, seeds, strict=True))
                    self.world.key = key
                return Dealt(making_s=self.making_s * len(new), is_new=False)
            case Time(program=program, calls=calls):
                self.timed.append(program)
                return Timed(samples_us=self.world.batch_us(self.times[program], calls))
            case Compare(outputs=outputs, seed=seed):
                return self.compared(self.world.shown[outputs], seed)

    def compared(self, found, seed):
        is_right = found == seed
        difference = (
            None if is_right else Difference(what="values", message="element 0 is 1, not 2", error=3.0)
        )
        error = 1e-7 if is_right else 3.0
        return Compared(error=error, reference_error=1e-7, allowed=1e-6, difference=difference)


class Honest:
    """A guest that runs each call on its own set and says what it took. Cheats override a part."""

    call_us = TRUE_US

    def __init__(self, world):
        self.world = world
        self.exchange = Path("/exchange")
        self.held: list[int | None] = []
        self.paths: tuple[Path, ...] = ()
        self.key: int | None = None
        self.asking_us = ASKING_US

    def ask(self, request, kind, *, stage, limit_s):
        answer = self.answer(request)
        assert isinstance(answer, (*(kind if isinstance(kind, tuple) else (kind,)), Crashed))
        return answer

    def answer(self, request):
        match request:
            case Place(inputs=paths):
                self.paths = paths
                return Placed()
            case Warm():
                return Warmed(call_us=self.call_us + FLUSH_US)
            case Time(program=program, calls=calls, key=key):
                assert program == CANDIDATE
                self.key = key
                return Timed(samples_us=self.run(calls))
            case Show(call=call, outputs=outputs):
                self.world.shown[outputs] = self.held[call]
                return Shown()
            case Count():
                return Counted(launches=(), num_launches=1)

    def hold(self, calls):
        paths = (self.paths[index % len(self.paths)] for index in range(calls))
        self.held = [self.seen(path) for path in paths]

    def run(self, calls):
        self.hold(calls)
        return self.claim(self.world.batch_us(self.call_us, calls))

    def seen(self, path):
        """The set that lies there, if the guest can see through its veil."""
        return self.world.sets[path] if self.key == self.world.key else None

    def claim(self, samples):
        return samples


class UnderReports(Honest):
    def claim(self, samples):
        return tuple(sample / 2 for sample in samples)


class UnderReportsALittle(Honest):
    def claim(self, samples):
        return tuple(0.85 * sample for sample in samples)


class OverReports(Honest):
    def claim(self, samples):
        return tuple(2 * sample for sample in samples)


class SkipsTheFlush(Honest):
    def run(self, calls):
        self.hold(calls)
        return self.world.batch_us(0.6 * self.call_us, calls, flush_us=0.0)


class WorksOnASideStream(Honest):
    """Its events enclose a launch; the wait for the device sees the work."""

    def claim(self, samples):
        return (2.5,) * len(samples)


class DoesNotWait(Honest):
    """Answers before the work is done, as if the device's wait were patched away."""

    def run(self, calls):
        self.hold(calls)
        return self.world.batch_us(4.0, calls, flush_us=5.0)


class Dawdles(Honest):
    """Takes long over empty requests, so that much is taken off its time."""

    def run(self, calls):
        samples = super().run(calls)
        if not calls:
            self.world.now_s += 5e-3
        return tuple(sample / 2 for sample in samples)


class JoinsOnlyWhenWaitedFor(Honest):
    """Its work runs on beside the next call's flush, unless every call is waited for."""

    def answer(self, request):
        if isinstance(request, Time) and request.calls and not request.waits:
            self.key = request.key
            self.hold(request.calls)
            return Timed(samples_us=self.world.batch_us(2.5, request.calls))
        return super().answer(request)


class IsLongToLaunch(Honest):
    """Its events enclose some launching, but not where the stream is kept busy for longer."""

    def answer(self, request):
        if isinstance(request, Time) and request.calls and not request.waits:
            self.key = request.key
            self.hold(request.calls)
            return Timed(samples_us=self.world.batch_us(2 * self.call_us, request.calls))
        return super().answer(request)


class LeavesOutWork(Honest):
    """Right when it is looked at, empty once it is timed."""

    def run(self, calls):
        samples = super().run(calls)
        self.held = [None] * len(self.held)
        return samples


class Replays(Honest):
    """Keeps the answers of the first round by the address of their inputs."""

    def __init__(self, world):
        super().__init__(world)
        self.kept = None

    def run(self, calls):
        samples = super().run(calls)
        if calls:
            self.kept = self.kept or self.held
            self.held = self.kept
        return samples


class SpoilsLaterCalls(Honest):
    """Only the first of a round's calls is worked out."""

    def run(self, calls):
        samples = super().run(calls)
        self.held = self.held[:1] * len(self.held)
        return samples


class ComputesAhead(Honest):
    """Works the answers out when the inputs are placed, before any clock runs."""

    def answer(self, request):
        answer = super().answer(request)
        if isinstance(request, Place):
            self.early = [self.seen(path) for path in self.paths]
        return answer

    def run(self, calls):
        samples = self.world.batch_us(5.0, calls)
        self.held = self.early
        return samples


def claims(values):
    class Claims(Honest):
        def claim(self, samples):
            return values(samples)

    return Claims


def trial(guest_class, tmp_path, *, oracle=None, world=None, config=None, state=None, text="", **facts):
    world = world or World()
    known = {
        "eager": (),
        "read_bytes": 1 << 20,
        "input_bytes": 1 << 20,
        "written_bytes": 1 << 20,
        "output_bytes": 1 << 20,
        "loan": SimpleNamespace(num_slots=32, answer_bytes=1 << 20),
        "environment": {"flag": "1"},
    }
    gpu = GPUS["h200"]
    subject = OpenTask(
        task=Task(task_id="t", source="", provenance="tests"),
        facts=SimpleNamespace(**(known | facts)),
        oracle=oracle or FakeOracle(world),
        folder=tmp_path,
        num_inputs=5,
        **({} if state is None else {"baselines": state}),
    )
    return Trial(
        candidate=Candidate.of({"model_new.py": text}),
        subject=subject,
        device=Device(kind="cuda", arch="sm_90a", gpu=gpu, name=gpu.name, uuid=None, memory_bytes=141 << 30),
        toolchain=None,
        config=JudgeConfig(clock=config or ClockConfig(num_resamples=500)),
        guest=guest_class(world),
    )


@pytest.fixture
def judged(monkeypatch, tmp_path):
    """Times a guest; the failure, or the timing."""

    def judge(guest_class, seed=3, **options):
        world = options.pop("world", None) or World()
        options.setdefault("oracle", FakeOracle(world))
        one = trial(guest_class, tmp_path, world=world, **options)
        timed = functools.partial(Rounds, now_s=lambda: world.now_s, rng=random.Random(seed))
        monkeypatch.setattr(clock, "Rounds", timed)
        return clock.prepare(one) or clock.check(one) or one

    return judge


def test_an_honest_guest_is_timed_and_both_clocks_are_told(judged):
    timing = judged(Honest).timing
    assert isinstance(timing, Timing)
    assert timing.provenance is Provenance.MEASURED
    assert timing.candidate.median_us == pytest.approx(TRUE_US, rel=0.02)
    assert timing.host_us == pytest.approx(TRUE_US, rel=0.05)
    assert timing.against_eager.centre == pytest.approx(2.0, rel=0.02)
    assert timing.against_compile.centre == pytest.approx(1.6, rel=0.02)
    assert timing.speed is Speed.FASTER
    assert timing.num_verified == ClockConfig().num_verified
    assert timing.num_input_sets == len(timing.candidate.samples_us) * 18  # not one was used twice
    assert timing.null.low < 1.0 < timing.null.high
    assert timing.trouble == ""


def gains(verdict, call_us):
    """What a guest wins by lying: nothing if refused, or if nothing can be said of its speed."""
    if isinstance(verdict, Implausible) or verdict.timing.speed is Speed.CANNOT_TELL:
        return 0.0
    return verdict.timing.against_eager.low / (EAGER_US / call_us) - 1.0


@pytest.mark.parametrize(
    "cheat", [UnderReports, UnderReportsALittle, OverReports, SkipsTheFlush, WorksOnASideStream, Dawdles]
)
def test_a_guest_whose_clock_lies_wins_nothing(judged, cheat):
    assert gains(judged(cheat), TRUE_US) <= 2.0 / TRUE_US  # the host's clock resolves that much of a call


@pytest.mark.parametrize("cheat", [UnderReports, OverReports, SkipsTheFlush, WorksOnASideStream, Dawdles])
def test_two_clocks_that_disagree_are_implausible_and_both_are_told(judged, cheat):
    verdict = judged(cheat)
    assert isinstance(verdict, Implausible)
    assert "the judge's own" in verdict.message


@pytest.mark.parametrize("call_us", [20.0, 80.0, 4e3, 8e4])
@pytest.mark.parametrize("cheat", [UnderReports, WorksOnASideStream])
def test_on_short_and_long_kernels_a_lie_wins_nothing(judged, cheat, call_us):
    verdict = judged(type("Guest", (cheat,), {"call_us": call_us}))
    assert isinstance(verdict, Implausible) or call_us < 50.0
    assert gains(verdict, call_us) <= 2.0 / call_us  # the host's clock resolves that much of a call


@pytest.mark.parametrize("call_us", [5.0, 20.0, 1e3, 2e4])
def test_an_honest_guest_is_believed_at_every_length(judged, call_us):
    guest_class = type("Guest", (Honest,), {"call_us": call_us})
    assert judged(guest_class).timing.host_us == pytest.approx(call_us, rel=0.1, abs=2.0)


@pytest.mark.parametrize("cheat", [LeavesOutWork, Replays, SpoilsLaterCalls, ComputesAhead])
def test_wrong_outputs_of_timed_calls_are_wrong_values(judged, cheat):
    verdict = judged(cheat)
    assert isinstance(verdict, Wrong)
    assert verdict.what == "values"
    assert "seen on a call that was timed" in verdict.message


def test_a_guest_that_does_not_wait_for_the_device_is_found_by_the_missing_flush(judged):
    assert isinstance(judged(DoesNotWait), Implausible | Wrong)


@pytest.mark.parametrize(
    "values",
    [
        lambda samples: samples[1:],
        lambda samples: samples * 2,
        lambda samples: (float("nan"),) * len(samples),
        lambda samples: (float("inf"),) * len(samples),
        lambda samples: (-100.0,) * len(samples),
        lambda samples: (0.0,) * len(samples),
    ],
    ids=["one too few", "twice as many", "nan", "infinite", "negative", "zero"],
)
def test_times_that_are_none_are_implausible(judged, values):
    verdict = judged(claims(values))
    assert isinstance(verdict, Implausible)
    assert "times for 18 calls" in verdict.message


def test_a_program_that_behaves_only_where_calls_are_waited_for_is_implausible(judged):
    assert isinstance(judged(JoinsOnlyWhenWaitedFor), Implausible)


def test_a_program_that_is_long_to_launch_may_claim_less_where_it_is_waited_for(judged):
    assert isinstance(judged(IsLongToLaunch).timing, Timing)


def test_a_claim_is_only_as_good_as_the_hosts_clock_confirms(judged):
    class ClaimsAtTheEdge(Honest):
        """As much less as the two clocks let it, to be faster than a program that is its equal."""

        call_us = EAGER_US

        def claim(self, samples):
            return tuple(0.95 * sample for sample in samples)

    world = World()
    timing = judged(ClaimsAtTheEdge, world=world, oracle=FakeOracle(world, compiles=False)).timing
    assert timing.against_eager.centre > 1.04
    assert timing.speed is Speed.CANNOT_TELL


class LeavesTheStreamIdle(Honest):
    """Waits for the GPU in each call, so that what is around it is not launched ahead."""

    def run(self, calls):
        self.hold(calls)
        return self.world.batch_us(self.call_us, calls, flush_us=FLUSH_US + 30.0)


def test_a_program_that_waits_itself_is_timed_by_the_hosts_clock(judged):
    assert isinstance(judged(LeavesTheStreamIdle), Implausible)
    timing = judged(LeavesTheStreamIdle, text="torch.cuda.synchronize()").timing
    by_host = EAGER_US / timing.host_us
    assert timing.host_us == pytest.approx(TRUE_US + 30.0, rel=0.1)
    assert timing.against_eager.centre == pytest.approx(by_host, rel=0.05)


def test_saying_that_it_waits_wins_a_program_nothing(judged):
    world = World()
    timing = judged(UnderReportsALittle, world=world, text="# synchronize").timing
    assert timing.against_eager.centre == pytest.approx(EAGER_US / TRUE_US, rel=0.05)


def test_a_guest_that_dies_at_the_clock_crashed(judged):
    class Dies(Honest):
        def run(self, calls):
            return ()

        def answer(self, request):
            return Crashed(stage="clock", log="") if isinstance(request, Time) else super().answer(request)

    assert isinstance(judged(Dies), Crashed)


def test_an_output_of_another_size_on_a_timed_call_is_a_wrong_structure(judged):
    class Grows(Honest):
        def answer(self, request):
            return TooLarge(num_bytes=9) if isinstance(request, Show) else super().answer(request)

    assert judged(Grows).what == "structure"


def test_a_few_disturbed_rounds_are_repeated_and_do_not_count(judged):
    class Stumbles(Honest):
        rounds = 0

        def run(self, calls):
            samples = super().run(calls)
            if calls:
                type(self).rounds += 1
                if self.rounds % 5 == 0:
                    self.world.now_s += 5e-3  # another process had the CPU
            return samples

    timing = judged(Stumbles).timing
    assert len(timing.candidate.samples_us) == ClockConfig().rounds
    assert timing.host_us == pytest.approx(TRUE_US, rel=0.05)


def test_times_that_scatter_are_measured_longer_and_then_said_to_tell_nothing(judged):
    class Scatters(Honest):
        def run(self, calls):
            self.call_us = TRUE_US * self.world.noise.uniform(0.3, 3.0)
            return super().run(calls)

    one = judged(Scatters)
    assert one.timing.speed is Speed.CANNOT_TELL
    assert "scatters" in one.timing.trouble
    assert len(one.timing.candidate.samples_us) == ClockConfig().max_rounds
    assert any("could not be told" in text for text in one.advice)


class FakeThrottle:
    def __init__(self, reasons):
        self.reasons = iter(reasons)

    def reason(self):
        return next(self.reasons, None)

    def sm_mhz(self):
        return 1980


def test_rounds_in_which_the_gpu_slows_down_are_repeated(judged, monkeypatch):
    monkeypatch.setattr(clock, "Throttle", lambda uuid: FakeThrottle(["it is too hot"] * 5))
    timing = judged(Honest).timing
    assert len(timing.candidate.samples_us) == ClockConfig().rounds
    assert timing.sm_mhz == (1980,) * ClockConfig().rounds
    assert timing.trouble == ""


def test_a_gpu_that_goes_on_slowing_down_is_told_and_nothing_said_of_the_speed(judged, monkeypatch):
    reasons = [None] * 4 + ["it is too hot"] * 99
    monkeypatch.setattr(clock, "Throttle", lambda uuid: FakeThrottle(reasons))
    timing = judged(Honest).timing
    assert timing.speed is Speed.CANNOT_TELL
    assert "only 4 of 11 rounds count: the GPU slows down: it is too hot" in timing.trouble


def test_a_gpu_that_is_never_fit_to_be_timed_on_is_no_fault_of_the_candidates(judged, monkeypatch):
    monkeypatch.setattr(clock, "Throttle", lambda uuid: FakeThrottle(["it is too hot"] * 99))
    with pytest.raises(InfraError, match="cannot be timed on: the GPU slows down: it is too hot"):
        judged(Honest)


@pytest.mark.parametrize(
    ("bits", "reason"),
    [(0, None), (4, None), (0x20, "it is too hot"), (0x48, "its hardware slows it down")],
    ids=["none", "power cap", "heat", "hardware"],
)
def test_clock_and_reasons_to_slow_down_are_read_from_the_management_library(monkeypatch, bits, reason):
    class Library:
        def nvmlDeviceGetHandleByUUID(self, uuid, handle):  # noqa: N802  (the library's name)
            return 0

        def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle, reasons):  # noqa: N802
            reasons._obj.value = bits
            return 0

        def nvmlDeviceGetClockInfo(self, handle, clock, mhz):  # noqa: N802
            mhz._obj.value = 1755
            return 0 if clock == throttle.SM_CLOCK else 2

    monkeypatch.setattr(throttle, "_library", Library)
    assert throttle.Throttle("GPU-1").reason() == reason
    assert throttle.Throttle("GPU-1").sm_mhz() == 1755
    assert throttle.Throttle(None).reason() is None
    assert throttle.Throttle(None).sm_mhz() is None


def test_a_time_below_that_of_a_launch_is_implausible(judged):
    guest_class = type("Guest", (Honest,), {"call_us": 0.4})
    assert "launch one kernel" in judged(guest_class).message


def test_a_time_below_that_of_moving_inputs_and_outputs_is_implausible(judged):
    assert "bandwidth" in judged(Honest, input_bytes=1 << 30).message


def test_weights_may_be_folded_so_their_bytes_refuse_nothing(judged):
    assert judged(Honest, read_bytes=1 << 30).timing.times_floor < 0.9


def test_a_speed_up_beyond_belief_is_held_for_audit_and_not_refused(judged):
    guest_class = type("Guest", (Honest,), {"call_us": 12.0})
    world = World()
    one = judged(guest_class, world=world, oracle=FakeOracle(world))
    assert one.timing.speed is Speed.FASTER
    assert any("hold for audit" in text for text in one.advice)


def test_an_unchanged_program_cannot_be_told_from_eager(judged):
    guest_class = type("Guest", (Honest,), {"call_us": EAGER_US})
    said = []
    for seed in range(20):
        world = World(noise=random.Random(seed), speed=1.0 + 0.05 * seed)
        oracle = FakeOracle(world, compiles=False)
        said.append(judged(guest_class, seed=seed, world=world, oracle=oracle).timing.speed)
    assert said.count(Speed.CANNOT_TELL) >= 19


# --- input sets ---


def test_sets_that_are_slow_to_make_are_used_again_but_never_those_of_the_warm_up(judged):
    world = World()
    oracle = FakeOracle(world, making_s=0.095)
    one = judged(Honest, world=world, oracle=oracle)
    assert one.timing.num_input_sets == 21
    assert len(oracle.known) == 21 + 2 * ClockConfig().warm_sets


def test_a_second_candidate_uses_the_slow_sets_of_the_first(judged):
    world = World()
    oracle = FakeOracle(world, making_s=0.1)
    first = judged(Honest, world=world, oracle=oracle)
    before = len(oracle.known)
    judged(Honest, world=world, oracle=oracle, state=first.subject.baselines)
    assert len(oracle.known) == before + 2 * ClockConfig().warm_sets


def test_large_sets_make_a_round_short(judged):
    guest_class = type("Guest", (Honest,), {"call_us": 5.0})
    one = judged(guest_class, output_bytes=4 << 30)
    assert one.timing.num_input_sets == 3 * len(one.timing.candidate.samples_us)


# --- baselines ---


def test_baselines_are_measured_once_and_eager_each_time(judged):
    world = World()
    oracle = FakeOracle(world)
    first = judged(Honest, world=world, oracle=oracle)
    assert {TWIN, COMPILE} <= set(oracle.timed)
    oracle.timed.clear()
    second = judged(Honest, world=world, oracle=oracle, state=first.subject.baselines)
    assert not {TWIN, COMPILE} & set(oracle.timed)
    assert second.timing.against_compile.centre == pytest.approx(1.6, rel=0.02)


def test_baselines_are_kept_in_a_folder_for_the_next_process(judged, tmp_path):
    config = ClockConfig(num_resamples=500, cache=tmp_path / "cache")
    judged(Honest, config=config)
    world = World()
    oracle = FakeOracle(world)
    one = judged(Honest, world=world, oracle=oracle, config=config)
    assert COMPILE not in oracle.timed
    assert one.timing.compile.name == COMPILE


@pytest.mark.parametrize("text", ["", "{}", '{"eager": 3}'])
def test_a_broken_file_in_the_cache_is_measured_again(judged, tmp_path, text):
    config = ClockConfig(num_resamples=500, cache=tmp_path / "cache")
    judged(Honest, config=config)
    (kept,) = config.cache.glob("*.json")
    kept.write_text(text)
    world = World()
    oracle = FakeOracle(world)
    judged(Honest, world=world, oracle=oracle, config=config)
    assert COMPILE in oracle.timed


@pytest.mark.parametrize("other", [{"environment": {"flag": "2"}}], ids=["flags"])
def test_other_flags_have_baselines_of_their_own(judged, tmp_path, other):
    config = ClockConfig(num_resamples=500, cache=tmp_path / "cache")
    judged(Honest, config=config)
    judged(Honest, config=config, **other)
    assert len(list(config.cache.glob("*.json"))) == 2


def test_a_baseline_from_which_eager_has_departed_is_measured_again(judged):
    world = World()
    oracle = FakeOracle(world)
    first = judged(Honest, world=world, oracle=oracle)
    oracle.times |= {"eager": 150.0, TWIN: 150.0, COMPILE: 140.0}
    oracle.timed.clear()
    second = judged(Honest, world=world, oracle=oracle, state=first.subject.baselines)
    assert COMPILE in oracle.timed
    assert second.timing.against_compile.centre == pytest.approx(1.4, rel=0.02)


def test_a_reference_that_cannot_be_compiled_is_held_against_eager_alone(judged):
    world = World()
    one = judged(Honest, world=world, oracle=FakeOracle(world, compiles=False))
    assert one.timing.compile is None
    assert one.timing.against_compile is None


# --- what both clocks may be right about ---


@pytest.mark.parametrize(
    ("claim_us", "host_us", "num_calls", "is_right"),
    [
        (5.0, 5.5, 46, True),
        (5.0, 12.0, 46, False),
        (100.0, 85.0, 24, False),
        (5.0, -30.0, 46, False),
        (5e3, 5.1e3, 3, True),
        (5e3, 6e3, 3, False),
        (6e3, 5e3, 3, False),
    ],
)
def test_clocks_agree_within_what_neither_resolves(claim_us, host_us, num_calls, is_right):
    explained_us = resolution_us(num_calls, ClockConfig(), waits=False)
    assert agrees(claim_us, host_us, explained_us, ClockConfig()) is is_right


@pytest.mark.parametrize(
    ("call_us", "calls"), [(1.0, 23), (1e4, 3), (100.0, 20), (1e6, 3), (float("inf"), 3)]
)
def test_a_round_is_neither_too_short_nor_endless(call_us, calls):
    assert clock._num_calls(call_us, ClockConfig()) == calls
