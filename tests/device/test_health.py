import json
import subprocess
import sys
import tempfile

import pytest

from warpsmith.core import InfraError
from warpsmith.device import GPUS, Device, NoGpu, find_gpus, health, probe, select_device
from warpsmith.device.health import Health, ProcessProbe, Sick, Sound
from warpsmith.device.lease import lease

GIB = 1 << 30
GPU = Device(kind="cuda", arch="sm_90a", gpu=GPUS["h200"], name="a GPU", uuid="GPU-1")


class Scripted:
    """A probe that finds what it was told to find; the last of it for ever."""

    def __init__(self, *findings):
        self._findings = list(findings)
        self.num_looks = 0

    def look(self, uuid):
        assert uuid == "GPU-1"
        self.num_looks += 1
        return self._findings.pop(0) if len(self._findings) > 1 else self._findings[0]


@pytest.fixture(autouse=True)
def own_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def slept():
    return []


def test_a_gpu_that_answers_right_stays_in_use(slept):
    assert Health(GPU, Scripted(Sound(free_bytes=GIB)), slept.append).check() == Sound(free_bytes=GIB)
    with lease(GPU, is_exclusive=True):
        pass


def test_a_gpu_that_answers_wrong_is_given_to_nobody_until_it_answers_right(slept):
    probe = Scripted(Sick(reason="wrong"), Sound(free_bytes=GIB))
    assert Health(GPU, probe, slept.append).check() == Sick(reason="wrong")
    with pytest.raises(InfraError, match="GPU-1 is in quarantine: wrong"), lease(GPU, is_exclusive=False):
        pass
    Health(GPU, probe, slept.append).check()
    with lease(GPU, is_exclusive=False):
        pass


def test_memory_of_the_dead_is_waited_for(slept):
    probe = Scripted(Sound(free_bytes=1 * GIB), Sound(free_bytes=3 * GIB), Sound(free_bytes=8 * GIB))
    assert isinstance(Health(GPU, probe, slept.append).check(expected_free_bytes=8 * GIB), Sound)
    assert probe.num_looks == 3


def test_memory_that_never_comes_back_is_a_sickness(slept):
    found = Health(GPU, Scripted(Sound(free_bytes=GIB)), slept.append).check(expected_free_bytes=8 * GIB)
    assert found == Sick(reason="7168 MiB that a dead program used do not become free")
    assert sum(slept) == health.WAIT_S


def test_the_cpu_device_is_always_well():
    assert Health(select_device("cpu"), Scripted(Sick(reason="never asked"))).check() is None


def test_a_machine_without_a_driver_is_reported_and_not_a_crash():
    if not isinstance(find_gpus(), NoGpu):
        pytest.skip("there is a GPU")
    found = ProcessProbe().look("GPU-1")
    assert isinstance(found, Sick)
    assert "driver" in found.reason


def test_a_probe_that_hangs_is_a_sickness(monkeypatch, tmp_path):
    slow = tmp_path / "probe.py"
    slow.write_text("import time; time.sleep(60)")
    monkeypatch.setattr(health, "PROBE_S", 0.5)
    monkeypatch.setattr(health, "PROGRAM", slow)
    assert "does not end within 0.5 s" in ProcessProbe().look("GPU-1").reason


class Memory:
    """A driver whose memory holds what was written, or not."""

    def __init__(self, flaw=None):
        self.flaw = flaw
        self.values = []

    def status(self, function, *arguments):
        return 221  # no JIT compiler

    def call(self, function, *arguments):
        if function == "cuMemsetD32_v2":
            self.values = [arguments[1].value] * arguments[2].value
        if function == "cuMemcpyDtoH_v2":
            arguments[0][:] = self.values
            if self.flaw is not None:
                arguments[0][self.flaw] ^= 1


def test_one_flipped_bit_is_seen():
    assert probe.examine(Memory()) == (0, 0)
    with pytest.raises(probe.Problem, match="wrong in 1 of 65536 places"):
        probe.examine(Memory(flaw=77))


@pytest.mark.gpu
def test_the_gpu_of_this_machine_is_sound():
    gpu = find_gpus()[0]
    found = ProcessProbe().look(gpu.uuid)
    assert isinstance(found, Sound), found
    assert 0 < found.free_bytes <= gpu.memory_bytes


@pytest.mark.gpu
def test_the_kernel_of_the_probe_is_compiled_and_answers():
    source = f"""
import json, sys
sys.path.insert(0, {str(health.PROGRAM.parent)!r})
import probe
run, ran = probe._run_kernel, []
probe._run_kernel = lambda *arguments: ran.append(run(*arguments)) or ran[-1]
probe.examine(probe.Driver())
print(json.dumps(ran))
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert json.loads(done.stdout) == [True], done.stderr
