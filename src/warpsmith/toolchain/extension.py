"""Writes `cuda_extension.py`: one Python function a launcher, over ctypes.

The file is meant to be read, and to be shipped with the program: it needs torch and the library beside it.
Each function is written out for its own parameters, since a generic one costs several times as much a call.
"""

from collections.abc import Iterator
from string import Template

from warpsmith.toolchain.launchers import (
    FLOATING,
    INTEGERS,
    POINTER_DTYPES,
    VECTORS,
    Launcher,
    Parameter,
    ParameterKind,
)

MODULE = "cuda_extension.py"
LIBRARY = "libcandidate.so"

HEAD = Template('''\
"""Python functions for the CUDA launchers in $library, which lies beside this file.

Generated from the launchers' C signatures. A tensor is passed as its pointer once its type, dtype, device and
contiguity are checked; $where.
A status other than zero is raised as RuntimeError.
"""

import ctypes
import operator
from pathlib import Path

import torch
$guard
_library = ctypes.CDLL(str(Path(__file__).with_name("$library")))
_TENSORS = (torch.Tensor, torch.nn.Parameter)  # a subclass may hide its data


def _bind(name, restype, *argtypes):
    function = _library[name]
    function.restype, function.argtypes = restype, argtypes
    return function


_last_error = _bind("cudaGetLastError", ctypes.c_int)
_error_text = _bind("cudaGetErrorString", ctypes.c_char_p, ctypes.c_int)


def _refuse(launcher, name, value, device, dtypes, alignment):
    """Say what is wrong with an argument that should have been a tensor."""
    kind = " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes) or "any dtype"
    wanted = f"{launcher}: {name} must be a contiguous tensor of {kind} on {device}"
    if type(value) not in _TENSORS:
        raise TypeError(f"{wanted}; got {type(value).__name__}")
    facts = f"{value.dtype} on {value.device}, shape {tuple(value.shape)}, strides {value.stride()}"
    if dtypes and value.dtype not in dtypes:
        raise TypeError(f"{wanted}; got {facts}")
    if alignment > 1:
        wanted += f", at an address that is a multiple of {alignment}"
    raise ValueError(f"{wanted}; got {facts}")


def _integer(launcher, name, value, low, high):
    """`value` as an int that fits its C type."""
    if isinstance(value, torch.Tensor) or not hasattr(value, "__index__"):
        raise TypeError(f"{launcher}: {name} must be an int; got {type(value).__name__}")
    number = operator.index(value)
    if not low <= number <= high:
        raise ValueError(f"{launcher}: {name} must be from {low} to {high}; got {number}")
    return number


def _floating(launcher, name, value):
    if isinstance(value, torch.Tensor) or not hasattr(value, "__float__"):
        raise TypeError(f"{launcher}: {name} must be a float; got {type(value).__name__}")
    return float(value)


def _failed(launcher, status):
    raise RuntimeError(f"{launcher} returned {status} (as a cudaError_t: {_error_text(status).decode()})")


def _failed_in_cublas(launcher, status):
    raise RuntimeError(f"{launcher} returned cublasStatus_t {status}")
''')

GUARD = """
if not torch.backends.cuda.is_built():
    raise ImportError("this program was built for an NVIDIA GPU, and the torch installed here has no CUDA")

"""
ON_CUDA = """

_current_device = torch._C._cuda_getDevice
_current_stream = torch._C._cuda_getCurrentRawStream
"""

ON_CPU = '''

class _Traffic:
    """What the launchers were given since the last reset."""

    bytes_touched = 0


TRAFFIC = _Traffic()


def counters():
    """Since the last reset: bytes of the tensors passed, kernels launched, operations of library calls."""
    counts = (ctypes.c_longlong * 4)()
    _library.warpsmith_counters_read(counts)
    return {"bytes": TRAFFIC.bytes_touched, "launches": counts[0], "library_flops": counts[2]}


def reset_counters():
    TRAFFIC.bytes_touched = 0
    _library.warpsmith_counters_reset()
'''

WHERE = {
    "cuda": "kernels go to the current stream of the current device",
    "cpu": "kernels run on the CPU before the call returns",
}


def extension_source(launchers: tuple[Launcher, ...], device_kind: str) -> str:
    """The text of `cuda_extension.py` for a library that exports `launchers`; `device_kind` as in Device."""
    is_cuda = device_kind == "cuda"
    head = HEAD.substitute(library=LIBRARY, where=WHERE[device_kind], guard=GUARD if is_cuda else "")
    dtypes = sorted({dtype for launcher in launchers for p in launcher.parameters for dtype in _dtypes(p)})
    lines = [*(f"_{dtype} = torch.{dtype}" for dtype in dtypes), ""]
    for launcher in launchers:
        lines += ["", *_function(launcher, is_cuda=is_cuda), ""]
    return "\n".join([head + (ON_CUDA if is_cuda else ON_CPU), *lines])


def prototype(launcher: Launcher) -> str:
    """The launcher's C declaration, as this project understood it."""
    parts = [
        f"{'const ' * p.is_const}{p.ctype}{'*' * (p.kind is ParameterKind.POINTER)} {p.name}"
        for p in launcher.parameters
    ]
    parts += ["cudaStream_t stream"] * launcher.has_stream
    return f"{launcher.returns} {launcher.name}({', '.join(parts)})"


