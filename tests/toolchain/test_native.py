"""Programs that bring their own bindings: what is compiled of them, and what they may ask of a compiler."""

import json
import sys
from pathlib import Path

import pytest

from warpsmith.core import BuildFailed, Candidate, Completed, Ending, InlineCall, NotRunnable, Rejected
from warpsmith.device import cpu, select_device
from warpsmith.toolchain import Build, Store, Toolchain
from warpsmith.toolchain.build_cpu import HostBuilder
from warpsmith.toolchain.capture import capture
from warpsmith.toolchain.extension_native import native_source
from warpsmith.toolchain.flags import FlagRefused, flags_of
from warpsmith.toolchain.host import find_compiler
from warpsmith.toolchain.native import unresolved
from warpsmith.toolchain.native_forms import inline_module, torch_module

torch = pytest.importorskip("torch")

KERNEL = """#include <cuda_runtime.h>
__global__ void twice_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
extern "C" void twice_launcher(const float* x, float* y, int n, cudaStream_t stream) {
  twice_kernel<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
"""
BINDING = """#include <torch/types.h>
#include <torch/csrc/utils/pybind.h>
#include <c10/cuda/CUDAStream.h>
#include "../binding_registry.h"
extern "C" void twice_launcher(const float* x, float* y, int n, cudaStream_t stream);
static torch::Tensor twice(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "x");
  auto y = torch::empty_like(x);
  auto stream = c10::cuda::getCurrentCUDAStream();
  twice_launcher(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), stream);
  return y;
}
static void bind(pybind11::module& m) { m.def("twice", &twice, py::arg("x")); }
REGISTER_BINDING(twice, bind);
"""
INLINE = '''
import torch
from torch.utils.cpp_extension import load_inline

SIZE = 32
source = f"""
__global__ void negate_kernel(const float* x, float* y, int n) {{
  int i = blockIdx.x * {SIZE} + threadIdx.x;
  if (i < n) y[i] = -x[i];
}}
torch::Tensor negate(torch::Tensor x) {{
  TORCH_CHECK(x.device().type() == torch::kCUDA && x.type().is_cuda());
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "negate", [&] {{ (void)sizeof(scalar_t); }});
  int n = x.numel();
  negate_kernel<<<(n + {SIZE} - 1) / {SIZE}, {SIZE}>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}}
"""


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        declared = "torch::Tensor negate(torch::Tensor x);"
        self.own = load_inline("some_name", declared, source, functions=["negate"], extra_cuda_cflags=["-O3"])

    def forward(self, x):
        return self.own.negate(x)
'''


def _texts(module):
    return "\n".join(module.sources.values())


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        (["-O3", "--use_fast_math", "-std=c++17", "-lineinfo"], ("--use_fast_math", "-lineinfo")),
        (["-gencode", "arch=compute_80,code=sm_80", "-arch=sm_90"], ()),
        (["-U__CUDA_NO_HALF_OPERATORS__", "-DTILE=(32)"], ("-U__CUDA_NO_HALF_OPERATORS__", "-DTILE=(32)")),
        (["-Xptxas", "-O3", "-Xptxas=-v", "-Xcompiler", "-fPIC"], ("-Xptxas=-O3",)),
        (["--extended-lambda --fmad=false", ""], ("--extended-lambda", "--fmad=false")),
    ],
    ids=["levels", "architectures", "defines", "pairs", "several in one"],
)  # fmt: skip
def test_flags_that_choose_how_to_compile_are_kept_or_ours(flags, kept):
    assert flags_of(InlineCall(cuda_flags=tuple(flags))).device == kept


@pytest.mark.parametrize(
    "flag",
    [
        "-fplugin=evil.so", "-B/tmp", "@response", "-include /etc/passwd", "-I/etc",
        "-Xcompiler=-fplugin=x.so",
        "-Xlinker=x", "-ccbin /tmp/gcc", "-DX=`id`", "-DX=$(id)", "-specs=x", "--run", "-odir=/tmp", "x.o",
        "-Xptxas=--output-file=/tmp/x", "-wrapper sh", "-o/tmp/x",
    ],
)  # fmt: skip
def test_a_flag_that_names_a_file_or_a_program_is_refused(flag):
    for call in (InlineCall(cflags=(flag,)), InlineCall(cuda_flags=(flag,)), InlineCall(ldflags=(flag,))):
        with pytest.raises(FlagRefused, match="may not be given"):
            flags_of(call)


