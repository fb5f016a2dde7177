"""Judges for the tests: one store for all, and a sandbox that runs both programs inside the test process."""

import sys
import warnings

import pytest

from warpsmith.core import Candidate, Command, Completed, Ending, Task
from warpsmith.core.codec import from_json, to_json
from warpsmith.device import Device, select_device
from warpsmith.judge import Judge, JudgeConfig
from warpsmith.judge.protocol import GuestCall, GuestReply, OracleCall, OracleReply
from warpsmith.sandbox import pick
from warpsmith.toolchain import Store, Toolchain

SCALED = """
import torch


class Model(torch.nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return torch.relu(x * self.weight)


def get_init_inputs():
    return [33]


def get_inputs():
    return [torch.randn(65, 33)]
"""

KERNEL = """
#include <cuda_runtime.h>
__global__ void kernel(const float* x, const float* weight, float* y, int count, int cols) {
  long long row = (long long)blockIdx.x * cols;
  for (int col = threadIdx.x; col < cols; col += blockDim.x)
    if (row + col < count) y[row + col] = fmaxf(x[row + col] * weight[col], 0.0f);
}
extern "C" int scaled(const float* x, const float* weight, float* y, int count, int cols, cudaStream_t stream)
{
  kernel<<<(count + cols - 1) / cols, 256, 0, stream>>>(x, weight, y, count, cols);
  return (int)cudaGetLastError();
}
__global__ void touch(float* x) { x[0] += 1.0f; }
extern "C" int touched(float* x, cudaStream_t stream) {
  touch<<<1, 1, 0, stream>>>(x);
  return (int)cudaGetLastError();
}
__global__ void stray(float* x) { x[(size_t)1 << 44] = 1.0f; }
extern "C" int strayed(float* x, cudaStream_t stream) {
  stray<<<1, 1, 0, stream>>>(x);
  return (int)cudaGetLastError();
}
"""

MODULE = """
import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(cols))

    def forward(self, x):
        y = torch.empty_like(x)
        cuda_extension.scaled(x, self.weight, y, x.numel(), x.shape[1])
        return y
"""

FORWARD = """        y = torch.empty_like(x)
        cuda_extension.scaled(x, self.weight, y, x.numel(), x.shape[1])
        return y
"""


class InProcessSandbox:
    """Runs the oracle and the guests in the calling process: fast, and for honest programs only."""

    name = "in-process"
    covers = ()
    not_covered = ()
    warning = None

    def start(self, command: Command) -> "InProcessGuest":
        return InProcessGuest(command.argv[-1])


class InProcessGuest:
    """Speaks the same lines as a process would."""

    def __init__(self, module: str) -> None:
        from warpsmith.judge.guest.session import Session as GuestSession
        from warpsmith.judge.oracle.session import Session as OracleSession

        is_oracle = module.endswith("oracle")
        self._session = OracleSession() if is_oracle else GuestSession()
        self._kinds = (OracleCall, OracleReply) if is_oracle else (GuestCall, GuestReply)
        self._before = (list(sys.path), sys.dont_write_bytecode)

    def ask(self, request: bytes, *, limit_s: float, is_timed: bool = False) -> bytes | Completed:
        call = from_json(self._kinds[0], request.decode())
        with warnings.catch_warnings():
            answer = self._session.answer(call.request)
        return to_json(self._kinds[1](nonce=call.nonce, answer=answer)).encode()

    def close(self) -> Completed:
        sys.path[:], sys.dont_write_bytecode = self._before
        for name in ("model_new", "cuda_extension", "reference"):
            sys.modules.pop(name, None)
        return Completed(ending=Ending.EXITED, exit_code=0, stdout="", stderr="", wall_s=0.0)


@pytest.fixture(scope="session")
def device():
    return select_device("cpu")


@pytest.fixture(scope="session")
def sandbox():
    return pick()


@pytest.fixture(scope="session")
def toolchain(device, sandbox, tmp_path_factory):
    return Toolchain(device=device, store=Store(tmp_path_factory.mktemp("store")), runner=sandbox)


@pytest.fixture(scope="session")
def in_process(device, toolchain):
    """A judge of any task's source that starts no process."""

    def judge(source: str, device: Device = device, **task) -> Judge:
        config = JudgeConfig(keep_spare=False)
        subject = Task(task_id="a task", source=source, provenance="tests", **task)
        return Judge(subject, device=device, sandbox=InProcessSandbox(), toolchain=toolchain, config=config)

    return judge


@pytest.fixture(scope="session")
def scaled_judge(in_process):
    with in_process(SCALED) as judge:
        yield judge


@pytest.fixture(scope="session")
def scaled_source():
    return SCALED


@pytest.fixture(scope="session")
def scaled():
    """Makes the correct candidate for SCALED, with another `forward`, module or kernel."""

    def candidate(forward: str = FORWARD, *, module: str = MODULE, kernel: str = KERNEL) -> Candidate:
        return Candidate.of({"model_new.py": module.replace(FORWARD, forward), "kernels/scaled.cu": kernel})

    return candidate
