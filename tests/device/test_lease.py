import fcntl
import subprocess
import sys
import tempfile
import time

import pytest

from warpsmith.core import InfraError
from warpsmith.device import GPUS, Device
from warpsmith.device.lease import FileLeases, Held, lease, quarantine, readmit


def gpu_of(uuid):
    return Device(kind="cuda", arch="sm_90a", gpu=GPUS["h200"], name="a GPU", uuid=uuid)


def can_take(path, operation):
    with path.open("ab") as file:
        try:
            fcntl.flock(file, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@pytest.fixture(autouse=True)
def own_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_many_may_use_a_gpu_but_one_may_time_on_it(tmp_path):
    path = tmp_path / "warpsmith-GPU-1.lock"
    with lease(gpu_of("GPU-1"), is_exclusive=False):
        assert can_take(path, fcntl.LOCK_SH)
        assert not can_take(path, fcntl.LOCK_EX)
    with lease(gpu_of("GPU-1"), is_exclusive=True), lease(gpu_of("GPU-2"), is_exclusive=True):
        assert not can_take(path, fcntl.LOCK_SH)
    assert can_take(path, fcntl.LOCK_EX)


HOLDER = """
import sys, time
from warpsmith.device.lease import FileLeases
FileLeases().acquire("GPU-1", is_exclusive=True)
print("held", flush=True)
time.sleep(60)
"""


def test_a_holder_that_was_killed_frees_its_gpu(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        assert not can_take(tmp_path / "warpsmith-GPU-1.lock", fcntl.LOCK_SH)
        holder.kill()
    began = time.monotonic()
    with lease(gpu_of("GPU-1"), is_exclusive=True):
        assert time.monotonic() - began < 5


def test_nobody_gets_a_gpu_in_quarantine_and_everybody_is_told_why():
    quarantine("GPU-1", "a kernel's answer is wrong")
    with pytest.raises(InfraError, match=r"GPU GPU-1 is in quarantine: a kernel's answer is wrong; .*remove"):
        FileLeases().acquire("GPU-1", is_exclusive=False)
    FileLeases().release(FileLeases().acquire("GPU-2", is_exclusive=False))
    readmit("GPU-1")
    FileLeases().release(FileLeases().acquire("GPU-1", is_exclusive=True))


class Cluster:
    """Leases that something else than this machine's kernel hands out."""

    def __init__(self):
        self.log = []

    def acquire(self, uuid, *, is_exclusive):
        self.log.append(f"acquire {uuid}")
        return Held(uuid=uuid, is_exclusive=is_exclusive, token=None)

    def release(self, held):
        self.log.append(f"release {held.uuid}")


def test_leases_of_another_kind_can_stand_behind_it():
    cluster = Cluster()
    with pytest.raises(ZeroDivisionError), lease(gpu_of("GPU-1"), is_exclusive=True, leases=cluster):
        raise ZeroDivisionError
    assert cluster.log == ["acquire GPU-1", "release GPU-1"]
