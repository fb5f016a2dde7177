"""The clock's part in oracle and guest, on the CPU: its events are fakes, all else is real."""

import functools
import time
from dataclasses import replace

import pytest
import torch

from warpsmith.core import Provenance, Timing, Wrong
from warpsmith.judge.clock import stopwatch
from warpsmith.judge.clock.stopwatch import Stopwatch
from warpsmith.judge.config import ClockConfig
from warpsmith.judge.gates import clock, load
from warpsmith.judge.guest import launches
from warpsmith.judge.guest.timing import Timing as GuestTiming
from warpsmith.judge.oracle.reference import Reference
from warpsmith.judge.oracle.session import Session
from warpsmith.judge.oracle.timing import Timing as OracleTiming
from warpsmith.judge.protocol import (
    COMPILE,
    EAGER,
    TWIN,
    Compare,
    Compared,
    Deal,
    Dealt,
    Place,
    Show,
    Shown,
    Time,
    TooLarge,
    Unavailable,
    Warm,
    Warmed,
)
from warpsmith.judge.tensorfile import TensorFile, write
from warpsmith.judge.trial import Trial


class FakeEvent:
    def __init__(self, *, enable_timing):
        self.at_s = 0.0

    def record(self, stream):
        self.at_s = time.perf_counter()

    def elapsed_ms(self, end):
        return 1e3 * (end.at_s - self.at_s)


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    """The stopwatch without a GPU; what it did, in order."""
    done: list[str] = []
    monkeypatch.setattr(stopwatch, "_Event", FakeEvent)
    monkeypatch.setattr(stopwatch, "_record", FakeEvent.record)
    monkeypatch.setattr(stopwatch, "_elapsed_ms", FakeEvent.elapsed_ms)
    monkeypatch.setattr(stopwatch, "_current_stream", lambda: None)
    monkeypatch.setattr(stopwatch, "_wait", lambda: done.append("wait"))
    monkeypatch.setattr(Stopwatch, "__init__", functools.partialmethod(Stopwatch.__init__, device="cpu"))
    return done


@pytest.mark.parametrize(
    ("waits", "order"),
    [(False, ["wait", *["call"] * 4, "wait"]), (True, ["wait", *["call", "wait"] * 4, "wait"])],
    ids=["at the end", "after each"],
)
def test_each_call_gets_its_own_set_whole_and_is_waited_for(on_the_cpu, waits, order):
    sets = [[torch.full((8, 9), float(index)), torch.arange(3)] for index in range(4)]
    seen = []

    def call(inputs):
        seen.append([tensor.clone() for tensor in inputs])
        on_the_cpu.append("call")
        return inputs[0] + 1

    samples_us, outputs = Stopwatch(64).run(call, sets, 4, waits=waits)
    assert all(torch.equal(one[0], two[0]) for one, two in zip(seen, sets, strict=True))
    assert [float(output[0, 0]) for output in outputs] == [1.0, 2.0, 3.0, 4.0]
    assert on_the_cpu == order
    assert all(sample > 0 for sample in samples_us)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(70, 3).t(),
        torch.randn(1, 5).expand(9, 5),
        torch.randn(6, 6)[1:3, 2:],
        torch.arange(300),
        torch.randn(()),
        torch.zeros(0),
        torch.randn(5, dtype=torch.complex64),
        torch.randn(40).bfloat16(),
        torch.ones(9, dtype=torch.bool),
    ],
    ids=["transposed", "expanded", "sliced", "integers", "scalar", "empty", "complex", "bfloat16", "bool"],
)
def test_what_is_hidden_is_put_back_to_the_bit(tensor):
    before = tensor.clone()
    late = stopwatch._Late([[tensor, 3, None]])
    late.hide(0)
    if tensor.is_floating_point() and tensor.numel():
        assert torch.isnan(tensor).any()
    late.put_back(0)
    assert torch.equal(tensor, before)


def test_inputs_without_tensors_can_be_timed():
    samples_us, outputs = Stopwatch(4).run(lambda inputs: inputs[0], [[3]], 2)
    assert outputs == [3, 3]
    assert len(samples_us) == 2


def test_an_empty_request_only_wakes_the_device(on_the_cpu):
    assert Stopwatch(4).run(lambda inputs: inputs, [[torch.ones(3)]], 0) == ([], [])
    assert set(on_the_cpu) == {"wait"}


# --- oracle ---


@pytest.fixture
def reference(tmp_path, scaled_source):
    source = tmp_path / "reference.py"
    source.write_text(scaled_source)
    return Reference(source, "cpu", 1)


