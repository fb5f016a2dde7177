"""What does the built program ask of others? Static evidence that no macro and no spelling hides.

A shared object names each function that it calls in a library. Those of torch say which operators its C++
runs; those of the system, whether it reaches for anything beyond its tensors. On the cpu device the library
of stand-ins for CUDA is linked in, so that what this needs itself is let pass there.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import Command, Form, Limits, Rejected, Runner
from warpsmith.judge.kinds import Kind, kind_from_cpp
from warpsmith.judge.names import names
from warpsmith.judge.trial import Trial
from warpsmith.toolchain import Build
from warpsmith.toolchain.symbols import imported, insisting_exports, may_call_system

MAX_NAMES = 4
OBJDUMP = Path("/usr/bin/objdump")
OBJDUMP_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Ban:
    """Functions that no candidate needs, and why they may not be called."""

    rule: str
    pattern: re.Pattern[str]
    why: str


def _ban(rule: str, pattern: str, why: str) -> Ban:
    return Ban(rule, re.compile(rf"(?:{pattern})\Z"), why)


BANS = (
    _ban("native-code", r"_*dlm?open|_*dlv?sym|dladdr1?|_*libc_dl\w+", "it looks up functions by their name"),
    _ban(
        "native-code",
        r"nvrtc\w+|nvJitLink\w+|cuModuleLoad\w*|cuLibraryLoad\w+|cudaLibraryLoad\w+|cuLink\w+",
        "it loads kernels that are not in its build",
    ),
    _ban(
        "native-process",
        r"system|popen|exec[lv]p?e?|execvpe|fexecve|posix_spawnp?|v?fork|_*clone3?|daemon|kill|killpg|tgkill|"
        r"_exit|_Exit|quick_exit|ptrace|process_vm_\w+|prctl|personality|setsid|setrlimit\w*|prlimit\w*|"
        r"unshare|setns|syscall",
        "it reaches for other processes",
    ),
    _ban(
        "native-network",
        r"socket|socketpair|connect|bind|listen|accept4?|send|sendto|sendmsg|recv|recvfrom|recvmsg|getaddrinfo|"
        r"gethostbyname\w*",
        "it reaches for the network",
    ),
    _ban(
        "native-files",
        r"f?reopen(64)?|fopen(64)?|fdopen|open(64)?|openat(64)?|creat(64)?|opendir|scandir\w*|unlink(at)?|rename(at)?|"
        r"remove|mkdir(at)?|rmdir|symlink|link|chmod|fchmod|read|write|readv|writev|pread(64)?|pwrite(64)?|"
        r"dup[23]?|pipe2?|shm_open|shm_unlink|shmat|shmget|memfd_create|mkstemp\w*|mkdtemp|tmpfile\w*|sendfile\w*|"
        r"splice|vmsplice|_ZNK?St\d+basic_(filebuf|[io]?fstream)\w+|_ZNK?St10filesystem\w+",
        "it reaches for files",
    ),
    _ban(
        "native-memory",
        r"mprotect|pkey_mprotect|mmap(64)?|mremap|userfaultfd|cuMemGetAddressRange\w*|cuMemRetainAllocationHandle|"
        r"cuPointerGetAttributes|dl_iterate_phdr",
        "it looks for memory that it was not given",
    ),
    _ban(
        "native-memory",
        r"cudaIpc\w+|cuIpc\w+|cudaMallocManaged|cuMemAllocManaged|cuMem(Export|Import)\w+|"
        r"cudaMemPool(Export|Import)\w+|cuMemPool(Export|Import)\w+|cudaImportExternal\w+|cuImportExternal\w+",
        "it shares memory beyond its own tensors",
    ),
    _ban(
        "native-device",
        r"cudaDeviceReset|cuDevicePrimaryCtx(Reset|SetFlags)\w*|cuCtx(Create|Destroy|Detach)\w*|"
        r"cudaDeviceSetLimit|cuCtxSetLimit|nvml\w+|cupti\w+|cudaProfiler\w+",
        "it changes the device under the judge",
    ),
    _ban(
        "native-threads",
        r"pthread_create|thrd_create|_ZNSt6thread\w+start_thread\w+|cudaLaunchHostFunc\w*|cuLaunchHostFunc\w*|"
        r"cudaStreamAddCallback\w*|cuStreamAddCallback|GOMP_parallel\w*|timer_create|setitimer|alarm|"
        r"_*sigaction|signal|atexit|on_exit",
        "it works beside the call that it was asked for",
    ),
    _ban(
        "native-python",
        r"PyRun_\w+|_?PyImport_\w+|PyEval_(Eval\w+|Get(Frame|Globals|Locals)\w*|SetTrace|SetProfile)|PyGC_\w+|"
        r"PySys_\w+|PyFrame_Get(Locals|Globals|Builtins|Generator)|PyThreadState_SetAsyncExc|PyMarshal_\w+|Py_CompileString\w*|"
        r"Py_AddPendingCall|Py_AtExit|TVMFFIFunctionGetGlobal",
        "it runs Python beyond the call that it was asked for",
    ),
    _ban(
        "native-code",
        r"_ZNK?3c1010Dispatcher\d*(findSchema|findOp|findOrRegister|getAllOp|callBoxed)\w*|"
        r"_ZN5torch3jit(?!\d*parseSchema|\d*parseName)\w*(\d(load|compile|define)\w*|getAllOperators\w*|"
        r"Interpreter\w*|GraphExecutor\w*)",
        "it calls torch's operators by a name that need not stand in its source",
    ),
    _ban("torch-compute", r"_ZNK?5torch2nn\w+7forward\w+", "torch's modules compute"),
    _ban(
        "libraries",
        r"cublas[SDCZHI]?[sdcz]?(axpy|scal|asum|nrm2|a?m[axin]{2}|i?amax|i?amin|rotm?g?|swap)(_v2|_64|_v2_64|Ex\w*)?|"
        r"cublasI[sdcz]am(ax|in)\w*|cublas(Axpy|Scal|Nrm2|Asum|Rot|Swap|Iam)\w*",
        "cuBLAS may serve for matrix products only",
    ),
    _ban(
        "libraries",
        r"cudnn(Softmax|Pooling|Activation(For|Back)|BatchNorm|Normalization|Dropout|RNN|OpTensor|ReduceTensor|"
        r"AddTensor|ScaleTensor|MultiHeadAttn|LRN|DivisiveNorm|CTCLoss|Spatial|TransformTensor)\w*",
        "cuDNN may serve for convolutions only",
    ),
    _ban(
        "libraries",
        r"(cufft|cusparse|cusolver|cutensor|nvjpeg|nccl|npp[isc]|cudss)[A-Z_]\w+|curand(Generate|Create)\w+",
        "no library but cuBLAS and cuDNN may compute",
    ),
)
# What the stand-ins for CUDA need themselves, so that it says nothing of a candidate on the cpu device.
OF_CPU_DEVICE = names("mmap mprotect pthread_create")
NATIVE_PYTHON = re.compile(r"_?Py[A-Z_]\w+")
HONEST_LIBRARY = re.compile(r"(cublas(Lt|Xt)?|cudnn)[A-Z]\w+")
ATEN = re.compile(r"_ZN2at4_ops(\d+)(\w+)")
STABLE_ATEN = re.compile(r"aoti_torch_(?:cpu|cuda)_(\w+)")
AT_NATIVE = re.compile(r"_ZN2at6native\d+(\w+)")
# Functions that a program of its own has no reason to define, but one that stands between others has.
INTERPOSED = re.compile(
    r"(__?)?cuda(Event|Stream|Device(Synch|Reset)|Launch|Malloc|Free|Memcpy|Memset|Graph|GetLastError|PeekAtLast)\w*|"
    r"cu(Event|Stream|Launch|Mem|Graph|Ctx|Func|Kernel)[A-Z]\w*|cublas[A-Z]\w+|cudnn[A-Z]\w+|malloc|free|calloc|"
    r"realloc|memcpy|memset|memmove|dlopen|dlsym|clock_gettime|gettimeofday|nanosleep|ioctl|"
    r"syscall|_?Py[A-Z](?!nit_)\w+"
)
ADVISED = (
    (re.compile(r"(secure_)?getenv"), "reads the environment"),
    (re.compile(r"u?sleep|nanosleep|clock_nanosleep|sched_yield"), "waits"),
    (
        re.compile(r"cudaGetDriverEntryPoint\w*|cuGetProcAddress\w*"),
        "looks up the driver's functions by name",
    ),
    (re.compile(r"(aoti_)?torch_call_dispatcher"), "calls torch's operators by name"),
    (re.compile(r"cudnnBackend\w+"), "lets cuDNN run whole graphs"),
    (re.compile(r"cublas\w*(geam|dgmm)\w*"), "lets cuBLAS do more than matrix products"),
    (re.compile(r"cudaHost(Alloc|Register)\w*|cudaMallocHost"), "uses the host's memory"),
)
# The whole text may be longer than what is kept of an output.
DISASSEMBLE = (
    f"{OBJDUMP} -d --no-show-raw-insn -- \"$0\" | grep -E -m 1 ':[[:space:]]+(syscall|sysenter|int +.0x80)'"
)


def check(trial: Trial) -> Rejected | None:
    """Refuses, or notes on the trial which libraries are asked for and what is odd."""
    assert trial.build is not None
    rejected = breach(trial.build, trial.candidate.form, trial.device.kind)
    if rejected is not None:
        return rejected
    trial.libraries = torch_and_libraries(trial.build)
    trial.advice += odd(trial.build, trial.device.kind)
    return system_call(trial.build, trial.toolchain.runner)


def breach(build: Build, form: Form, device_kind: str) -> Rejected | None:
    """The first thing that the build asks for and may not."""
    is_cpu = device_kind == "cpu"
    needed = _needed(build) - OF_CPU_DEVICE if is_cpu else _needed(build)
    for ban in BANS:
        if found := [name for name in needed if ban.pattern.match(name)]:
            return _rejected(ban.rule, found, ban.why)
    if form is Form.LAUNCHER and (found := [name for name in needed if NATIVE_PYTHON.fullmatch(name)]):
        return _rejected("native-python", found, "a launcher has no business with Python")
    if computing := list(_computing(needed)):
        return _rejected("torch-compute", computing, "torch may make tensors, view, copy and cast them")
    if not is_cpu and (defined := [name for name in _defined(build) if INTERPOSED.fullmatch(name)]):
        message = f"the built program defines {_listed(defined)}, which others call for something else"
        return Rejected(rule="native-code", where=_where(build), message=message)
    return None


def torch_and_libraries(build: Build) -> tuple[str, ...]:
    """The products and convolutions of torch's, cuBLAS's and cuDNN's that the build asks for."""
    needed = _needed(build)
    found = {name for name in needed if HONEST_LIBRARY.fullmatch(name)}
    found |= {spelled for operator, spelled in _operators(needed) if kind_from_cpp(operator) is Kind.LIBRARY}
    return tuple(sorted(found))


