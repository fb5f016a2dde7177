"""From a candidate to a Build or a verdict. Compilers that must fail in their own way are fakes."""

import re
import shutil
from pathlib import Path

import pytest

from warpsmith.core import (
    BuildFailed,
    Candidate,
    Completed,
    Ending,
    EnvironmentMissing,
    InfraError,
    NotRunnable,
)
from warpsmith.device import GPUS, Device, select_device
from warpsmith.toolchain import Build, Nvcc, Store, Toolchain, find_compiler, find_nvcc
from warpsmith.toolchain.build_cpu import HostBuilder
from warpsmith.toolchain.build_cuda import NvccBuilder
from warpsmith.toolchain.compiling import LIMITS, Workplace
from warpsmith.toolchain.symbols import exported_functions, imported

needs_nvcc = pytest.mark.skipif(find_nvcc() is None, reason="needs nvcc")

SCALE = """#include <cuda_runtime.h>
#include "common.cuh"
__global__ void scale_kernel(float* x, int n) { int i = index(); if (i < n) x[i] = twice(x[i]); }
extern "C" int scale(float* x, int n, cudaStream_t stream) {
    scale_kernel<<<(n + 31) / 32, 32, 0, stream>>>(x, n);
    return (int)cudaGetLastError();
}
"""
SHIFT = SCALE.replace("scale", "shift").replace("twice(x[i])", "x[i] + 1.0f")
COMMON = """#pragma once
__device__ inline int index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline float twice(float x) { return 2.0f * x; }
"""
WRONG = 'extern "C" int f(float* x) {\n    x[0] = undeclared;\n    return 0;\n}\n'
EMPTY = 'extern "C" int f() { return 0; }'


class ScriptedRunner:
    """Plays compilers: the first entry of `script` whose key is in the command decides; the rest succeed."""

    def __init__(self, script):
        self.script = script
        self.calls = []

    def run(self, command):
        line = " ".join(command.argv)
        self.calls.append(line)
        outcome = next((text for key, text in self.script.items() if key in line), "")
        output = Path(command.argv[command.argv.index("-o") + 1])
        if outcome == "":
            output.write_bytes(b"")
        ending = outcome if isinstance(outcome, Ending) else Ending.EXITED
        stderr = outcome if type(outcome) is str else ""
        return Completed(ending=ending, exit_code=int(outcome != ""), stdout="", stderr=stderr, wall_s=0.1)

    def count(self, key):
        return sum(key in line for line in self.calls)


def cuda_device():
    return Device(kind="cuda", arch="sm_90a", gpu=GPUS["h200"], name="a GPU", uuid=None)


@pytest.fixture
def scripted(tmp_path):
    """A toolchain on the CPU device, with an nvcc that exists in name, whose compilers follow the script."""

    def make(script, *, has_nvcc=True):
        nvcc = Nvcc(
            path=Path("/cuda/nvcc"), version="1", root=Path("/cuda"), include_folders=(), library_folders=()
        )
        toolchain = Toolchain(select_device("cpu"), Store(tmp_path / "store"), ScriptedRunner(script))
        toolchain.builder = HostBuilder(
            host=find_compiler(), nvcc=nvcc if has_nvcc else None, device=toolchain.device
        )
        return toolchain

    return make


def test_files_that_share_a_header_become_one_library_that_runs(on_cpu, load):
    torch = pytest.importorskip("torch")
    files = {
        "model_new.py": "",
        "kernels/a.cu": SCALE,
        "kernels/sub/b.cu": SHIFT.replace("common", "../common"),
    }
    first = on_cpu.build(Candidate.of({**files, "kernels/common.cuh": COMMON}))
    assert isinstance(first, Build), first
    assert [one.name for one in first.launchers] == ["scale", "shift"]
    assert first.is_cached is False
    extension, x = load(first), torch.ones(40)
    extension.scale(x, 40)
    extension.shift(x, 40)
    assert x.tolist() == [3.0] * 40
    again = on_cpu.build(Candidate.of({**files, "kernels/common.cuh": COMMON, "model_new.py": "# edited"}))
    assert (again.is_cached, again.folder) == (True, first.folder)
    changed = on_cpu.build(Candidate.of({**files, "kernels/common.cuh": COMMON.replace("2.0f", "4.0f")}))
    assert changed.folder != first.folder