def paths(folder, count):
    return tuple(folder / f"dealt-{slot}" for slot in range(count))


def read(path):
    with TensorFile(path) as file:
        return file.map_private()


def file_of(path, inputs, slot):
    path.unlink(missing_ok=True)
    write(path, inputs)


def test_sets_come_from_their_seeds_and_are_made_once(reference, tmp_path):
    timing = OracleTiming(reference, file_of)
    assert timing.deal(Deal(seeds=(1, 2, 1), inputs=paths(tmp_path, 3))).making_s > 0
    first, second, third = map(read, paths(tmp_path, 3))
    assert torch.equal(first[0], third[0])
    assert not torch.equal(first[0], second[0])
    kept = dict(timing._kept)
    timing.deal(Deal(seeds=(2, 1), inputs=paths(tmp_path, 2)))
    assert all(timing._kept[seed] is inputs for seed, inputs in kept.items())
    assert torch.equal(read(paths(tmp_path, 1)[0])[0], second[0])


def test_lent_memory_shows_no_input_before_its_call(reference, tmp_path):
    memory = [[torch.full((65, 33), float("nan"))] for _ in range(2)]
    timing = OracleTiming(reference, lambda path, inputs, slot: memory[slot])
    for seeds, key in (((1, 2), 7), ((3, 4), 8)):
        dealt = timing.deal(Deal(seeds=seeds, inputs=paths(tmp_path, 2), key=key))
        assert dealt.is_new is (seeds == (1, 2))  # the second time all lies where it lay
        wanted = [reference.inputs(seed)[0] for seed in seeds]
        assert all(
            (shared == one).float().mean() < 0.01 for (shared,), one in zip(memory, wanted, strict=True)
        )
        _, seen = Stopwatch(64).run(lambda inputs: inputs[0].clone(), memory, 2, key=key)
        assert all(torch.equal(one, other) for one, other in zip(seen, wanted, strict=True))


def test_a_set_without_a_key_lies_open(reference, tmp_path):
    memory = [torch.full((65, 33), float("nan"))]
    OracleTiming(reference, lambda path, inputs, slot: memory).deal(
        Deal(seeds=(1,), inputs=paths(tmp_path, 1))
    )
    assert torch.equal(memory[0], reference.inputs(1)[0])


def test_pretending_to_unveil_changes_nothing(reference):
    inputs = reference.inputs(1)
    _, seen = Stopwatch(64, pretends=True).run(lambda given: given[0].clone(), [inputs], 1, key=5)
    assert torch.equal(seen[0], reference.inputs(1)[0])


def test_sets_can_be_made_ahead_without_being_dealt(reference, tmp_path):
    timing = OracleTiming(reference, file_of)
    timing.deal(Deal(seeds=(1,), inputs=paths(tmp_path, 1)))
    timing.deal(Deal(seeds=(2, 3), inputs=()))
    assert set(timing._kept) == {1, 2, 3}
    assert len(timing._sets) == 1


@pytest.mark.parametrize("program", [EAGER, TWIN])
def test_every_baseline_is_warmed_and_timed(reference, tmp_path, program):
    timing = OracleTiming(reference, file_of)
    timing.deal(Deal(seeds=(1, 2), inputs=paths(tmp_path, 2)))
    with torch.no_grad():
        assert isinstance(timing.warm(Warm(program=program, warm_up_ms=0.1, flush_bytes=64)), Warmed)
        assert len(timing.time(Time(program=program, calls=3)).samples_us) == 3


def test_a_reference_that_cannot_be_compiled_is_told(reference, tmp_path, monkeypatch):
    def refuse(model, *, mode):
        def call(*inputs):
            raise RuntimeError("graph break")

        module = torch.nn.Module()
        module.forward = call
        return module

    monkeypatch.setattr(torch, "compile", refuse)
    timing = OracleTiming(reference, file_of)
    timing.deal(Deal(seeds=(1,), inputs=paths(tmp_path, 1)))
    answer = timing.warm(Warm(program=COMPILE, warm_up_ms=0.1, flush_bytes=64))
    assert isinstance(answer, Unavailable)
    assert "graph break" in answer.reason


def test_sets_beyond_what_is_kept_are_made_again(reference, tmp_path, monkeypatch):
    monkeypatch.setattr("warpsmith.judge.oracle.timing.KEPT_BYTES", 2 * 65 * 33 * 4)
    timing = OracleTiming(reference, file_of)
    for seed in range(5):
        timing.deal(Deal(seeds=(seed,), inputs=paths(tmp_path, 1)))
    assert len(timing._kept) == 2
    assert torch.equal(timing.inputs(0)[0], reference.inputs(0)[0])


