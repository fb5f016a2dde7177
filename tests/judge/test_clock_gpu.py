"""The clock on a real GPU: honest programs, and programs that behave until they are timed."""

import pytest

from warpsmith.core import Crashed, Implausible, Passed, Rejected, Speed, Task, Wrong
from warpsmith.device import select_device
from warpsmith.device.lease import lease
from warpsmith.judge import Judge, JudgeConfig
from warpsmith.judge.gates import clock, load
from warpsmith.judge.trial import Trial
from warpsmith.sandbox import pick
from warpsmith.toolchain import Store, Toolchain

pytestmark = pytest.mark.gpu

SIZES = {"short": (1 << 9, 1 << 9), "medium": (1 << 12, 1 << 12), "long": (1 << 14, 1 << 13)}
HONEST_CALLS = 12  # more than come before the clock's warm-up
START = f"""        self.calls = getattr(self, "calls", 0) + 1
        y = torch.empty_like(x)
        is_timed = self.calls > {HONEST_CALLS}
"""
WORK = "cuda_extension.scaled(x, self.weight, y, x.numel(), x.shape[1])\n"
HALF = WORK.replace("x.numel()", "x.numel() // 2")
CHEATS = {
    "nothing is done": f"        if not is_timed: {WORK}        return y\n",
    "a side stream nobody waits for": f"""        if not is_timed:
            {WORK}            return y
        with torch.cuda.stream(torch.cuda.Stream()):
            {WORK}        return y
""",
    "kept by the address of the input": f"""        kept = self.__dict__.setdefault("kept", {{}})
        if x.data_ptr() in kept: return kept[x.data_ptr()]
        kept[x.data_ptr()] = y
        {WORK}        return y
""",
    "half of it": f"""        if not is_timed: {WORK}        else: {HALF}        return y
""",
    "events that say half": f"""        if self.calls == 1:
            honest = torch.cuda.Event.elapsed_time
            torch.cuda.Event.elapsed_time = lambda start, end: honest(start, end) / 2
        {WORK}        return y
""",
}


@pytest.fixture(scope="module")
def judges(scaled_source, tmp_path_factory):
    device, sandbox = select_device("cuda"), pick()
    toolchain = Toolchain(device=device, store=Store(tmp_path_factory.mktemp("store")), runner=sandbox)
    opened: dict[str, Judge] = {}

    def judge(size):
        if size not in opened:
            rows, cols = SIZES[size]
            source = scaled_source.replace("[33]", f"[{cols}]").replace("65, 33", f"{rows}, {cols}")
            task = Task(task_id=size, source=source, provenance="tests")
            opened[size] = Judge(
                task, device=device, sandbox=sandbox, toolchain=toolchain, config=JudgeConfig()
            ).__enter__()
        return opened[size]

    yield judge
    for one in opened.values():
        one.__exit__(None, None, None)


@pytest.mark.parametrize("size", sorted(SIZES))
def test_both_clocks_agree_on_an_honest_program(judges, scaled, size):
    timing = judges(size).measure(scaled()).timing
    assert timing.trouble == ""
    assert timing.host_us == pytest.approx(timing.candidate.median_us, rel=0.05, abs=3.0)
    assert timing.against_eager.speed() is Speed.FASTER
    assert timing.num_verified >= 3
    assert timing.null.low < 1.0 < timing.null.high
    assert timing.smallest_effect < 0.05


@pytest.mark.parametrize("size", sorted(SIZES))
@pytest.mark.parametrize("cheat", sorted(CHEATS))
def test_a_program_that_cheats_only_when_it_is_timed_is_refused_or_gains_nothing(judges, scaled, cheat, size):
    honest = judges(size).measure(scaled()).timing
    verdict = judges(size).measure(scaled(START + CHEATS[cheat]))
    if isinstance(verdict, Passed) and cheat in ("events that say half", "kept by the address of the input"):
        assert verdict.timing.candidate.median_us > 0.9 * honest.candidate.median_us
    else:
        assert isinstance(verdict, Implausible | Wrong | Crashed | Rejected), verdict


def test_an_unchanged_model_cannot_be_told_from_eager(judges, scaled, scaled_source):
    rows, cols = SIZES["medium"]
    source = scaled_source.replace("[33]", f"[{cols}]").replace("65, 33", f"{rows}, {cols}")
    judge = judges("medium")
    candidate = scaled(module=f"{source}\n\nModelNew = Model\n")
    said = []
    for _ in range(5):
        with judge._guests.lend() as guest, lease(judge.device, is_exclusive=True):
            trial = Trial(
                candidate=candidate,
                subject=judge._subject,
                device=judge.device,
                toolchain=judge._toolchain,
                config=judge.config,
                guest=guest,
                build=judge._toolchain.build(candidate),
            )
            assert load.check(trial) is None
            assert clock.prepare(trial) is None
            assert clock.check(trial) is None
            said.append(trial.timing.against_eager.speed(trial.timing.smallest_effect))
    assert said.count(Speed.CANNOT_TELL) >= 4
