"""What one full verdict costs: this judge, CUDA Agent's scripts and KernelBench's evaluator, side by side.

    python -m benchmarks.judge_cost --cuda-agent CHECKOUT [--kernelbench CHECKOUT] [--rounds R] [--json FILE]

Needs a GPU, and checkouts with work trees: BytedTsinghua-SIA/CUDA-Agent and ScalingIntelligence/KernelBench.
All judge the same kernel, axpby: here as launchers and as a workspace with bindings, there as that
workspace and as a single file. Each build is a fresh one (the sources carry the time); what was started for
all rounds (this judge with its reference, and torch's headers) is told apart.
"""

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warpsmith.core import Candidate
from warpsmith.device import select_device
from warpsmith.judge import Judge
from warpsmith.report.verdicts import verdict_text
from warpsmith.sandbox import pick
from warpsmith.tasks import load_task
from warpsmith.toolchain import Toolchain, default_store

WORKSPACE = "agent_workdir"
SCRIPTS = (("compile", ()), ("verification", ()), ("profiling", ()))
LAUNCHER = """#include <cuda_runtime.h>
__global__ void axpby_kernel(const float* a, const float* b, float* out, float alpha, int size) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x)
    out[i] = alpha * a[i] + b[i];
}
extern "C" int axpby(const float* a, const float* b, float* out, float alpha, int size, cudaStream_t stream) {
  axpby_kernel<<<(size + 255) / 256, 256, 0, stream>>>(a, b, out, alpha, size);
  return (int)cudaGetLastError();
}
"""
MODULE = """import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, a, b):
        out = torch.empty_like(a)
        cuda_extension.axpby(a, b, out, self.alpha, a.numel())
        return out
"""
SINGLE = '''import torch
from torch.utils.cpp_extension import load_inline

source = """%s
torch::Tensor axpby_forward(torch::Tensor a, torch::Tensor b, double alpha) {
  auto out = torch::empty_like(a);
  axpby(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), alpha, a.numel(), nullptr);
  return out;
}
"""
own = load_inline("axpby_%d", "torch::Tensor axpby_forward(torch::Tensor a, torch::Tensor b, double alpha);",
                  source, functions=["axpby_forward"])


class ModelNew(torch.nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, a, b):
        return own.axpby_forward(a, b, self.alpha)
'''
EVALUATE = """import sys, torch
sys.path.insert(0, sys.argv[1] + "/src")
from kernelbench.eval import eval_kernel_against_ref
reference, answer = (open(path).read() for path in sys.argv[2:4])
print(eval_kernel_against_ref(reference, answer, num_correct_trials=5, num_perf_trials=100,
                              measure_performance=True, build_dir=sys.argv[4], device=torch.device("cuda:0")))
"""


def timed(run: Callable[..., str], *arguments: object) -> dict[str, Any]:
    """Wall seconds, and what came of it."""
    began = time.perf_counter()
    said = run(*arguments)
    return {"wall_s": time.perf_counter() - began, "outcome": said}


def command(argv: list[str], cwd: Path, log: Path) -> str:
    arch = {"TORCH_CUDA_ARCH_LIST": os.environ.get("TORCH_CUDA_ARCH_LIST", "9.0")}
    done = subprocess.run(
        argv, cwd=cwd, env={**os.environ, **arch}, capture_output=True, text=True, check=False
    )
    with log.open("a") as file:
        file.write(f"$ {' '.join(argv)}\n{done.stdout}{done.stderr}\n")
    return "ok" if done.returncode == 0 else f"exit code {done.returncode}, see {log}"


def workspace_files(workspace: Path, mark: str) -> dict[str, str]:
    """The shipped example's program, its kernel a new one in each round."""
    names = ("model_new.py", "kernels/axpby.cu", "kernels/axpby_binding.cpp")
    files = {name: (workspace / name).read_text() for name in names}
    files["kernels/axpby.cu"] += mark
    files["kernels/axpby_binding.cpp"] += mark
    return files


