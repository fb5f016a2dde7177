"""`python -m warpsmith.judge.guest.profiled FILE`: calls of a candidate, for a profiler to watch.

FILE holds a `Watched` as JSON. The candidate is loaded as for a verdict, called some times so that all code
is there, and then watched. It runs in the sandbox, since it is nobody's but its author's; and whatever it
writes into the profiler's file is evidence of itself alone.
"""

import ctypes
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch

from warpsmith.core.codec import from_json, to_json
from warpsmith.judge.guest import products
from warpsmith.judge.guest.coverage import on_cpu
from warpsmith.judge.guest.graphs import loaded_objects
from warpsmith.judge.guest.session import Session
from warpsmith.judge.profile import CpuCounts, Watched, Watcher
from warpsmith.judge.protocol import Loaded

Call = Callable[[], Any]


class Stage(Session):
    """Loads a candidate and lets a watcher look at its calls."""

    def run(self, watched: Watched) -> str | None:
        """Why it could not be called. Whatever forward raises is raised."""
        answer = self.answer(watched.load)
        if not isinstance(answer, Loaded):
            return f"the candidate cannot be loaded: {answer}"
        if watched.load.device == "cpu":
            products.hand_over(watched.load.extension)
        given = self._fresh_inputs(watched.load.inputs[0])
        with torch.no_grad():
            for _ in range(watched.num_warm):
                self._call(given)
            self._synchronize()
            WATCHERS[watched.watcher](lambda: self._call(given), watched)
        return None


def _by_system(call: Call, watched: Watched) -> None:
    torch.cuda.profiler.start()
    _repeat(call, watched, lambda: torch.cuda.nvtx.range(watched.range_name))
    torch.cuda.profiler.stop()


def _by_torch(call: Call, watched: Watched) -> None:
    from torch.profiler import ProfilerActivity, profile, record_function

    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=both):  # the first one starts CUPTI, which is slow
        call()
        torch.cuda.synchronize()
    with profile(activities=both) as profiler:
        _repeat(call, watched, lambda: record_function(watched.range_name))
    profiler.export_chrome_trace(str(watched.out))


def _repeat(call: Call, watched: Watched, around: Callable[[], AbstractContextManager[Any]]) -> None:
    """Each call with a wait for the device in a range, and what cools the cache before it outside of one."""
    flushed = torch.empty(max(watched.flush_bytes, 1), dtype=torch.uint8, device="cuda")
    for _ in range(watched.num_calls):
        flushed.zero_()
        torch.cuda.synchronize()
        with around():
            call()
            torch.cuda.synchronize()


def _by_kernel(call: Call, _: Watched) -> None:
    torch.cuda.profiler.start()
    call()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def _by_counters(call: Call, watched: Watched) -> None:
    folder = watched.load.extension
    kernels = on_cpu(folder, call)
    totals = [0, 0, 0, 0]
    for path in loaded_objects():
        if Path(path).is_relative_to(folder.resolve()):
            library = ctypes.CDLL(path)
            if hasattr(library, "warpsmith_counters_read"):
                counts = (ctypes.c_longlong * 4)()
                library.warpsmith_counters_read(counts)
                totals = [total + count for total, count in zip(totals, counts, strict=True)]
    launches, threads, library_flops, library_calls = totals
    watched.out.write_text(
        to_json(
            CpuCounts(
                kernels=tuple(kernel.name for kernel in kernels),
                launches=launches,
                threads=threads,
                library_flops=library_flops,
                library_calls=library_calls,
            )
        ),
        encoding="utf-8",
    )


WATCHERS: dict[Watcher, Callable[[Call, Watched], None]] = {
    Watcher.SYSTEM: _by_system,
    Watcher.TORCH: _by_torch,
    Watcher.KERNEL: _by_kernel,
    Watcher.COUNTERS: _by_counters,
}


def main() -> None:
    request = Path(sys.argv[1]).read_text(encoding="utf-8")
    sys.exit(Stage().run(from_json(Watched, request)))


if __name__ == "__main__":
    main()