@needs_nvcc
def test_on_the_cpu_nvcc_reports_each_kernels_resources(shared_store, runner, program):
    build = Toolchain(select_device("cpu"), shared_store, runner).build(
        program(k=SCALE.replace('#include "common.cuh"', COMMON))
    )
    (kernel,) = build.resources
    assert (kernel.kernel, kernel.arch, kernel.spill_bytes) == ("scale_kernel(float*, int)", "sm_90a", 0)
    assert kernel.registers > 0


def test_an_error_names_the_candidates_file_and_line_and_is_cached(on_cpu, program):
    first = on_cpu.build(program(k=WRONG))
    assert isinstance(first, BuildFailed)
    assert re.search(r"^kernels/k\.cu[:(]2", first.log)
    assert "undeclared" in first.log
    assert "/" + "tmp" not in first.log
    commands = len(on_cpu.runner.commands)
    assert on_cpu.build(program(k=WRONG)) == first
    assert len(on_cpu.runner.commands) == commands


def test_an_undefined_function_fails_at_the_link_not_at_load(on_cpu, program):
    failed = on_cpu.build(program(k='void missing();\nextern "C" int f() { missing(); return 0; }'))
    assert isinstance(failed, BuildFailed)
    assert "undefined reference to `missing()'" in failed.log


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"kernels/k.cu": "int x;"}, 'no launcher: export one as `extern "C" int name'),
        (
            {"kernels/k.cu": 'extern "C" int f(dim3 grid) { return 0; }'},
            "kernels/k.cu:1: error: launcher f takes `dim3 grid`",
        ),
        ({"kernels/a b.cu": EMPTY}, "kernels/a b.cu: error: name files with letters"),
        ({"kernels/$(id).cu": EMPTY}, "name files with letters"),
    ],
)
def test_a_program_that_python_could_not_call_is_no_build(on_cpu, files, message):
    failed = on_cpu.build(Candidate.of({"model_new.py": "", **files}))
    assert isinstance(failed, BuildFailed)
    assert message in failed.log


def test_names_that_look_like_options_are_names(on_cpu):
    build = on_cpu.build(
        Candidate.of({"model_new.py": "", "-x.cu": EMPTY, "@y.cu": EMPTY.replace("f()", "g()")})
    )
    assert isinstance(build, BuildFailed)  # "@" is no character for a name
    build = on_cpu.build(Candidate.of({"model_new.py": "", "-x.cu": EMPTY}))
    assert isinstance(build, Build), build


def test_a_launcher_that_only_the_preprocessor_makes_is_bound_all_the_same(on_cpu, program):
    source = (
        '#define API extern "C"\nAPI int f(const float* x, int n) { return 0; }\n#if 0\n'
        + EMPTY.replace("f()", "g()")
    )
    build = on_cpu.build(program(k=source + "\n#endif\n"))
    assert [one.name for one in build.launchers] == ["f"]
    assert "kernels/k.cu:4: note: launcher g is not in the library" in build.log


def test_what_only_a_gpu_executes_is_not_runnable_on_the_cpu(on_cpu, program):
    verdict = on_cpu.build(program(k='__device__ void f() { asm volatile("nop;"); }\n' + EMPTY))
    assert verdict == NotRunnable(device=on_cpu.device.name, reason="kernels/k.cu:1: inline PTX (asm)")


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        (Ending.TIMED_OUT, "did not end within 120 s"),
        (Ending.OUT_OF_MEMORY, "needed more than 8 GiB of memory"),
    ],
)
def test_a_compilation_that_overruns_a_limit_fails_naming_it_and_is_tried_again(
    scripted, program, ending, message
):
    toolchain = scripted({"kernels/k.cu": ending})
    for _ in range(2):
        failed = toolchain.build(program(k=EMPTY))
        assert isinstance(failed, BuildFailed)
        assert message in failed.log
    assert toolchain.runner.count("-x c++") == 2


