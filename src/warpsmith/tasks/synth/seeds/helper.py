"""The crawl's side of the helper process: asks, waits, and starts it anew when it hangs or crashes."""

import os
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO

from warpsmith.core import InfraError
from warpsmith.tasks.synth.seeds.outcome import Reason
from warpsmith.tasks.synth.seeds.protocol import READY, Question, Refused, Reply, reply_from

MODULE = "warpsmith.tasks.synth.seeds.worker"
START_LIMIT_S = 180.0
"""It imports torch, which takes a minute on a machine that is busy."""


class Helper:
    """One helper process, started when it is first asked."""

    def __init__(self, *, limit_s: float = 20.0) -> None:
        self._limit_s = limit_s
        self._process: subprocess.Popen[str] | None = None
        self._imported: set[str] = set()
        self._is_ready = False
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def close(self) -> None:
        """Ends the process; the next question would start another."""
        self._stop()

    def ask(self, question: Question) -> Reply:
        """What executing it gave; a crash and a hang are answers too. Raises InfraError if none can start."""
        process = self._started()
        limit_s = self._limit_s if question.library in self._imported else START_LIMIT_S
        assert process.stdin is not None
        try:
            process.stdin.write(question.line())
            process.stdin.flush()
            line = self._lines.get(timeout=limit_s)
        except queue.Empty:
            self._stop()
            return Refused(reason=Reason.HUNG, detail=f"longer than {limit_s:g} s")
        except OSError:
            line = None
        if line is None:
            code = self._stop(grace_s=2.0)
            return Refused(
                reason=Reason.CRASHED, detail=f"signal {-code}" if code < 0 else f"exit code {code}"
            )
        self._imported.add(question.library)
        try:
            return reply_from(line)
        except ValueError as error:  # foreign code found the pipe
            self._stop()
            return Refused(reason=Reason.CRASHED, detail=str(error))

    def start(self) -> None:
        """Starts the process without waiting for it; `ask` does that too, if need be."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"},
            start_new_session=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self._lines, self._imported, self._is_ready = queue.SimpleQueue(), {"torch"}, False
        threading.Thread(target=_read, args=(self._process.stdout, self._lines), daemon=True).start()

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self.start()
        if not self._is_ready:
            self._await_ready()
        assert self._process is not None
        return self._process

    def _await_ready(self) -> None:
        try:
            first = self._lines.get(timeout=START_LIMIT_S)
        except queue.Empty:
            first = None
        if first is None or first.strip() != READY:
            self._stop()
            raise InfraError(f"{MODULE} did not start within {START_LIMIT_S:g} s; does `import torch` work?")
        self._is_ready = True

    def _stop(self, *, grace_s: float = 0.0) -> int:
        """Its exit code; it has `grace_s` to end by itself."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=grace_s)
        process.kill()
        code = process.wait()
        assert process.stdin is not None
        assert process.stdout is not None
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was not yet written has no reader any more
                pipe.close()
        return code


def _read(pipe: IO[str], lines: "queue.SimpleQueue[str | None]") -> None:
    try:
        for line in pipe:
            lines.put(line)
    except ValueError:  # closed while it was read
        return
    finally:
        lines.put(None)
