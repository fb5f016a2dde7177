"""What a built program asks of others is seen in its symbols, and an honest one asks for nothing odd."""

import shutil
import subprocess
from pathlib import Path

import pytest

from warpsmith.core import Completed, Ending, Form, Rejected
from warpsmith.judge.gates.symbols import BANS, breach, odd, system_call, torch_and_libraries
from warpsmith.judge.kinds import Kind, kind_from_cpp
from warpsmith.judge.names import names
from warpsmith.toolchain import Build
from warpsmith.toolchain.symbols import holds_name, insisting_exports

# One function a ban at least, by the name that stands in the object.
BANNED = {
    "native-code": names(
        "dlopen dlsym nvrtcCompileProgram cuModuleLoadData cudaLibraryLoadData "
        "_ZNK3c1010Dispatcher17findSchemaOrThrowEPKcS2_"
    ),
    "native-process": names(
        "system popen execve execlp fork clone ptrace _exit kill process_vm_readv syscall posix_spawn prctl"
    ),
    "native-network": names("socket connect getaddrinfo sendmsg"),
    "native-files": names(
        "fopen open64 read write shm_open memfd_create dup2 "
        "_ZNSt13basic_filebufIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode"
    ),
    "native-memory": names("mprotect mmap cudaIpcOpenMemHandle cudaMallocManaged cuMemGetAddressRange_v2"),
    "native-device": names("cudaDeviceReset nvmlInit_v2 cuDevicePrimaryCtxReset_v2"),
    "native-threads": names(
        "pthread_create _ZNSt6thread15_M_start_threadESt10unique_ptr cudaLaunchHostFunc sigaction setitimer"
    ),
    "native-python": names("PyRun_SimpleString PyImport_ImportModule PyEval_GetFrame PySys_GetObject"),
    "torch-compute": names(
        "_ZN2at4_ops11softmax_int4callERKNS_6TensorEl _ZN2at4_ops10add_Tensor4callEv "
        "_ZN5torch2nn10ReLUImpl7forwardEN2at6TensorE _ZN2at6native7softmaxEv aoti_torch_cpu_relu"
    ),
    "libraries": names(
        "cublasSasum_v2 cublasSscal_v2 cudnnSoftmaxForward cufftExecC2C curandGenerateUniform cusparseSpMM "
        "cublasIsamax_v2"
    ),
}
LIBRARIES = names(
    "cublasSgemm_v2 cublasGemmEx cublasLtMatmul cublasCreate_v2 cublasSetStream_v2 cublasSetMathMode "
    "cublasSgemmStridedBatched cublasSgemv_v2 cudnnConvolutionForward cudnnCreate aoti_torch_cuda_mm_out "
    "cudnnSetTensor4dDescriptor cudnnConvolutionBiasActivationForward _ZN2at4_ops6mm_out4callEv "
    "_ZN2at4_ops6matmul4callERKNS_6TensorES4_ _ZN2at4_ops6linear4callEv _ZN2at4_ops11convolution4callEv "
)
HONEST = names(
    "cudaGetLastError cudaMalloc cudaMemcpyAsync cudaFuncSetAttribute cudaStreamSynchronize cudaGraphLaunch "
    "cudaLaunchKernelExC cudaOccupancyMaxActiveBlocksPerMultiprocessor __cudaRegisterFatBinary printf "
    "fprintf exit abort memcpy malloc free strcmp getenv _Znwm _ZNSt8ios_base4InitC1Ev _ZSt4cout __cxa_throw "
    "_ZN2at4_ops10empty_like4callEv _ZN2at4_ops19empty_memory_format4callEv _ZN2at4_ops4view4callEv "
    "_ZN2at4_ops10contiguous4callEv _ZN2at4_ops8to_dtype4callEv _ZN2at4_ops12slice_Tensor4callEv "
    "_ZN2at4_ops5zeros4callEv _ZN2at4_ops5copy_4callEv _ZN2at4_ops13fill__Scalar4callEv expf "
    "_ZN3c106detail14torchCheckFailEPKcS2_jS2_ _ZN2at4cuda20getCurrentCUDAStreamEa PyEval_SaveThread "
    "PyEval_GetBuiltins PyErr_SetString PyObject_GC_UnTrack PyFrame_GetBack PyThread_tss_get "
    "aoti_torch_empty_strided torch_call_dispatcher cudaGetDriverEntryPoint "
    "_ZN5torch3jit17parseSchemaOrNameERKSs _ZN5torch7LibraryC1ENS0_4KindESsSt8optionalIN3c1011DispatchKeyE"
)


def build(folder, *needed, source=""):
    """A shared object that calls each function of `needed`."""
    calls = [f'extern "C" void call_{index}() __asm__("{name}");' for index, name in enumerate(needed)]
    body = "".join(f"call_{index}();" for index in range(len(needed)))
    path = folder / "libcandidate.so"
    text = "\n".join([*calls, source, f'extern "C" int launch() {{ {body} return 0; }}'])
    command = ["g++", "-fno-builtin", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(path)]
    subprocess.run(command, input=text, text=True, check=True)
    return Build(folder=folder, launchers=(), resources=(), log="", is_cached=False, wall_s=0.0)


class Shell:
    """Runs commands as they are."""

    def run(self, command):
        done = subprocess.run(command.argv, capture_output=True, text=True, env=command.env, check=False)
        return Completed(
            ending=Ending.EXITED, exit_code=done.returncode, stdout=done.stdout, stderr="", wall_s=0.0
        )