def test_what_nvcc_accepts_and_our_headers_do_not_is_not_runnable(scripted, program):
    toolchain = scripted({"empty.cu": "", "-x c++": "kernels/k.cu:1:1: error: no such thing"})
    verdict = toolchain.build(program(k=EMPTY))
    assert isinstance(verdict, NotRunnable)
    assert "kernels/k.cu:1:1: error: no such thing" in verdict.reason


def test_what_no_compiler_can_write_down_is_no_build(scripted, program):
    toolchain = scripted({"empty.cu": "", "-x c++": "/tmp/k.s: Fatal error: can't write: 'file truncated'"})
    assert isinstance(toolchain.build(program(k=EMPTY)), BuildFailed)


def test_what_a_program_itself_needs_is_told_from_what_is_linked_in(on_cpu, program):
    opening = '#include <stdio.h>\nextern "C" int f() { return fopen("a", "r") != nullptr; }'
    build = on_cpu.build(program(k=opening))
    assert isinstance(build, Build), build
    assert "fopen" in imported(build.libraries[0])
    assert "fopen" not in build.linked_needs


def test_a_library_function_that_our_headers_lack_is_not_runnable_when_nobody_can_say_more(scripted, program):
    toolchain = scripted(
        {
            "empty.cu": "",
            "/cuda/nvcc": "kernels/k.cu:1:10: fatal error: cublas_v2.h: No such file or directory",
            "-x c++": "kernels/k.cu:1:1: error: 'cublasXgemm' was not declared in this scope",
        }
    )
    assert isinstance(toolchain.build(program(k=EMPTY)), NotRunnable)
    toolchain.runner.script["-x c++"] = (
        "kernels/k.cu:1:1: error: 'my_function' was not declared in this scope"
    )
    assert isinstance(toolchain.build(program(k=EMPTY + "//")), BuildFailed)


def test_what_nvcc_refuses_and_the_host_accepts_is_no_cuda(scripted, program):
    toolchain = scripted(
        {
            "empty.cu": "",
            "/cuda/nvcc": "kernels/k.cu(1): error: calling a __host__ function from a __global__ function",
        }
    )
    failed = toolchain.build(program(k=EMPTY))
    assert isinstance(failed, BuildFailed)
    assert failed.log.startswith("kernels/k.cu(1): error: calling a __host__ function")


def test_a_header_that_this_toolkit_lacks_costs_only_the_report(scripted, tmp_path):
    toolchain = scripted(
        {"/cuda/nvcc": "kernels/k.cu:1:10: fatal error: cublas_v2.h: No such file or directory"}
    )
    workplace = Workplace(folder=tmp_path, runner=toolchain.runner)
    compiled = toolchain.builder.compile({"kernels/k.cu": EMPTY}, workplace)
    assert compiled.log == "no resource report: this CUDA toolkit has no cublas_v2.h"


def test_an_nvcc_that_compiles_nothing_costs_only_the_report_and_is_asked_once(scripted, tmp_path):
    toolchain = scripted({"/cuda/nvcc": "nvcc fatal   : Unsupported gpu architecture 'compute_90a'"})
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        compiled = toolchain.builder.compile(
            {"kernels/k.cu": EMPTY}, Workplace(folder=tmp_path / name, runner=toolchain.runner)
        )
        assert "no resource report: /cuda/nvcc does not compile an empty program" in compiled.log
    assert toolchain.runner.count("/cuda/nvcc") == 2


