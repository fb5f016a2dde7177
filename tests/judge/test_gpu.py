"""Measured verdicts on a real GPU, in real processes."""

import pytest

from warpsmith.core import Crashed, Implausible, Passed, Provenance, Rejected, Speed, Task, Wrong
from warpsmith.device import select_device
from warpsmith.judge import Judge, JudgeConfig
from warpsmith.sandbox import pick
from warpsmith.toolchain import Store, Toolchain

pytestmark = pytest.mark.gpu

ROWS, COLS = 1 << 14, 1 << 12  # 256 MiB: five times the L2 cache


@pytest.fixture(scope="module")
def judge(scaled_source, tmp_path_factory):
    device, sandbox = select_device("cuda"), pick()
    store = Store(tmp_path_factory.mktemp("store"))
    source = scaled_source.replace("[33]", f"[{COLS}]").replace("65, 33", f"{ROWS}, {COLS}")
    task = Task(task_id="scaled", source=source, provenance="tests")
    toolchain = Toolchain(device=device, store=store, runner=sandbox)
    with Judge(task, device=device, sandbox=sandbox, toolchain=toolchain, config=JudgeConfig()) as judge:
        yield judge


def test_a_fused_kernel_is_measured_faster_than_eager_and_above_the_floor(judge, scaled):
    verdict = judge.measure(scaled())
    assert isinstance(verdict, Passed), verdict
    timing = verdict.timing
    assert timing.provenance is Provenance.MEASURED
    assert timing.against_eager.speed() is Speed.FASTER
    assert timing.against_eager.low <= timing.against_eager.centre <= timing.against_eager.high
    assert timing.compile is not None
    assert 0.9 < timing.times_floor < 2.0
    assert timing.num_launches == 1
    assert len(timing.candidate.samples_us) == judge.config.clock.rounds


def test_two_measurements_of_one_program_agree_within_five_percent(judge, scaled):
    first, second = (judge.measure(scaled()).timing for _ in range(2))
    assert first.candidate.median_us == pytest.approx(second.candidate.median_us, rel=0.05)
    assert first.against_eager.centre == pytest.approx(second.against_eager.centre, rel=0.05)


@pytest.mark.parametrize(
    ("kind", "forward"),
    [
        (Wrong, "        y = torch.empty_like(x)\n        cuda_extension.touched(y)\n        return y\n"),
        (
            Wrong,
            "        cuda_extension.scaled(x, self.weight, x, x.numel(), x.shape[1])\n        return x\n",
        ),
        (Crashed, "        y = torch.empty_like(x)\n        cuda_extension.strayed(y)\n        return y\n"),
        (Crashed, "        return cuda_extension.scaled(x.cpu())\n"),
        (Rejected, "        return x * self.weight\n"),
    ],
)
def test_a_candidate_that_does_not_do_it_is_told_so(judge, scaled, kind, forward):
    assert isinstance(judge.measure(scaled(forward)), kind)


def test_work_left_out_when_it_is_timed_shows_in_its_time_or_its_outputs(judge, scaled):
    lazy = """        self.calls = getattr(self, "calls", 0) + 1
        y = torch.empty_like(x)
        cuda_extension.scaled(x, self.weight, y, x.numel() if self.calls < 9 else 1, x.shape[1])
        return y
"""
    verdict = judge.measure(scaled(lazy))
    assert isinstance(verdict, Implausible | Wrong), verdict