def odd(build: Build, device_kind: str) -> list[str]:
    """What a reader of the program should look at."""
    if device_kind == "cpu":  # the stand-ins for CUDA do some of it themselves
        return []
    needed = _needed(build)
    return [
        f"the built program {what}: {_listed(found)}"
        for pattern, what in ADVISED
        if (found := [name for name in needed if pattern.fullmatch(name)])
    ]


def _needed(build: Build) -> frozenset[str]:
    return frozenset().union(*map(imported, build.libraries)) - set(build.linked_needs)


def _defined(build: Build) -> frozenset[str]:
    return frozenset().union(*map(insisting_exports, build.libraries))


def _computing(needed: Iterable[str]) -> Iterator[str]:
    """Those of torch's functions that compute, as C++ spells them."""
    for operator, spelled in _operators(needed):
        if kind_from_cpp(operator) is Kind.COMPUTE:
            yield spelled
    for name in needed:
        if found := AT_NATIVE.match(name):
            yield f"at::native::{found[1]}"


def _operators(needed: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The operators of torch's that are called: name with overload, and how it is spelled."""
    for name in needed:
        if found := ATEN.match(name):
            operator = found[2][: int(found[1])]
            yield operator, f"at::_ops::{operator}"
        elif found := STABLE_ATEN.fullmatch(name):
            yield found[1], name


def system_call(build: Build, runner: Runner) -> Rejected | None:
    """Whether its own machine code enters the kernel, as a disassembler sees it where there is one."""
    for path in build.libraries:
        if not (OBJDUMP.is_file() and may_call_system(path)):
            continue
        command = Command(
            argv=("/bin/sh", "-c", DISASSEMBLE, str(path)),
            cwd=path.parent,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
            readable=(build.folder,),
            writable=(),
            limits=Limits(wall_s=OBJDUMP_LIMIT_S, memory_bytes=2 << 30),
        )
        if runner.run(command).stdout:
            return _rejected("native-process", ["syscall"], "its own code calls the system's kernel")
    return None


def _rejected(rule: str, found: list[str], why: str) -> Rejected:
    return Rejected(rule=rule, where=found[0], message=f"the built program calls {_listed(found)}: {why}")


def _listed(found: list[str]) -> str:
    shown = sorted(found)
    return ", ".join(shown[:MAX_NAMES]) + (" ..." if len(shown) > MAX_NAMES else "")


def _where(build: Build) -> str:
    return build.libraries[0].name