def _function(launcher: Launcher, *, is_cuda: bool) -> Iterator[str]:
    name, parameters = launcher.name, launcher.parameters
    restype = "ctypes.c_int" if launcher.returns_status else "None"
    argtypes = [*map(_argtype, parameters), *["ctypes.c_void_p"] * launcher.has_stream]
    arguments = [*map(_argument, parameters)]
    if launcher.has_stream:
        arguments.append("_current_stream(_device)" if is_cuda else "None")
    call = f"_c_{name}({', '.join(arguments)})"
    failed = "_failed_in_cublas" if launcher.returns == "cublasStatus_t" else "_failed"

    yield f"_c_{name} = _bind({', '.join([repr(name), restype, *argtypes])})".replace("'", '"')
    yield from ("", "", f"def {name}({', '.join(_formals(parameters))}):")
    yield f'    """{prototype(launcher)}: {launcher.where}."""'
    if is_cuda:
        yield "    _device = _current_device()"
    for parameter in parameters:
        yield from _check(name, parameter, is_cuda=is_cuda)
    if not is_cuda and (touched := _touched(parameters)):
        yield f"    TRAFFIC.bytes_touched += {touched}"
    yield f"    _status = {call}" if launcher.returns_status else f"    {call}"
    if not launcher.returns_status:
        yield "    _status = _last_error()"
    yield from ("    if _status:", f'        {failed}("{name}", _status)')


def _dtypes(parameter: Parameter) -> tuple[str, ...]:
    if parameter.kind is not ParameterKind.POINTER:
        return ()
    return POINTER_DTYPES[VECTORS.get(parameter.ctype, (parameter.ctype, 1))[0]]


def _formals(parameters: tuple[Parameter, ...]) -> list[str]:
    """The parameter list; only its tail may have defaults."""
    num_required = max((i + 1 for i, p in enumerate(parameters) if not p.is_optional), default=0)
    return [p.name if i < num_required else f"{p.name}=None" for i, p in enumerate(parameters)]


def _argtype(parameter: Parameter) -> str:
    match parameter.kind:
        case ParameterKind.POINTER:
            return "ctypes.c_void_p"
        case ParameterKind.INTEGER:
            return f"ctypes.{INTEGERS[parameter.ctype][0]}"
        case ParameterKind.FLOATING:
            return f"ctypes.{FLOATING[parameter.ctype]}"


def _argument(parameter: Parameter) -> str:
    if parameter.kind is not ParameterKind.POINTER:
        return parameter.name
    pointer = f"{parameter.name}.data_ptr()"
    return f"None if {parameter.name} is None else {pointer}" if parameter.is_optional else pointer


def _check(launcher: str, parameter: Parameter, *, is_cuda: bool) -> Iterator[str]:
    name = parameter.name
    match parameter.kind:
        case ParameterKind.POINTER:
            yield from _check_tensor(launcher, parameter, is_cuda=is_cuda)
        case ParameterKind.INTEGER:
            _, low, high = INTEGERS[parameter.ctype]
            yield f"    if type({name}) is not int or not {low} <= {name} <= {high}:"
            yield f'        {name} = _integer("{launcher}", "{name}", {name}, {low}, {high})'
        case ParameterKind.FLOATING:
            yield f"    if type({name}) is not float:"
            yield f'        {name} = _floating("{launcher}", "{name}", {name})'


def _check_tensor(launcher: str, parameter: Parameter, *, is_cuda: bool) -> Iterator[str]:
    name, dtypes = parameter.name, [f"_{dtype}" for dtype in _dtypes(parameter)]
    alignment = VECTORS.get(parameter.ctype, ("", 1))[1]
    faults = [f"type({name}) not in _TENSORS"]
    if len(dtypes) == 1:
        faults.append(f"{name}.dtype is not {dtypes[0]}")
    elif dtypes:
        faults.append(f"{name}.dtype not in ({', '.join(dtypes)})")
    faults.append(f"{name}.get_device() != _device" if is_cuda else f"not {name}.is_cpu")
    faults.append(f"not {name}.is_contiguous()")
    if alignment > 1:
        faults.append(f"{name}.data_ptr() % {alignment}")
    test = " or ".join(faults)
    yield f"    if {name} is not None and ({test}):" if parameter.is_optional else f"    if {test}:"
    device = 'f"cuda:{_device}"' if is_cuda else '"cpu"'
    allowed = f"({', '.join(dtypes)}{',' * (len(dtypes) == 1)})"
    yield f'        _refuse("{launcher}", "{name}", {name}, {device}, {allowed}, {alignment})'


def _touched(parameters: tuple[Parameter, ...]) -> str:
    """The bytes of all tensors passed, as an expression; empty if there is none."""
    pointers = [p for p in parameters if p.kind is ParameterKind.POINTER]
    return " + ".join(
        f"(0 if {p.name} is None else {p.name}.nbytes)" if p.is_optional else f"{p.name}.nbytes"
        for p in pointers
    )