def test_libraries_of_nvidia_may_be_named_and_others_not():
    assert flags_of(InlineCall(ldflags=("-lcublas", "-L/usr/local/cuda/lib64", "-lcudart"))).libraries == (
        "cublas",
    )
    with pytest.raises(FlagRefused):
        flags_of(InlineCall(ldflags=("-Wl,-rpath,/tmp",)))


def test_the_key_of_a_call_is_made_of_its_sources_and_flags():
    one = InlineCall(cpp_sources=("a",), cuda_sources=("b",))
    assert one.digest == InlineCall(cpp_sources=("a",), cuda_sources=("b",)).digest
    assert one.digest != InlineCall(cpp_sources=("ab",), cuda_sources=("",)).digest
    assert one.digest != InlineCall(cpp_sources=("a",), cuda_sources=("b",), cuda_flags=("-G",)).digest


def test_a_workspaces_own_frozen_files_give_way_to_ours():
    files = {"binding.cpp": "evil", "binding_registry.h": "evil", "kernels/a_binding.cpp": BINDING}
    module = torch_module(files)
    assert "evil" not in _texts(module)
    assert module.sources["kernels/a_binding.cpp"].count("PYBIND11_MODULE") == 1
    assert module.needs_torch("kernels/a_binding.cpp")


def test_a_kernel_that_includes_no_torch_is_compiled_without_it():
    module = torch_module({"kernels/k.cu": KERNEL, "kernels/k_binding.cpp": BINDING})
    assert not module.needs_torch("kernels/k.cu")


def test_a_call_becomes_the_files_that_torchs_loader_would_write():
    call = InlineCall(
        cpp_sources=("void f();",), cuda_sources=("void f() {}",), functions=(("f", 'a "word"'),)
    )
    program = Candidate.of({"model_new.py": ""})
    on_cuda = inline_module(call, program, "libcandidate.so", "cuda")
    assert {Path(path).name for path in on_cuda.sources} == {"main.cpp", "cuda.cu"}
    assert 'm.def("f", &f, "a \\"word\\"");' in _texts(on_cuda)
    assert len(inline_module(call, program, "libcandidate.so", "cpu").sources) == 1


def test_load_compiles_the_programs_own_files_and_no_others():
    files = {"model_new.py": "", "kernels/a.cu": "A", "kernels/b.cu": "B", "kernels/c.cuh": "C"}
    program = Candidate.of(files)
    module = inline_module(InlineCall(files=("kernels/a.cu",)), program, "libcandidate.so", "cuda")
    assert sorted(module.sources.values()) == ["A", "C"]
    for path in ("/etc/passwd", "../x.cu", "model_new.py"):
        with pytest.raises(FlagRefused, match="no source file of this program"):
            inline_module(InlineCall(files=(path,)), program, "libcandidate.so", "cuda")


def test_a_name_in_functions_cannot_carry_code():
    call = InlineCall(cuda_sources=("",), functions=(("f); system(", ""),))
    with pytest.raises(FlagRefused, match="no name of a function"):
        inline_module(call, Candidate.of({"model_new.py": ""}), "libcandidate.so", "cuda")


def test_the_linker_is_believed_about_missing_names_but_pythons():
    log = "x.o: warning: undefined reference to `PyList_New'\nx.o: undefined reference to `launcher'\n"
    assert unresolved(log) == ("launcher",)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("is_whole", [True, False])
def test_the_generated_module_is_python(device, is_whole):
    compile(native_source({"key": ("libcandidate.so", "name")}, device, is_whole=is_whole), "x", "exec")


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("TORCH_CHECK(x.is_cuda())", "TORCH_CHECK(x.is_cpu())"),
        ("x.type().is_cuda()", "x.device().is_cpu()"),
        ("torch::kCUDA; c10::DeviceType::CUDA", "torch::kCPU; c10::DeviceType::CPU"),
        ("#define CHECK(x) x.device().is_cuda()", "#define CHECK(x) x.device().is_cpu()"),
        ('"is_cuda" // kCUDA', '"is_cuda" // kCUDA'),
    ],
)
def test_on_the_cpu_a_cuda_tensor_is_one_on_the_cpu(text, translated):
    assert cpu.translate(text) == translated


# --- what a module hands to the loader ---


def _captured(text, folder, runner, **files):
    seen = capture(Candidate.of({"model_new.py": text, **files}), folder, runner)
    assert not isinstance(seen, BuildFailed), seen
    sys.stderr.write(seen.log)  # why a call is missing
    return seen.calls


