"""How long a small program takes from source to loadable, and what one call of a launcher costs.

    python -m benchmarks.toolchain [--repeats N] [--arch ARCH] [--sandbox KIND] [--json FILE]

Builds with every compiler that is here: the host's, for the CPU device, and nvcc, for a GPU. Each repeat is
a program of its own, so that nothing comes from the store. The call is timed on the CPU device, and on the
GPU if there is one. Exit code 1 if a target is missed.
"""

import argparse
import datetime
import importlib.util
import json
import os
import platform
import statistics
import sys
import tempfile
import time
import timeit
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

import torch

from warpsmith.core import Candidate
from warpsmith.device import GPUS, Device, select_device
from warpsmith.sandbox import Sandbox, pick
from warpsmith.toolchain import Build, Store, Toolchain, find_compiler, find_nvcc

TARGET_BUILD_S = 1.5
TARGET_CALL_US = 8.0
CALLS = 20_000

KERNEL = """// version {version}
#include <cuda_runtime.h>

__global__ void scale_add(const float* x, const float* y, float* out, int n, float by) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * by + y[i];
}}

extern "C" int scale_add_f32(const float* x, const float* y, float* out, int n, int stride, float by,
                             cudaStream_t stream) {{
    scale_add<<<(n + 255) / 256, 256, 0, stream>>>(x, y, out, n, by);
    return (int)cudaGetLastError();
}}

extern "C" int nothing(const float* x, const float* y, float* out, int n, int stride, float by,
                       cudaStream_t stream) {{
    return 0;
}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table."""

    what: str
    median: float
    fastest: float
    slowest: float
    unit: str
    target: float | None

    @property
    def is_met(self) -> bool:
        return self.target is None or self.median <= self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One build and what it took."""

    build: Build
    wall_s: float
    cpu_s: float  # on all processors together, compilers included


def main() -> int:
    """Print the table; 1 if a target is missed."""
    options = arguments()
    sandbox = pick(options.sandbox)
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for device in devices(options.arch):
            builds = built(device, sandbox, Path(folder), options.repeats)
            what = f"build, {compiler(device)}"
            figures.append(figure(what, [one.wall_s for one in builds], "s", TARGET_BUILD_S))
            figures.append(figure(f"{what}, on processors", [one.cpu_s for one in builds], "s", None))
            if device.kind == "cpu" or torch.cuda.is_available():
                costs = call_us(module(builds[-1].build), "cuda" if device.kind == "cuda" else "cpu")
                figures.append(figure(f"call, {device.name}", costs, "µs", TARGET_CALL_US))
    show(figures, sandbox)
    if options.json:
        options.json.write_text(json.dumps(report(figures, sandbox), indent=1, ensure_ascii=False) + "\n")
    return 0 if all(one.is_met for one in figures) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=7, help="programs to build with each compiler")
    parser.add_argument("--arch", help="architecture for nvcc (default: this GPU's, else sm_90a)")
    parser.add_argument("--sandbox", default="auto", help="where the compilers run")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser.parse_args()


def devices(arch: str | None) -> list[Device]:
    """The CPU; and the GPU, or, where there is none, nvcc's part of it."""
    found = [select_device("cpu", arch)]
    if torch.cuda.is_available():
        found.append(select_device("cuda", arch))
    elif find_nvcc():
        arch = arch or GPUS["h200"].arch
        found.append(Device(kind="cuda", arch=arch, gpu=GPUS["h200"], name=f"no GPU ({arch})", uuid=None))
    return found


def built(device: Device, sandbox: Sandbox, folder: Path, repeats: int) -> list[Sample]:
    """Programs that differ in a comment, each with what it took; one more comes first, to warm up."""
    toolchain = Toolchain(device, Store(folder / device.kind), sandbox)
    samples = []
    for version in range(repeats + 1):
        candidate = Candidate.of({"model_new.py": "", "kernels/k.cu": KERNEL.format(version=version)})
        before = processor_s()
        build = toolchain.build(candidate)
        if not isinstance(build, Build):
            raise SystemExit(f"the benchmark's own program does not build: {build}")
        samples.append(Sample(build=build, wall_s=build.wall_s, cpu_s=processor_s() - before))
    return samples[1:]


def processor_s() -> float:
    """Seconds that this process and its children have spent on processors."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def module(build: Build) -> ModuleType:
    spec = importlib.util.spec_from_file_location("cuda_extension", build.folder / "cuda_extension.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"{build.folder} holds no cuda_extension.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def call_us(extension: ModuleType, device: str) -> list[float]:
    """Microseconds of a call with three tensors and three numbers that launches nothing, for several runs."""
    x, y, out = (torch.zeros(1024, device=device) for _ in range(3))
    nothing = extension.nothing
    runs = timeit.repeat(lambda: nothing(x, y, out, 1024, 1, 0.5), number=CALLS, repeat=7)
    return [seconds / CALLS * 1e6 for seconds in runs]


def compiler(device: Device) -> str:
    if device.kind == "cuda":
        return f"nvcc ({device.arch})"
    return f"host, with nvcc's report ({device.arch})" if find_nvcc() else "host"


def figure(what: str, samples: list[float], unit: str, target: float | None) -> Figure:
    return Figure(
        what=what,
        median=statistics.median(samples),
        fastest=min(samples),
        slowest=max(samples),
        unit=unit,
        target=target,
    )


def show(figures: list[Figure], sandbox: Sandbox) -> None:
    lines = [f"{'':<56}{'median':>9}{'fastest':>9}{'slowest':>9}  unit  target"]
    for one in figures:
        times = f"{one.median:>9.2f}{one.fastest:>9.2f}{one.slowest:>9.2f}"
        target = f"≤ {one.target}{'' if one.is_met else ' MISSED'}" if one.target else ""
        lines.append(f"{one.what:<56}{times}  {one.unit:<4}  {target}".rstrip())
    lines.append(
        f"compilers in the {sandbox.name} sandbox, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    sys.stdout.write("\n".join(lines) + "\n")


def report(figures: list[Figure], sandbox: Sandbox) -> dict[str, object]:
    nvcc = find_nvcc()
    return {
        "command": " ".join(["python -m benchmarks.toolchain", *sys.argv[1:]]),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "time": time.strftime("%H:%M:%SZ", time.gmtime()),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "sandbox": sandbox.name,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "host": find_compiler().version,
            "nvcc": nvcc.version if nvcc else None,
        },
        "figures": [{**asdict(one), "is_met": one.is_met} for one in figures],
    }


if __name__ == "__main__":
    sys.exit(main())
