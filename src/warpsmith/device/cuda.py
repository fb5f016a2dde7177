"""The GPUs of this machine, asked of their driver. Neither torch nor a CUDA context is needed."""

import ctypes
from dataclasses import dataclass
from typing import Final

# Members of CUdevice_attribute.
_CLOCK_KHZ: Final = 13
_NUM_SMS: Final = 16
_MEMORY_CLOCK_KHZ: Final = 36
_MEMORY_BUS_BITS: Final = 37
_L2_BYTES: Final = 38
_CAPABILITY_MAJOR: Final = 75
_CAPABILITY_MINOR: Final = 76


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverGpu:
    """What the driver says of one GPU."""

    name: str
    uuid: str  # "GPU-…", as nvidia-smi prints it
    capability: tuple[int, int]
    num_sms: int
    l2_bytes: int
    memory_bytes: int
    clock_hz: float
    memory_clock_hz: float  # 0 where the driver does not say
    memory_bus_bits: int

    @property
    def arch(self) -> str:
        major, minor = self.capability
        # From 9.0 on, wgmma, TMA and their successors exist only in the architecture-specific ("a") target.
        return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


@dataclass(frozen=True, slots=True)
class NoGpu:
    """There is no GPU to use here, and why."""

    reason: str


class _DriverError(Exception):
    """A driver call failed. Caught in `find_gpus`, never seen outside."""


def find_gpus() -> tuple[DriverGpu, ...] | NoGpu:
    """The GPUs this process may use, in the driver's order; CUDA_VISIBLE_DEVICES applies. Never empty."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return NoGpu("there is no NVIDIA driver (libcuda.so.1) on this machine")
    driver = _Driver(library)
    try:
        driver.call("cuInit", 0)
        gpus = tuple(driver.gpu(ordinal) for ordinal in range(driver.count()))
    except _DriverError as error:
        return NoGpu(str(error))
    return gpus or NoGpu("the NVIDIA driver sees no GPU")


class _Driver:
    """libcuda, one method a question."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def call(self, function: str, *arguments: object) -> None:
        code = getattr(self._library, function)(*arguments)
        if code != 0:
            raise _DriverError(
                f"the NVIDIA driver's {function} failed with {self._error_name(code)} ({code})"
            )

    def count(self) -> int:
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def gpu(self, ordinal: int) -> DriverGpu:
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), ordinal)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, len(name), device)
        memory_bytes = ctypes.c_size_t()
        self.call("cuDeviceTotalMem_v2", ctypes.byref(memory_bytes), device)
        return DriverGpu(
            name=name.value.decode(),
            uuid=self._uuid(device),
            capability=(
                self._attribute(_CAPABILITY_MAJOR, device),
                self._attribute(_CAPABILITY_MINOR, device),
            ),
            num_sms=self._attribute(_NUM_SMS, device),
            l2_bytes=self._attribute(_L2_BYTES, device),
            memory_bytes=memory_bytes.value,
            clock_hz=self._attribute(_CLOCK_KHZ, device) * 1e3,
            memory_clock_hz=self._attribute(_MEMORY_CLOCK_KHZ, device) * 1e3,
            memory_bus_bits=self._attribute(_MEMORY_BUS_BITS, device),
        )

    def _attribute(self, attribute: int, device: ctypes.c_int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        return value.value

    def _uuid(self, device: ctypes.c_int) -> str:
        raw = (ctypes.c_ubyte * 16)()
        # The second version tells the instances of a partitioned GPU apart.
        self.call("cuDeviceGetUuid_v2", ctypes.byref(raw), device)
        digits = bytes(raw).hex()
        return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def _error_name(self, code: int) -> str:
        name = ctypes.c_char_p()
        self._library.cuGetErrorName(code, ctypes.byref(name))
        return name.value.decode() if name.value else "an unknown error"