def test_a_host_compiler_that_compiles_nothing_is_the_machines_fault(scripted, program):
    toolchain = scripted({"-x c++": "cc1plus: fatal error: cuda_runtime.h: No such file"}, has_nvcc=False)
    with pytest.raises(EnvironmentMissing, match="does not compile an empty program: cc1plus: fatal error"):
        toolchain.build(program(k=EMPTY))


def test_a_full_disk_is_not_the_candidates_fault(scripted, program, monkeypatch):
    toolchain = scripted({"-x c++": "kernels/k.cu:1:1: fatal error: error writing to file: No space left"})
    full = shutil.disk_usage("/")._replace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(InfraError, match="free some space or set WARPSMITH_CACHE"):
        toolchain.build(program(k=EMPTY))


def test_compilers_are_bounded_and_see_only_what_they_need(on_cpu, program):
    on_cpu.build(program(k=EMPTY.replace("f()", "sandboxed()")))
    for command in on_cpu.runner.commands[-2:]:
        (work,) = command.writable
        assert work.parent == on_cpu.store.root / "work"
        assert command.cwd.is_relative_to(work)
        assert command.limits == LIMITS
        assert set(command.env) == {"PATH", "TMPDIR", "HOME", "LC_ALL"}
        assert Path.home() not in command.readable


def test_a_missing_compiler_names_the_fix(program, shared_store, runner, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(EnvironmentMissing, match=re.escape("apt-get install g++")):
        Toolchain(select_device("cpu"), shared_store, runner).build(program(k=EMPTY))


@needs_nvcc
def test_for_a_gpu_nvcc_builds_a_library_whose_imports_are_few(shared_store, runner, program):
    toolchain = Toolchain(cuda_device(), shared_store, runner)
    build = toolchain.build(program(k=SCALE.replace('#include "common.cuh"', COMMON)))
    assert isinstance(build, Build), build
    (kernel,) = build.resources
    assert (kernel.kernel, kernel.arch) == ("scale_kernel(float*, int)", "sm_90a")
    library = build.folder / "libcandidate.so"
    assert "scale" in exported_functions(library)
    assert not {"dlopen", "dlsym", "socket", "system"} & imported(library)
    assert "--use_fast_math" not in " ".join(runner.commands[0].argv)
    assert sorted(path.name for path in (build.folder / "logs").rglob("*.err")) == [
        "k.cu.nvcc.err",
        "libcandidate.so.link.err",
    ]


@needs_nvcc
def test_for_a_gpu_an_error_names_the_candidates_file_and_line(shared_store, runner, program):
    failed = Toolchain(cuda_device(), shared_store, runner).build(program(k=WRONG))
    assert isinstance(failed, BuildFailed)
    assert failed.log.startswith('kernels/k.cu(2): error: identifier "undeclared" is undefined')


def test_for_a_gpu_a_header_that_this_machine_lacks_is_not_the_candidates_fault(tmp_path, program):
    nvcc = Nvcc(
        path=Path("/cuda/nvcc"), version="1", root=Path("/cuda"), include_folders=(), library_folders=()
    )
    toolchain = Toolchain(cuda_device(), Store(tmp_path), ScriptedRunner({}))
    toolchain.builder = NvccBuilder(nvcc=nvcc, host=find_compiler(), arch="sm_90a")
    with pytest.raises(EnvironmentMissing, match=r"cublas_v2.h not found .* pip install nvidia-cublas"):
        toolchain.build(program(k="#include <cublas_v2.h>\n" + EMPTY))


def test_without_nvcc_nothing_is_built_for_a_gpu(program, shared_store, runner, monkeypatch):
    monkeypatch.setattr("warpsmith.toolchain.build.find_nvcc", lambda: None)
    with pytest.raises(EnvironmentMissing, match=re.escape("pip install 'warpsmith[nvcc]'")):
        Toolchain(cuda_device(), shared_store, runner).build(program(k=EMPTY))
