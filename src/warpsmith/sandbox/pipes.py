"""Reading from programs that may say too much, too little or nothing."""

import os
import select
import threading
import time
from enum import Enum
from typing import IO

CHUNK_BYTES = 1 << 16


class Capture:
    """Drains a stream in a thread of its own and keeps its beginning and its end, `keep_bytes` in all."""

    def __init__(self, stream: IO[bytes], keep_bytes: int) -> None:
        self._stream = stream
        self._half = max(keep_bytes // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._num_dropped = 0
        self._lock = threading.Lock()  # a trim moves what a reader is about to copy
        self._thread = threading.Thread(target=self._drain, name="warpsmith-capture", daemon=True)
        self._thread.start()

    def text(self, *, wait_s: float) -> str:
        """What was written, after waiting up to `wait_s` for the stream to end."""
        self._thread.join(wait_s)
        tail = bytes(self._tail)
        dropped = self._num_dropped + max(len(tail) - self._half, 0)
        note = _left_out(dropped) if dropped else ""
        return _readable(self._head) + note + _readable(tail[-self._half :])

    def after(self, position: int) -> tuple[bytes, int]:
        """What was written beyond the first `position` bytes, so far, and how many were written in all."""
        with self._lock:
            begin = len(self._head) + self._num_dropped  # of the tail
            missing = max(begin - max(position, len(self._head)), 0)
            note = _left_out(missing).encode() if missing else b""
            new = self._head[position:] + note + self._tail[max(position - begin, 0) :]
            return bytes(new), begin + len(self._tail)

    def _drain(self) -> None:
        with self._stream as stream:
            while chunk := os.read(stream.fileno(), CHUNK_BYTES):
                with self._lock:
                    self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        excess = len(self._tail) - self._half
        if excess > max(self._half, CHUNK_BYTES):  # trimmed rarely, for each trim copies the rest
            del self._tail[:excess]
            self._num_dropped += excess


def _left_out(num_bytes: int) -> str:
    return f"\n[warpsmith: {num_bytes} bytes left out here]\n"


def _readable(data: bytes | bytearray) -> str:
    return data.decode(errors="replace")


class Silence(Enum):
    """Why there is no line."""

    LATE = "no line in time"
    CLOSED = "the other side closed"
    TOO_LONG = "the line is too long"


class LineReader:
    """Takes lines of at most `max_bytes` from a descriptor that it owns.

    When `hangup` becomes readable nothing more is expected, even if some stray process holds the pipe open.
    """

    def __init__(self, fd: int, max_bytes: int, hangup: int | None = None) -> None:
        self._fd = fd
        self._max_bytes = max_bytes
        self._watched = {fd: select.POLLIN} | ({} if hangup is None else {hangup: select.POLLIN})
        self._buffer = bytearray()
        os.set_blocking(fd, False)

    def line(self, deadline: float, awake_s: float = 0.0) -> bytes | Silence:
        """The next line without its newline; `deadline` is on the monotonic clock.

        For `awake_s` it waits without sleeping, so that no time passes between the line and its reader.
        """
        _stay_awake(self._watched, min(deadline, time.monotonic() + awake_s))
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > self._max_bytes:
                return Silence.TOO_LONG
            ready = wait_for(self._watched, deadline)
            if not ready:
                return Silence.LATE
            if self._fd not in ready or not self._fill():
                return Silence.CLOSED
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def has_more(self) -> bool:
        """Whether something lies here unread. A closed other side is nothing."""
        return bool(self._buffer) or (self._fd in wait_for(self._watched, 0.0) and self._fill())

    def close(self) -> None:
        os.close(self._fd)

    def _fill(self) -> bool:
        try:
            chunk = os.read(self._fd, CHUNK_BYTES)
        except BlockingIOError:
            return True
        self._buffer += chunk
        return bool(chunk)


def write_all(fd: int, data: bytes, deadline: float) -> Silence | None:
    """Write to a non-blocking pipe whose reader may be slow, dead or malicious; None when all is written."""
    rest = memoryview(data)
    while rest:
        if not wait_for({fd: select.POLLOUT}, deadline):
            return Silence.LATE
        try:
            rest = rest[os.write(fd, rest[:CHUNK_BYTES]) :]
        except BlockingIOError:
            continue
        except BrokenPipeError:
            return Silence.CLOSED
    return None


def _stay_awake(events: dict[int, int], deadline: float) -> None:
    while time.monotonic() < deadline and not wait_for(events, 0.0):
        pass


def wait_for(events: dict[int, int], deadline: float) -> set[int]:
    """The descriptors that are ready, once there are any; none if there are none before `deadline`."""
    poller = select.poll()
    for fd, event in events.items():
        poller.register(fd, event)
    left_s = max(deadline - time.monotonic(), 0.0)
    return {fd for fd, _ in poller.poll(left_s * 1000)}
