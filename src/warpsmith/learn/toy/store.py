"""A store of small real tasks, for a tiny model to learn from a real judge: a few elementwise steps each."""

from pathlib import Path

from warpsmith.core import Candidate, Task
from warpsmith.tasks.store import About, Store
from warpsmith.tasks.synth.base import Curriculum, Made
from warpsmith.tasks.synth.similarity import Splitting, divided, fingerprint

FORWARDS = {
    "relu_shift": ("torch.relu(x) + 0.5", "fmaxf(v, 0.0f) + 0.5f"),
    "sigmoid_scale": ("2.0 * torch.sigmoid(x)", "2.0f / (1.0f + expf(-v))"),
    "tanh_square": ("torch.tanh(x) * torch.tanh(x)", "tanhf(v) * tanhf(v)"),
    "exp_negative": ("torch.exp(-torch.abs(x))", "expf(-fabsf(v))"),
    "silu": ("x * torch.sigmoid(x)", "v / (1.0f + expf(-v))"),
    "softplus": ("torch.log1p(torch.exp(x))", "log1pf(expf(v))"),
    "cosine": ("torch.cos(x) - x", "cosf(v) - v"),
    "clamp_scale": ("torch.clamp(x, -1.0, 1.0) * 3.0", "fminf(fmaxf(v, -1.0f), 1.0f) * 3.0f"),
    "hypotenuse": ("torch.sqrt(x * x + 1.0)", "sqrtf(v * v + 1.0f)"),
    "reciprocal": ("1.0 / (1.0 + torch.abs(x))", "1.0f / (1.0f + fabsf(v))"),
    "sine_mix": ("torch.sin(x) + torch.cos(x) * 0.5", "sinf(v) + cosf(v) * 0.5f"),
    "leaky": ("torch.where(x > 0.0, x, 0.1 * x)", "v > 0.0f ? v : 0.1f * v"),
}
"""The reference's forward, and the same of one number `v` in CUDA."""

SOURCE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return {forward}


def get_inputs():
    return [torch.randn(64, 512)]


def get_init_inputs():
    return []
"""

KERNEL = """#include <cuda_runtime.h>

__global__ void map_kernel(const float* x, float* y, int size) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) {{
        float v = x[i];
        y[i] = {value};
    }}
}}

extern "C" int map(const float* x, float* y, int size, cudaStream_t stream) {{
    map_kernel<<<(size + 255) / 256, 256, 0, stream>>>(x, y, size);
    return cudaGetLastError();
}}
"""
MODULE = """import cuda_extension
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cuda_extension.map(x, y, x.numel())
        return y
"""


def write_store(path: Path, *, seed: int = 0) -> Path:
    """A store with all three splits, of which no two hold tasks that are alike."""
    made = [
        Made(
            task=task,
            operators=(),
            depth=1,
            structure=fingerprint(task).structure,
            curriculum=Curriculum.ELEMENTWISE,
            source="toy",
        )
        for task in tasks()
    ]
    found = divided(made, Splitting(validation=0.17, test=0.17, seed=seed))
    Store(path).write(found.rows, About(title="A few elementwise tasks", licence="Apache-2.0"))
    return path


def tasks() -> list[Task]:
    return [
        Task(task_id=name, source=SOURCE.format(forward=forward), provenance="warpsmith.learn.toy")
        for name, (forward, _) in FORWARDS.items()
    ]


def programs() -> dict[str, Candidate]:
    """A short program for each task, by the task's digest: what a tiny model can learn by heart."""
    values = [value for _, value in FORWARDS.values()]
    return {
        task.digest: Candidate.of({"model_new.py": MODULE, "kernels/map.cu": KERNEL.format(value=value)})
        for task, value in zip(tasks(), values, strict=True)
    }