@pytest.mark.parametrize(
    ("rule", "name"), [(rule, name) for rule, some in BANNED.items() for name in sorted(some)]
)
def test_what_no_program_needs_is_refused_by_its_rule(tmp_path, rule, name):
    verdict = breach(build(tmp_path, "cudaGetLastError", name), Form.TORCH, "cuda")
    assert isinstance(verdict, Rejected)
    assert verdict.rule == rule
    assert "the built program" in verdict.message


def test_every_ban_has_a_function_in_this_file():
    known = [name for some in BANNED.values() for name in some]
    assert [ban.pattern.pattern for ban in BANS if not any(map(ban.pattern.match, known))] == []


def test_what_honest_programs_call_is_let_pass(tmp_path):
    made = build(tmp_path, *HONEST)
    assert breach(made, Form.TORCH, "cuda") is None
    assert torch_and_libraries(made) == ()


def test_products_and_convolutions_are_the_libraries(tmp_path):
    made = build(tmp_path, *LIBRARIES)
    assert breach(made, Form.TORCH, "cuda") is None
    found = torch_and_libraries(made)
    assert len(found) == len(LIBRARIES)
    assert {"at::_ops::matmul", "cublasSgemm_v2"} <= set(found)


def test_a_macro_does_not_hide_an_operator(tmp_path):
    source = """
#define JOIN(a, b) a##b
namespace at { namespace _ops { struct JOIN(soft, max_int) { static int call(); }; } }
extern "C" int other() { return at::_ops::JOIN(softm, ax_int)::call(); }
"""
    verdict = breach(build(tmp_path, source=source), Form.TORCH, "cuda")
    assert verdict.rule == "torch-compute"
    assert "at::_ops::softmax_int" in verdict.message


def test_a_launcher_may_not_call_python_and_a_binding_may(tmp_path):
    made = build(tmp_path, "PyErr_SetString")
    assert breach(made, Form.LAUNCHER, "cuda").rule == "native-python"
    assert breach(made, Form.TORCH, "cuda") is None


def test_what_the_cpu_devices_own_stand_ins_need_is_let_pass_there(tmp_path):
    made = build(tmp_path, "mmap", "mprotect", "pthread_create")
    assert breach(made, Form.LAUNCHER, "cpu") is None
    assert breach(made, Form.LAUNCHER, "cuda") is not None


@pytest.mark.parametrize("name", ["cudaEventElapsedTime", "malloc", "clock_gettime", "cublasSgemm_v2"])
def test_a_function_that_stands_between_others_is_refused(tmp_path, name):
    source = f'extern "C" int {name}() {{ return 0; }}'
    verdict = breach(build(tmp_path, source=source), Form.LAUNCHER, "cuda")
    assert verdict.rule == "native-code"
    assert name in verdict.message


def test_a_launcher_with_a_name_of_its_own_stands_between_nothing(tmp_path):
    source = 'extern "C" int cudaRelu() { return 0; }\nextern "C" int mallocs() { return 0; }'
    made = build(tmp_path, source=source)
    assert insisting_exports(made.libraries[0]) >= {"cudaRelu", "launch"}
    assert breach(made, Form.LAUNCHER, "cuda") is None


@pytest.mark.skipif(not Path("/usr/bin/objdump").is_file(), reason="needs objdump")
def test_a_system_call_in_the_machine_code_is_seen(tmp_path):
    source = (
        'extern "C" long f() { long r; __asm__ volatile(".byte 0x0f, 0x05" : "=a"(r) : "a"(60)); return r; }'
    )
    assert system_call(build(tmp_path, source=source), Shell()).rule == "native-process"


def test_the_same_bytes_within_another_instruction_are_none(tmp_path):
    source = 'extern "C" int f() { int r; __asm__ volatile("movl $0x0000050f, %0" : "=r"(r)); return r; }'
    assert system_call(build(tmp_path, source=source), Shell()) is None


@pytest.mark.parametrize(
    ("name", "says"), [("getenv", "reads the environment"), ("torch_call_dispatcher", "by name")]
)
def test_what_is_odd_is_told(tmp_path, name, says):
    assert says in odd(build(tmp_path, name), "cuda")[0]


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_what_nvcc_builds_calls_nothing_odd_and_names_its_kernels(tmp_path):
    source = tmp_path / "a.cu"
    source.write_text(
        "template <class T> __global__ void scale(T* x) { x[threadIdx.x] *= 2; }\n"
        'extern "C" int launch(float* x, cudaStream_t s) {\n'
        "  scale<<<1, 32, 0, s>>>(x); return cudaGetLastError();\n}"
    )
    path = tmp_path / "libcandidate.so"
    command = ["nvcc", "-shared", "-cudart", "shared", "-Xcompiler", "-fPIC", str(source), "-o", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    made = Build(folder=tmp_path, launchers=(), resources=(), log="", is_cached=False, wall_s=0.0)
    assert breach(made, Form.LAUNCHER, "cuda") is None
    assert odd(made, "cuda") == []
    assert system_call(made, Shell()) is None
    assert holds_name(path, "_Z5scaleIfEvPT_")
    assert not holds_name(path, "_Z5scaleIdEvPT_")


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        ("add_Tensor", Kind.COMPUTE),
        ("tanh", Kind.COMPUTE),
        ("t", Kind.FREE),
        ("fill__Scalar", Kind.FREE),
        ("relu_", Kind.COMPUTE),
        ("matmul_out", Kind.LIBRARY),
        ("transpose_int", Kind.FREE),
        ("conv2d", Kind.LIBRARY),
        ("index_Tensor", Kind.COMPUTE),
    ],
)
def test_an_operator_is_known_with_its_overload(operator, kind):
    assert kind_from_cpp(operator) is kind
