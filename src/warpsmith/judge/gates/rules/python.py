"""The hard rules for a candidate's Python."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from warpsmith.core.candidate import MODULE
from warpsmith.judge.gates.rules.source import OWN_EXTENSION, Finding, Source, attribute, is_reacher
from warpsmith.judge.names import names


@dataclass(frozen=True, slots=True)
class Rule:
    """A name to be told by, and how to find breaches."""

    name: str
    find: Callable[[Source], Iterator[Finding]]


# Nothing of these may be imported: other processes, other code, the interpreter, the judge.
FOREIGN = names(
    "ctypes cffi _ctypes subprocess _posixsubprocess socket _socket ssl multiprocessing _multiprocessing "
    "concurrent asyncio selectors signal faulthandler resource mmap fcntl pty posix _io nt ptrace "
    "importlib _frozen_importlib imp pkgutil runpy zipimport builtins __builtin__ __main__ code codeop "
    "dis bdb pdb trace tracemalloc sysconfig marshal pickle _pickle dill cloudpickle shelve copyreg "
    "symtable atexit _thread unittest mock pytest urllib http requests ftplib smtplib xmlrpc "
    "webbrowser io fileinput shutil glob sqlite3 dbm zipfile tarfile gzip bz2 lzma base64 "
    "codecs binascii zlib warpsmith reference model task numba cupy tvm tvm_ffi jax psutil pynvml cuda"
)
# Of these modules nothing may be used but what the second table names.
GUARDED = names("sys os gc inspect threading types traceback pathlib")
ALLOWED = names(
    "sys.path sys.version sys.version_info sys.platform sys.maxsize sys.stderr sys.stdout sys.byteorder "
    "sys.float_info os.path os.environ os.getenv os.makedirs os.cpu_count os.sep os.linesep os.fspath "
    "os.PathLike gc.collect gc.disable gc.enable gc.freeze inspect.signature inspect.cleandoc "
    "inspect.isclass inspect.isfunction threading.Lock threading.RLock threading.local "
    "types.SimpleNamespace types.MethodType types.MappingProxyType traceback.format_exc "
    "traceback.print_exc pathlib.Path pathlib.PurePath pathlib.PurePosixPath"
)
# Modules that others have as an attribute, by which they could be had without an import.
LEAKED = names(
    "sys os gc inspect threading builtins ctypes subprocess socket importlib pickle marshal shutil io "
    "traceback _thread __main__"
)
BUILTINS = names("exec eval compile __import__ globals breakpoint __builtins__ __loader__ __spec__")
ATTRIBUTES = names(
    "__globals__ __subclasses__ __bases__ __base__ __mro__ mro __code__ __closure__ __builtins__ __import__ "
    "__loader__ __spec__ __getattribute__ __reduce__ __reduce_ex__ __self__ __func__ __wrapped__ "
    "__defaults__ __kwdefaults__ __traceback__ __context__ __cause__ tb_frame tb_next f_back f_locals "
    "f_globals f_builtins f_code gi_frame gi_code cr_frame ag_frame cell_contents with_traceback"
)
FILES = names(
    "read_text read_bytes write_text write_bytes iterdir rglob unlink rmdir touch symlink_to hardlink_to "
    "tofile fromfile memmap loadtxt savetxt genfromtxt"
)
# Other ways into compiled code, what hides operators from the judge, and the switches of its own checks.
TORCH_NEVER = names(
    "torch._C torch._dynamo torch._inductor torch._ops torch._library torch._subclasses torch._prims "
    "torch._decomp torch._refs torch._functorch torch.compile torch.jit torch.library torch.classes "
    "torch.ops.load_library torch.ops.loaded_libraries torch.utils torch.overrides torch.fx torch.export "
    "torch.hub torch.load torch.save torch.package torch.multiprocessing torch.distributed torch.from_file "
    "torch.serialization torch.storage torch.UntypedStorage torch.TypedStorage "
    "torch.use_deterministic_algorithms torch.set_deterministic_debug_mode torch.cuda.cudart "
    "torch.cuda.memory torch.cuda.caching_allocator_alloc torch.cuda.caching_allocator_delete "
    "torch.cuda.CUDAPluggableAllocator torch.cuda.change_current_allocator torch.cuda._sleep "
    "torch.cuda.set_device torch.cuda._compile_kernel torch.Tensor._make_subclass "
    "torch.Tensor._make_wrapper_subclass torch.Tensor.as_subclass torch.autograd.forward_ad"
)
TORCH_AGAIN = names(
    "torch._C._cuda_getCurrentRawStream torch._C._cuda_getDevice torch.jit.ignore torch.jit.unused "
    "torch.jit.export torch.jit.is_scripting torch.jit.is_tracing torch.jit.Final torch.jit.interface "
    "torch.utils.cpp_extension torch.utils.checkpoint torch.utils.data torch.utils._pytree "
    "torch.storage.device"
)
SUBCLASSES = names(
    "torch.Tensor torch.nn.Parameter torch.nn.parameter.Parameter torch.nn.Buffer torch.cuda.Event "
    "torch.cuda.Stream torch.cuda.CUDAGraph"
)
# Of the generated module: the judge's counters, and what it imports for itself.
INTERNALS = names("TRAFFIC counters reset_counters ctypes operator torch Path")
HOOKS = names("__torch_function__ __torch_dispatch__")
# Flags of torch's that say how precisely a library may compute: no rule's business, but the reader's.
SWITCHES = ("torch.backends.",)
VARIABLE = re.compile(r"(TORCH|CUDA|CUBLAS|CUDNN|NVCC|NVIDIA|PYTORCH|MAX_JOBS|CC\Z|CXX\Z|NINJA|OMP_)\w*\Z")
OWN_FILE = re.compile(r"(?!/)(?!.*\.\.)[\w./+-]*\.(cu|cuh|h|hpp|cpp)\Z")
STORAGE = names("untyped_storage storage typed_storage _typed_storage")
OF_STORAGE = names("data_ptr nbytes size device resize_")


def _no_model(source: Source) -> Iterator[Finding]:
    if source.path == MODULE and "ModelNew" not in source.bound | source.stands_for.keys():
        yield Finding(1, f"{MODULE} must define class ModelNew(torch.nn.Module) at its top level")


def _foreign_import(source: Source) -> Iterator[Finding]:
    for node in source.nodes:
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        for module in modules:
            top = module.partition(".")[0]
            if top in FOREIGN - source.own:
                yield Finding(
                    _line(node), f"`{module}` may not be imported: a program deals with its tensors"
                )
        if isinstance(node, ast.ImportFrom) and node.module in GUARDED and node.names[0].name == "*":
            yield Finding(node.lineno, f"`from {node.module} import *` may not stand here: name what you use")


def _interpreter(source: Source) -> Iterator[Finding]:
    for node in source.nodes:
        if isinstance(node, ast.Name) and node.id in BUILTINS - source.bound:
            yield Finding(node.lineno, f"`{node.id}` may not be used: what a program does stands in its text")
        reached = attribute(node)
        if reached is not None and reached[1] in ATTRIBUTES:
            message = f"`{reached[1]}` may not be used: it reaches into the interpreter"
            yield Finding(_line(node), message)
    for node, name in source.uses():
        if LEAKED & set(name.split(".")[1:]):
            yield Finding(_line(node), f"`{name}` may not be used: import what you need by its own name")
        if name.partition(".")[0] in GUARDED - {"os", "pathlib"} and not _is_among(name, ALLOWED):
            yield Finding(_line(node), f"`{name}` may not be used: it reaches into the interpreter")


def _files(source: Source) -> Iterator[Finding]:
    for node, name in source.uses():
        if name.partition(".")[0] in ("os", "pathlib") and not _is_among(name, ALLOWED):
            yield Finding(_line(node), f"`{name}` may not be used: a program deals with its tensors alone")
        is_environment = name in ("os.environ", "os.getenv") or name.startswith("os.environ.")
        if is_environment and not _is_about_building(source, node):
            message = "of the environment only variables that steer a build may be used (TORCH_*, CUDA_*)"
            yield Finding(_line(node), message)
    for node in source.nodes:
        if _opens_file(source, node) and not _is_own_file(source, node):
            message = "no file may be opened but the program's own CUDA sources, named beside `__file__`"
            yield Finding(_line(node), message)


def _hidden(source: Source) -> Iterator[Finding]:
    for node in source.nodes:
        if not isinstance(node, ast.Call):
            continue
        if is_reacher(node) and not isinstance(node.args[1], ast.Constant) and source.foreign(node.args[0]):
            message = f"a name within `{source.foreign(node.args[0])}` must be written out"
            yield Finding(node.lineno, message)
        is_vars = isinstance(node.func, ast.Name) and node.func.id == "vars" and node.args
        if is_vars and source.foreign(node.args[0]):
            yield Finding(node.lineno, f"`vars({source.foreign(node.args[0])})` may not be used")
    for node, name in source.uses():
        call = source.parents.get(node)
        is_given = isinstance(call, ast.Call) and node in call.args and not is_reacher(call)
        if is_given and "." not in name:
            yield Finding(_line(node), f"the module `{name}` may not be handed to a function")
        if name.endswith(".__dict__") or ".__dict__." in name:
            yield Finding(_line(node), f"`{name}` may not be used: write out the name that you need")


def _patch(source: Source) -> Iterator[Finding]:
    for node in source.nodes:
        target = _changed(node)
        name = None if target is None else source.dotted(target)
        if name is not None and not name.startswith(SWITCHES) and name != "os.environ":
            yield Finding(_line(node), f"`{name}` is changed here: others rely on what it is")


def _own_extension(source: Source) -> Iterator[Finding]:
    for node in source.nodes:
        reached = attribute(node)
        name = "" if reached is None else source.dotted(reached[0]) or ""
        if reached is not None and name == OWN_EXTENSION and _is_internal(reached[1]):
            yield Finding(_line(node), f"`{name}.{reached[1]}` is no launcher of the program's")
        if isinstance(node, ast.ImportFrom) and node.module == OWN_EXTENSION:
            internal = [alias.name for alias in node.names if _is_internal(alias.name)]
            yield from (Finding(node.lineno, f"`{one}` is no launcher of the program's") for one in internal)
        if isinstance(node, ast.Call) and is_reacher(node) and source.dotted(node.args[0]) == OWN_EXTENSION:
            words = [part.value for part in ast.walk(node.args[1]) if isinstance(part, ast.Constant)]
            if any(isinstance(word, str) and word.startswith("_") for word in words[:1]):
                yield Finding(node.lineno, f"`{OWN_EXTENSION}` offers launchers alone")


def _is_internal(name: str) -> bool:
    return name in INTERNALS or (name.startswith("_") and not name.startswith("__"))


def _torch_inside(source: Source) -> Iterator[Finding]:
    for node, name in source.uses():
        if _is_among(name, TORCH_NEVER) and not _is_among(name, TORCH_AGAIN):
            message = f"`{name}` may not be used; write a kernel and call it through cuda_extension"
            yield Finding(_line(node), message)
    for node in source.nodes:
        reached = attribute(node.func) if isinstance(node, ast.Call) else None
        if reached is None or reached[1] not in STORAGE or source.dotted(node) is not None:
            continue
        parent = source.parents.get(node)
        if not (isinstance(parent, ast.Attribute) and parent.attr in OF_STORAGE):
            message = "of a tensor's storage only its address and size may be asked for"
            yield Finding(_line(node), message)


def _subclass(source: Source) -> Iterator[Finding]:
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                if source.dotted(base) in SUBCLASSES:
                    message = f"`{source.dotted(base)}` may have no subclass: it would answer for itself"
                    yield Finding(node.lineno, message)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in HOOKS:
            yield Finding(node.lineno, f"`{node.name}` may not be defined: it would answer for a tensor")


# Beside these, "syntax" is told where files are read, "torch-compute" by the gates `forward` and `symbols`,
# "own-kernels" by `coverage` and "channel" by `guest_client`.
RULES = (
    Rule("model", _no_model),
    Rule("import", _foreign_import),
    Rule("interpreter", _interpreter),
    Rule("files", _files),
    Rule("patch", _patch),
    Rule("hidden", _hidden),
    Rule("extension", _own_extension),
    Rule("torch-inside", _torch_inside),
    Rule("subclass", _subclass),
)


# --- reading a tree ---


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 1))


def _is_among(name: str, known: frozenset[str]) -> bool:
    """Whether `name` or a part of it from the left is known."""
    parts = name.split(".")
    return any(".".join(parts[: end + 1]) in known for end in range(len(parts)))


def _changed(node: ast.AST) -> ast.expr | None:
    """What a statement changes of something that exists: an attribute, an item, or through setattr."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        return node
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return node.value
    if not isinstance(node, ast.Call) or not node.args:
        return None
    if isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
        return node.args[0]
    is_slot = isinstance(node.func, ast.Attribute) and node.func.attr in ("__setattr__", "__delattr__")
    return node.args[0] if is_slot else None