def ours(judge: Judge, files: dict[str, str]) -> str:
    return verdict_text(judge.measure(Candidate.of(files)))


def cuda_agents(workspace: Path, files: dict[str, str], log: Path) -> dict[str, Any]:
    """Its three scripts, one after the other, each in a process of its own as it runs them."""
    for name, text in files.items():
        (workspace / name).write_text(text)
    parts = {
        name: timed(command, [sys.executable, "-m", f"utils.{name}", *extra], workspace, log)
        for name, extra in SCRIPTS
    }
    return {"wall_s": sum(one["wall_s"] for one in parts.values()), "parts": parts}


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    device = select_device("cuda")
    sandbox = pick()
    workspace = folder / "workspace"
    shutil.copytree(arguments.cuda_agent / WORKSPACE, workspace)
    log = Path(arguments.log)
    toolchain = Toolchain(device, default_store(), sandbox)
    reference = workspace / "model.py"
    task = load_task(str(reference), device_kind="cuda")
    rows: dict[str, list[dict[str, Any]]] = {}
    began = time.perf_counter()
    with Judge(task, device=device, sandbox=sandbox, toolchain=toolchain) as judge:
        first = {"model_new.py": MODULE, "kernels/axpby.cu": f"{LAUNCHER}\n// {time.time_ns()}\n"}
        first_said = ours(judge, first)
        opening_s = time.perf_counter() - began
        for number in range(arguments.rounds):
            mark = f"\n// {time.time_ns()} {number}\n"
            bound = workspace_files(arguments.cuda_agent / WORKSPACE, mark)
            launched = {"model_new.py": MODULE, "kernels/axpby.cu": LAUNCHER + mark}
            rows.setdefault("ours, launchers", []).append(timed(ours, judge, launched))
            rows.setdefault("ours, bindings", []).append(timed(ours, judge, bound))
            rows.setdefault("ours, bindings, built before", []).append(timed(ours, judge, bound))
            rows.setdefault("CUDA Agent", []).append(cuda_agents(workspace, bound, log))
            if arguments.kernelbench:
                answer, build = folder / "answer.py", folder / f"build-{number}"
                answer.write_text(SINGLE % (LAUNCHER + mark, number))
                argv = [
                    sys.executable,
                    "-c",
                    EVALUATE,
                    *map(str, (arguments.kernelbench, reference, answer, build)),
                ]
                rows.setdefault("KernelBench", []).append(timed(command, argv, folder, log))
                single = {"model_new.py": answer.read_text()}
                rows.setdefault("ours, single file", []).append(timed(ours, judge, single))
    return {"opening_s": opening_s, "first": first_said, "device": device.name, "rows": rows}


def outcome(sample: dict[str, Any]) -> str:
    parts: dict[str, Any] = sample.get("parts", {})
    said = [f"{name} {part['wall_s']:.1f} s ({part['outcome']})" for name, part in parts.items()]
    return sample.get("outcome") or ", ".join(said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cuda-agent", type=Path, required=True)
    parser.add_argument("--kernelbench", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--log", default="judge_cost.log")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arguments.cuda_agent = arguments.cuda_agent.resolve()
    arguments.kernelbench = arguments.kernelbench and arguments.kernelbench.resolve()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(arguments, Path(folder))
    sys.stdout.write(f"once a task (opening, baselines, one verdict): {found['opening_s']:.1f} s\n")
    for name, samples in found["rows"].items():
        seconds = sorted(one["wall_s"] for one in samples)
        sys.stdout.write(f"{name:32} median {seconds[len(seconds) // 2]:7.2f} s   {outcome(samples[0])}\n")
    if arguments.json:
        stamp = datetime.datetime.now(datetime.UTC).isoformat()
        arguments.json.write_text(json.dumps({"when": stamp, "command": sys.argv, **found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
