"""Device memory that the oracle lends to guests by CUDA IPC, and how tensors lie in it.

An arena is one allocation of the driver's own, apart from torch's: what a guest can reach through it is the
arena and nothing else of the oracle's. The driver's calls are used directly, because torch's own way needs
files in /dev/shm that a sandbox hides.
"""

import ctypes
from typing import Any, Final

import torch

from warpsmith.judge.protocol import Loan
from warpsmith.judge.tensorfile import Room

BLOCK_BYTES: Final = (
    2 << 20
)  # the driver packs smaller allocations together, and a loan shows its whole block
HANDLE_BYTES: Final = 64
_LAZY_PEER_ACCESS: Final = 1


class ArenaError(RuntimeError):
    """The driver refused; its call and its code."""


class _Handle(ctypes.Structure):
    """CUipcMemHandle, which the driver takes by value."""

    _fields_ = (("reserved", ctypes.c_char * HANDLE_BYTES),)


class Arena:
    """A row of bytes of device memory, which lives as long as its owner's process."""

    def __init__(self, pointer: int, loan: Loan) -> None:
        self.loan = loan
        self.memory = torch.as_tensor(_Bytes(pointer, loan.num_bytes), device="cuda")

    @classmethod
    def allocated(cls, *, answer_bytes: int, input_bytes: int, num_slots: int) -> "Arena":
        """A new one, with room for two answers and `num_slots` input sets of these sizes.

        Raises ArenaError if there is no room.
        """
        _make_context()
        needed = 2 * answer_bytes + num_slots * input_bytes
        num_bytes = -(-needed // BLOCK_BYTES) * BLOCK_BYTES
        pointer, handle = ctypes.c_uint64(), _Handle()
        _call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(num_bytes))
        _call("cuIpcGetMemHandle", ctypes.byref(handle), pointer)
        loan = Loan(
            handle=bytes(handle).hex(),
            num_bytes=num_bytes,
            answer_bytes=answer_bytes,
            input_bytes=input_bytes,
        )
        return cls(pointer.value, loan)

    @classmethod
    def borrowed(cls, loan: Loan) -> "Arena":
        """Another process's. Raises ArenaError if it cannot be opened from here."""
        _make_context()
        handle = _Handle.from_buffer_copy(bytes.fromhex(loan.handle))
        pointer = ctypes.c_uint64()
        _call("cuIpcOpenMemHandle_v2", ctypes.byref(pointer), handle, ctypes.c_uint(_LAZY_PEER_ACCESS))
        return cls(pointer.value, loan)

    def answers(self, index: int) -> Room:
        """The part for answer 0 or 1."""
        return Room(self.memory, *self.loan.answers(index))

    def slot(self, index: int) -> Room:
        """The part for an input set; indices wrap around."""
        return Room(self.memory, *self.loan.slot(index))


class _Bytes:
    """Memory in the form that torch takes over without a copy."""

    def __init__(self, pointer: int, num_bytes: int) -> None:
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (num_bytes,),
            "typestr": "|u1",
            "data": (pointer, False),
            "version": 2,
        }


def _make_context() -> None:
    torch.cuda.init()
    torch.cuda.synchronize()  # makes torch's context, which the driver's calls below then use


def _call(function: str, *arguments: object) -> None:
    code = getattr(ctypes.CDLL("libcuda.so.1"), function)(*arguments)
    if code != 0:
        raise ArenaError(f"{function} failed with code {code}")
