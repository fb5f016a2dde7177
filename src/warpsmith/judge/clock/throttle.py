"""How fast a GPU runs, and whether it slows itself down, asked of its management library if there is one."""

import ctypes
from typing import Final

# nvmlClocksEventReasons. A power cap is no trouble: every long product of matrices runs into it, candidate
# and baselines alike.
REASONS: Final = {
    0x08: "its hardware slows it down",
    0x20: "it is too hot",
    0x40: "its hardware finds it too hot",
    0x80: "its power supply brakes it",
}


SM_CLOCK: Final = 1  # nvmlClockType_t


class Throttle:
    """Asks about one GPU."""

    def __init__(self, uuid: str | None) -> None:
        self._handle = ctypes.c_void_p()
        self._library = _library() if uuid else None
        if self._library is not None and uuid is not None:
            found = self._library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(self._handle))
            if found != 0:
                self._library = None

    def reason(self) -> str | None:
        """Why the GPU runs slower than it could, if it does and if it says so."""
        if self._library is None:
            return None
        reasons = ctypes.c_ulonglong()
        ask = self._library.nvmlDeviceGetCurrentClocksThrottleReasons
        if ask(self._handle, ctypes.byref(reasons)) != 0:
            return None
        return next((text for bit, text in REASONS.items() if reasons.value & bit), None)

    def sm_mhz(self) -> int | None:
        """The multiprocessors' clock now; None if nobody tells."""
        if self._library is None:
            return None
        mhz = ctypes.c_uint()
        found = self._library.nvmlDeviceGetClockInfo(self._handle, SM_CLOCK, ctypes.byref(mhz))
        return mhz.value if found == 0 else None


def _library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return library if library.nvmlInit_v2() == 0 else None
