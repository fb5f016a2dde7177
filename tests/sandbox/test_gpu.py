"""CUDA inside every kind of sandbox."""

import sys

import pytest

from warpsmith.core import Command, Limits

PROGRAM = """
import torch
x = torch.arange(1000, device="cuda", dtype=torch.float32)
print(int((x * 2).sum().item()))
"""


@pytest.mark.gpu
def test_cuda_works_inside(sandbox, folder):
    argv = (sys.executable, "-c", PROGRAM)
    completed = sandbox.run(Command(argv=argv, cwd=folder, gpu=True, limits=Limits(wall_s=120)))
    assert completed.stdout == "999000\n", completed.stderr


@pytest.mark.gpu
def test_without_the_gpu_asked_for_bubblewrap_hides_it(sandbox, folder):
    argv = (sys.executable, "-c", "import torch; print(torch.cuda.is_available())")
    completed = sandbox.run(Command(argv=argv, cwd=folder, limits=Limits(wall_s=120)))
    assert completed.stdout == f"{sandbox.name == 'process'}\n", completed.stderr
