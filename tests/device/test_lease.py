import fcntl
import tempfile

from warpsmith.device import GPUS, Device
from warpsmith.device.lease import lease


def gpu_of(uuid):
    return Device(kind="cuda", arch="sm_90a", gpu=GPUS["h200"], name="a GPU", uuid=uuid)


def can_take(path, operation):
    with path.open("ab") as file:
        try:
            fcntl.flock(file, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_many_may_use_a_gpu_but_one_may_time_on_it(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = tmp_path / "warpsmith-GPU-1.lock"
    with lease(gpu_of("GPU-1"), is_exclusive=False):
        assert can_take(path, fcntl.LOCK_SH)
        assert not can_take(path, fcntl.LOCK_EX)
    with lease(gpu_of("GPU-1"), is_exclusive=True), lease(gpu_of("GPU-2"), is_exclusive=True):
        assert not can_take(path, fcntl.LOCK_SH)
    assert can_take(path, fcntl.LOCK_EX)
