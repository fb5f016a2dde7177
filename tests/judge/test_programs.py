"""What happens to a guest that has ended."""

import pytest

from warpsmith.core import Command, Completed, Ending
from warpsmith.device import GPUS, Device
from warpsmith.judge import JudgeConfig
from warpsmith.judge.programs import Programs
from warpsmith.judge.protocol import Hello
from warpsmith.judge.scratch import Scratch

ENDED = Completed(ending=Ending.SIGNALLED, exit_code=-11, stdout="", stderr="", wall_s=0.1)
GPU = Device(kind="cuda", arch="sm_90a", gpu=GPUS["h200"], name="a GPU", uuid="GPU-1")


class DeadGuest:
    def ask(self, request, *, limit_s, is_timed=False):
        return ENDED

    def close(self):
        return ENDED


class Morgue:
    """A sandbox whose guests are dead, and which remembers what it was to start."""

    def __init__(self):
        self.commands: list[Command] = []

    def start(self, command):
        self.commands.append(command)
        return DeadGuest()


class Checkup:
    def __init__(self):
        self.num_checks = 0

    def check(self):
        self.num_checks += 1


@pytest.fixture
def programs(tmp_path):
    scratch = Scratch(tmp_path)
    yield Programs(Morgue(), GPU, JudgeConfig(), scratch)
    scratch.close()


@pytest.mark.parametrize("has_been_asked", [False, True])
def test_the_gpu_is_looked_at_after_a_guest_died_on_it(programs, monkeypatch, has_been_asked):
    checkup = Checkup()
    monkeypatch.setattr(programs, "_health", checkup)
    guest = programs.guest()
    if has_been_asked:
        request = Hello()
        guest.ask(request, object, stage="forward", limit_s=1)
    guest.close()
    programs.clear(guest)
    assert checkup.num_checks == has_been_asked
    assert not guest.folder.exists()