def _is_about_building(source: Source, node: ast.AST) -> bool:
    """Whether what is read or set of the environment has a name, and one that is a compiler's business."""
    if isinstance(node, ast.ImportFrom):
        return True
    parent = source.parents.get(node)
    key: ast.AST | None = None
    if isinstance(parent, ast.Subscript) and parent.value is node:
        key = parent.slice
    elif isinstance(parent, ast.Call) and parent.func is node and parent.args:
        key = parent.args[0]
    elif isinstance(parent, ast.Compare) and node in parent.comparators:
        key = parent.left
    return isinstance(key, ast.Constant) and bool(VARIABLE.match(str(key.value)))


def _opens_file(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "open" and "open" not in source.bound
    return isinstance(node, ast.Attribute) and node.attr in FILES and not source.is_own(node)


def _is_own_file(source: Source, node: ast.AST) -> bool:
    """Whether it reads a CUDA source by a plain relative name; which folder that is under is seen there."""
    call = source.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node:
        return False
    is_reading = isinstance(node, ast.Name) or getattr(node, "attr", "") in ("read_text", "read_bytes")
    if isinstance(node, ast.Name) and (len(call.args) != 1 or _mode(call) != "r"):
        return is_reading and len(call.args) == 2 and _mode(call) == "r" and _names_source(call)
    return is_reading and _names_source(call)


def _mode(call: ast.Call) -> str:
    modes = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
    return "".join(str(mode.value) if isinstance(mode, ast.Constant) else "?" for mode in modes) or "r"


def _names_source(call: ast.Call) -> bool:
    texts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
    words = [text for text in texts if isinstance(text, str) and text not in ("r", "utf-8", "utf8")]
    return any(OWN_FILE.match(word) for word in words) and all(
        not word.startswith("/") and ".." not in word for word in words
    )
