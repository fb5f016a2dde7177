"""What a launcher is: an `extern "C"` function that Python may call with tensors and numbers."""

from dataclasses import dataclass
from enum import StrEnum


class ParameterKind(StrEnum):
    """How Python passes a parameter."""

    POINTER = "pointer"  # a tensor
    INTEGER = "integer"
    FLOATING = "floating"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter that Python passes; the stream is none of them."""

    name: str
    kind: ParameterKind
    ctype: str  # as C spells it, without qualifiers: "float", "unsigned char", "__half"; a pointer's target
    dtype: str | None  # of the tensor, as torch spells it; None for any (void*), and for a number
    is_const: bool = False  # a pointer to const: an input
    is_optional: bool = False  # a pointer that defaults to nullptr: None may be passed


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """One function of the library, as its source declares it."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: str = "int"  # "void", "int", "cudaError_t" or "cublasStatus_t"
    has_stream: bool = True  # the last C parameter is a cudaStream_t
    where: str = ""  # file:line

    @property
    def returns_status(self) -> bool:
        """Zero means success; anything else is raised in Python."""
        return self.returns != "void"


# C spelling -> torch dtypes that may stand behind a pointer to it; the first is the usual one.
POINTER_DTYPES: dict[str, tuple[str, ...]] = {
    "float": ("float32",),
    "double": ("float64",),
    "__half": ("float16",),
    "__nv_bfloat16": ("bfloat16",),
    "__nv_fp8_e4m3": ("float8_e4m3fn",),
    "__nv_fp8_e5m2": ("float8_e5m2",),
    "bool": ("bool",),
    "char": ("int8", "uint8", "bool"),
    "signed char": ("int8",),
    "unsigned char": ("uint8", "bool"),
    "short": ("int16",),
    "unsigned short": ("uint16", "int16"),
    "int": ("int32",),
    "unsigned int": ("uint32", "int32"),
    "long long": ("int64",),
    "unsigned long long": ("uint64", "int64"),
    "cuFloatComplex": ("complex64",),
    "cuDoubleComplex": ("complex128",),
    "void": (),
}

# A pointer to a vector type: its element's spelling and how many bytes the address must be a multiple of.
VECTORS: dict[str, tuple[str, int]] = {
    "float2": ("float", 8),
    "float4": ("float", 16),
    "double2": ("double", 16),
    "__half2": ("__half", 4),
    "__nv_bfloat162": ("__nv_bfloat16", 4),
    "char2": ("char", 2),
    "char4": ("char", 4),
    "uchar2": ("unsigned char", 2),
    "uchar4": ("unsigned char", 4),
    "short2": ("short", 4),
    "short4": ("short", 8),
    "int2": ("int", 8),
    "int4": ("int", 16),
    "uint2": ("unsigned int", 8),
    "uint4": ("unsigned int", 16),
    "longlong2": ("long long", 16),
}

# C spelling -> (ctypes name, smallest, largest) of a number passed by value.
INTEGERS: dict[str, tuple[str, int, int]] = {
    "bool": ("c_bool", 0, 1),
    "char": ("c_int8", -(1 << 7), (1 << 7) - 1),
    "signed char": ("c_int8", -(1 << 7), (1 << 7) - 1),
    "unsigned char": ("c_uint8", 0, (1 << 8) - 1),
    "short": ("c_int16", -(1 << 15), (1 << 15) - 1),
    "unsigned short": ("c_uint16", 0, (1 << 16) - 1),
    "int": ("c_int32", -(1 << 31), (1 << 31) - 1),
    "unsigned int": ("c_uint32", 0, (1 << 32) - 1),
    "long long": ("c_int64", -(1 << 63), (1 << 63) - 1),
    "unsigned long long": ("c_uint64", 0, (1 << 64) - 1),
}
FLOATING: dict[str, str] = {"float": "c_float", "double": "c_double"}

# Other spellings of the above (LP64: a long is a long long).
SYNONYMS: dict[str, str] = {
    "half": "__half",
    "nv_bfloat16": "__nv_bfloat16",
    "bfloat16": "__nv_bfloat16",
    "half2": "__half2",
    "nv_bfloat162": "__nv_bfloat162",
    "cuComplex": "cuFloatComplex",
    "float_t": "float",
    "double_t": "double",
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long long",
    "uint64_t": "unsigned long long",
    "size_t": "unsigned long long",
    "ssize_t": "long long",
    "ptrdiff_t": "long long",
    "intptr_t": "long long",
    "uintptr_t": "unsigned long long",
    "uchar": "unsigned char",
    "ushort": "unsigned short",
    "uint": "unsigned int",
    "ulong": "unsigned long long",
}
STREAMS = ("cudaStream_t", "CUstream")
STATUSES = ("void", "int", "cudaError_t", "cublasStatus_t")

ACCEPTED = (
    "a launcher returns void, int, cudaError_t or cublasStatus_t and takes pointers (float, double, __half, "
    "__nv_bfloat16, fp8, integers, bool, their vector types, void), integers (bool, char to long long, "
    "intN_t, size_t), float, double, and last a cudaStream_t"
)