def test_calls_at_import_and_in_a_constructor_are_seen(tmp_path, runner):
    at_import = INLINE + '\nother = load_inline(name="o", cpp_sources=["int f();"], functions={"f": "doc"})\n'
    first, second = _captured(at_import, tmp_path, runner)
    assert (first.functions, first.cpp_sources) == ((("f", "doc"),), ("int f();",))
    assert second.functions == (("negate", "negate"),)
    assert "blockIdx.x * 32" in second.cuda_sources[0]
    assert second.cuda_flags == ("-O3",)


@pytest.mark.parametrize(
    "text",
    ["import torch", "raise SystemExit", "import os; os._exit(1)", "1 / 0", "not python at all"],
)
def test_a_module_that_calls_no_loader_or_does_not_load_makes_no_call(tmp_path, runner, text):
    assert _captured(text, tmp_path, runner) == ()


@pytest.mark.parametrize("line", ["not json", json.dumps({"type": "InlineCall", "files": 3}), "[" * 100000])
def test_what_is_no_call_is_the_programs_failure(tmp_path, runner, line):
    forged = f"import sys; open(sys.argv[2], 'w').write({line!r})"
    outcome = capture(Candidate.of({"model_new.py": forged}), tmp_path, runner)
    assert isinstance(outcome, BuildFailed)


class StoppingRunner:
    """Ends each command so, and counts them."""

    def __init__(self, ending):
        self.ending = ending
        self.num_runs = 0

    def run(self, command):
        self.num_runs += 1
        return Completed(ending=self.ending, exit_code=-9, stdout="", stderr="", wall_s=1.0)


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [(Ending.TIMED_OUT, BuildFailed), (Ending.OUT_OF_MEMORY, Build), (Ending.SIGNALLED, Build)],
)
def test_a_module_whose_import_was_stopped_is_imported_again_the_next_time(tmp_path, ending, outcome):
    runner = StoppingRunner(ending)
    device = select_device("cpu")
    builder = HostBuilder(host=find_compiler(), nvcc=None, device=device)
    toolchain = Toolchain(device, Store(tmp_path), runner, builder)
    for expected in (1, 2):
        assert isinstance(toolchain.build(Candidate.of({"model_new.py": "import torch"})), outcome)
        assert runner.num_runs == expected


# --- whole builds on the cpu device ---


@pytest.fixture
def toolchain(shared_store, runner):
    device = select_device("cpu")
    return Toolchain(
        device, shared_store, runner, HostBuilder(host=find_compiler(), nvcc=None, device=device)
    )


def test_a_program_in_another_language_is_not_judged(toolchain):
    outcome = toolchain.build(
        Candidate.of({"model_new.py": "try:\n    import triton\nexcept ImportError: pass"})
    )
    assert isinstance(outcome, NotRunnable)
    assert "Triton" in outcome.reason


def test_a_program_without_kernels_builds_to_nothing(toolchain):
    outcome = toolchain.build(Candidate.of({"model_new.py": "import torch"}))
    assert isinstance(outcome, Build)
    assert outcome.libraries == ()


def test_a_refused_flag_is_a_rejection(toolchain):
    text = INLINE.replace('"-O3"', '"-Xcompiler", "-fplugin=x.so"')
    outcome = toolchain.build(Candidate.of({"model_new.py": text}))
    assert isinstance(outcome, Rejected)
    assert outcome.rule == "flags"


@pytest.mark.slow
def test_a_workspace_with_bindings_is_built_and_counted(toolchain, load):
    # The compiler finds the registry in the program's folder and in ours; they must not be two.
    binding = '#include "binding_registry.h"\n' + BINDING
    files = {"model_new.py": "", "kernels/k.cu": KERNEL, "kernels/k_binding.cpp": binding}
    extension = load(toolchain.build(Candidate.of(files)))
    x = torch.arange(100.0)
    assert torch.equal(extension.twice(x), 2 * x)
    assert extension.counters() == {"bytes": 800, "launches": 1, "library_flops": 0}


@pytest.mark.slow
def test_a_single_file_gets_the_module_that_was_built_for_its_call(toolchain, load, tmp_path, runner):
    build = toolchain.build(Candidate.of({"model_new.py": INLINE}))
    extension = load(build)
    (call,) = _captured(INLINE, tmp_path, runner)
    own = extension._prebuilt(call.digest)
    x = torch.arange(100.0)
    assert torch.equal(own.negate(x), -x)
    assert extension.counters()["launches"] == 1
    assert extension._prebuilt("0" * 16) is None