# --- guest, and both ends ---


def guest_timing(put=write):
    return GuestTiming(lambda path: list(read(path)), put)


def test_what_a_timed_call_returned_is_shown_as_it_is_then(reference, tmp_path):
    oracle, guest = OracleTiming(reference, file_of), guest_timing()
    oracle.deal(Deal(seeds=(1, 2, 3), inputs=paths(tmp_path, 3)))
    guest.place(Place(inputs=paths(tmp_path, 3)))
    with torch.no_grad():
        guest.warm(Warm(program="candidate", warm_up_ms=0.1, flush_bytes=64), lambda inputs: inputs[0])
        buffer = torch.empty(65, 33)
        timed = guest.time(Time(program="candidate", calls=3), lambda inputs: buffer.copy_(inputs[0]))
    assert len(timed.samples_us) == 3
    shown = guest.show(Show(call=0, outputs=tmp_path / "out", max_bytes=1 << 20))
    assert isinstance(shown, Shown)
    assert torch.equal(read(tmp_path / "out"), reference.inputs(3)[0])  # one buffer for all calls shows
    assert isinstance(guest.show(Show(call=1, outputs=tmp_path / "out", max_bytes=4)), TooLarge)


def test_a_set_that_was_dealt_can_be_compared_with(in_process, scaled_source, tmp_path):
    with in_process(scaled_source) as judge:
        oracle = judge._subject.oracle
        oracle.ask(Deal(seeds=(11, 12), inputs=paths(tmp_path, 2)), Dealt, limit_s=9)
        given = [read(path)[0] for path in paths(tmp_path, 2)]
        with TensorFile(judge._subject.weights) as file:
            weight = file.map_private()["weight"]
        write(tmp_path / "out", torch.relu(given[1] * weight))
        compare = functools.partial(Compare, outputs=tmp_path / "out", case=0, inputs=None)
        assert oracle.ask(compare(seed=12), Compared, limit_s=9).difference is None
        assert oracle.ask(compare(seed=11), Compared, limit_s=9).difference.what == "values"
        assert oracle.ask(compare(seed=None), Compared, limit_s=9).difference.what == "values"


@pytest.fixture
def timed(in_process, scaled_source, monkeypatch):
    """A candidate through load and clock, as on a GPU; both processes are this one, and events are fakes."""

    def run(candidate):
        with in_process(scaled_source) as judge, judge._guests.lend() as guest:
            clock_config = ClockConfig(
                flush_times_l2=1e-6,
                agree_us=1e5,
                agree_waits_us=1e5,
                max_width=9.0,
                rounds=4,
                max_calls=8,
                min_timed_ms=0.0,
                baselines=(),
                launch_floor_us=0.0,
            )
            trial = Trial(
                candidate=candidate,
                subject=judge._subject,
                device=judge.device,
                toolchain=judge._toolchain,
                config=replace(judge.config, clock=clock_config),
                guest=guest,
                build=judge._toolchain.build(candidate),
            )
            assert load.check(trial) is None
            trial.device = replace(judge.device, kind="cuda")
            monkeypatch.setattr("warpsmith.judge.guest.launches.on_cuda", launches.on_cpu)
            return clock.prepare(trial) or clock.check(trial) or trial.timing

    return run


def test_the_clock_runs_through_both_sessions(timed, scaled):
    timing = timed(scaled())
    assert isinstance(timing, Timing), timing
    assert timing.provenance is Provenance.MEASURED
    assert timing.num_verified == ClockConfig().num_verified
    assert timing.num_input_sets >= 4 * ClockConfig().min_calls
    assert timing.null is not None


@pytest.mark.parametrize(
    "lazy",
    [
        "        if len(KEPT) > 9: return y\n",
        "        if len(KEPT) > 9: return next(iter(KEPT.values()))\n",
    ],
    ids=["empty once it is timed", "an old answer"],
)
def test_work_that_is_left_out_once_it_is_timed_shows_in_what_was_returned(timed, scaled, lazy):
    forward = f"""        y = torch.empty_like(x)
{lazy}        cuda_extension.scaled(x, self.weight, y, x.numel(), x.shape[1])
        KEPT[len(KEPT)] = y
        return y
"""
    module = scaled(forward).text("model_new.py")
    assert "KEPT" in module
    verdict = timed(scaled(module=module.replace("class ModelNew", "KEPT = {}\n\n\nclass ModelNew")))
    assert isinstance(verdict, Wrong), verdict
    assert verdict.what == "values"


def test_both_sessions_answer_every_request_of_the_clock():
    assert {Deal, Warm, Time} <= set(Session()._answers)
