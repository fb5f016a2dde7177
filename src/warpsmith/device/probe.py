"""A program of its own: run a kernel with a known answer on the first GPU, and tell how much memory is free.

Run by path with `python -I -S`; the standard library alone. Prints one JSON object: `free_bytes`,
`total_bytes`, and `problem`, which is empty if all is well.
"""

import ctypes
import json
import sys

COUNT = 1 << 16
BLOCK = 256
FACTOR, MASK = 0x9E3779B1, 0x5BD1E995  # any two numbers whose product and sum reach every bit
NO_COMPILER = (
    209,
    221,
    222,
)  # no image for this GPU, no JIT compiler, unsupported PTX: no fault of the GPU's

PTX = f"""
.version 6.5
.target sm_75
.address_size 64
.visible .entry answer(.param .u64 out, .param .u32 count)
{{
  .reg .pred %p;
  .reg .b32 %block, %size, %thread, %index, %count, %value;
  .reg .b64 %out, %offset;
  ld.param.u64 %out, [out];
  ld.param.u32 %count, [count];
  cvta.to.global.u64 %out, %out;
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %index, %block, %size, %thread;
  setp.ge.u32 %p, %index, %count;
  @%p bra DONE;
  mul.lo.u32 %value, %index, {FACTOR};
  xor.b32 %value, %value, {MASK};
  mul.wide.u32 %offset, %index, 4;
  add.u64 %out, %out, %offset;
  st.global.u32 [%out], %value;
DONE:
  ret;
}}
"""


class Problem(Exception):
    """The GPU or its driver did not do what it should."""


class Driver:
    """libcuda; each call that fails is a Problem."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Problem(f"there is no driver: {error}") from error

    def status(self, function: str, *arguments: object) -> int:
        return int(getattr(self._library, function)(*arguments))

    def call(self, function: str, *arguments: object) -> None:
        status = self.status(function, *arguments)
        if status != 0:
            raise Problem(f"{function} failed with error {status}")


def main() -> None:
    report = {"free_bytes": 0, "total_bytes": 0, "problem": ""}
    try:
        report["free_bytes"], report["total_bytes"] = examine(Driver())
    except Problem as problem:
        report["problem"] = str(problem)
    sys.stdout.write(json.dumps(report))


def examine(driver: Driver) -> tuple[int, int]:
    """The free and the total bytes of a GPU that gives the right answers. Raises Problem if it does not."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    driver.call("cuInit", 0)
    driver.call("cuDeviceGet", ctypes.byref(device), 0)
    driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    driver.call("cuCtxSetCurrent", context)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    memory = ctypes.c_uint64()
    driver.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4 * COUNT))
    driver.call("cuMemsetD32_v2", memory, ctypes.c_uint32(MASK), ctypes.c_size_t(COUNT))
    _compare(_read(driver, memory), [MASK] * COUNT, "memory that was filled")
    if _run_kernel(driver, memory):
        expected = [(index * FACTOR & 0xFFFFFFFF) ^ MASK for index in range(COUNT)]
        _compare(_read(driver, memory), expected, "a kernel's answer")
    return free.value, total.value


def _run_kernel(driver: Driver, memory: ctypes.c_uint64) -> bool:
    """Whether there is a compiler to run it with."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    status = driver.status("cuModuleLoadData", ctypes.byref(module), PTX.encode())
    if status in NO_COMPILER:
        return False
    if status != 0:
        raise Problem(f"cuModuleLoadData failed with error {status}")
    driver.call("cuModuleGetFunction", ctypes.byref(function), module, b"answer")
    count = ctypes.c_uint32(COUNT)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(memory), ctypes.addressof(count))
    grid = (ctypes.c_uint(COUNT // BLOCK), ctypes.c_uint(1), ctypes.c_uint(1))
    block = (ctypes.c_uint(BLOCK), ctypes.c_uint(1), ctypes.c_uint(1))
    nothing = ctypes.c_void_p()
    driver.call("cuLaunchKernel", function, *grid, *block, ctypes.c_uint(0), nothing, arguments, nothing)
    driver.call("cuCtxSynchronize")
    return True


def _read(driver: Driver, memory: ctypes.c_uint64) -> list[int]:
    values = (ctypes.c_uint32 * COUNT)()
    driver.call("cuMemcpyDtoH_v2", values, memory, ctypes.c_size_t(4 * COUNT))
    return list(values)


def _compare(found: list[int], expected: list[int], what: str) -> None:
    wrong = sum(one != other for one, other in zip(found, expected, strict=True))
    if wrong:
        raise Problem(f"{what} is wrong in {wrong} of {len(expected)} places")


if __name__ == "__main__":
    main()
