"""Many candidates in one queue, some of which crash, hang, corrupt memory, fork or fill the disk.

    python -m benchmarks.queue [--device cuda] [--count 300] [--workers 4] [--bad 0.15] [--json FILE]

Honest programs of the red-team corpus, each in a slightly different text, wait beside the same programs with
a fault in forward. Worker threads judge them; a task's judge takes one at a time, so there are as many
verdicts at once as there are tasks or workers, whichever are fewer. Afterwards: did each get the verdict that
it must get, is any process left, any file, any memory of the GPU? The exit code is 1 if not.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from statistics import quantiles

import psutil

from warpsmith.core import Candidate, Form, InfraError, Passed, Task, Verdict
from warpsmith.core.candidate import MODULE
from warpsmith.device import Device, select_device
from warpsmith.judge import Judge, JudgeConfig
from warpsmith.judge.config import TimeLimits
from warpsmith.redteam import CORPUS, Case, Kind, read_case
from warpsmith.sandbox import pick
from warpsmith.toolchain import Toolchain, default_store

TASKS = ("axpby", "gated", "softmax", "layernorm")
FAULT_PATH = "kernels/fault_of_the_queue.cu"
LIMITS = TimeLimits(load_s=30.0, forward_s=20.0)
MEMORY_BYTES = {"cuda": 16 << 30, "cpu": 3 << 30}
LEFT_BYTES = 64 << 20  # of GPU memory, that a driver may keep for itself
SETTLE_S = 15.0
LIVES_ON = "warpsmith.judge.nursery"  # serves this process until it ends

FAULTY = """

_Honest = ModelNew


class ModelNew(_Honest):
    def forward(self, *inputs):
        {statement}
        return super().forward(*inputs)
"""
LAUNCHER = """
#include <cstdio>
#include <unistd.h>
#include <cuda_runtime.h>

__global__ void fault_kernel(volatile float* x) {{
  {device}
}}

extern "C" int fault_of_the_queue(float* x, cudaStream_t stream) {{
  {host}
  return (int)cudaGetLastError();
}}
"""
LAUNCH = "fault_kernel<<<1, 32, 0, stream>>>(x);"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What a program does before its work: a statement of Python, or native code on host or device."""

    python: str = "import cuda_extension; cuda_extension.fault_of_the_queue(inputs[0].new_empty(1024))"
    host: str = LAUNCH
    device: str = "x[threadIdx.x] = 0.0f;"

    def put_into(self, candidate: Candidate) -> Candidate:
        files = dict(candidate.files)
        files[MODULE] += FAULTY.format(statement=self.python)
        files[FAULT_PATH] = LAUNCHER.format(host=self.host, device=self.device)
        return Candidate.of(files)


FAULTS: dict[str, Fault] = {
    "crash": Fault(host="*(volatile int*)nullptr = 1;"),
    "exit": Fault(python="raise SystemExit(0)"),
    "hang on the host": Fault(host="for (volatile long i = 0;; i = i + 1) {}"),
    "hang on the device": Fault(device="while (x[0] == x[0] || true) x[threadIdx.x] = 1.0f;"),
    "corrupt the host's memory": Fault(
        host="volatile char* near = (volatile char*)&x; for (int i = -4096; i < 65536; ++i) near[i] = 0x5a;"
    ),
    "corrupt the device's memory": Fault(device="x[(size_t)1 << 40] = 1.0f;"),
    "fork": Fault(host="while (fork() >= 0) {}"),
    "fill the disk": Fault(
        host='FILE* file = fopen("full", "wb"); while (file && fwrite(&x, 1, 8, file)) {}'
    ),
    "fill the memory": Fault(
        python="held = []\n        while True:\n            held.append(inputs[0].new_ones(1 << 26))"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A candidate in the queue. `fault` is empty for an honest one, which must pass; no other may."""

    number: int
    task: str
    source: str  # the case that it was made from
    fault: str
    candidate: Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of an entry; `trouble` in place of a verdict if the judge itself failed."""

    entry: Entry
    verdict: Verdict | None
    trouble: str
    wall_s: float

    @property
    def is_as_expected(self) -> bool:
        return self.verdict is not None and isinstance(self.verdict, Passed) == (not self.entry.fault)


@dataclass(slots=True)
class Desk:
    """One task's judge, which takes one candidate at a time and is opened again after it failed."""

    make: Callable[[], Judge]
    is_timed: bool
    lock: threading.Lock = field(default_factory=threading.Lock)
    resources: ExitStack = field(default_factory=ExitStack)
    judge: Judge | None = None

    def answer(self, entry: Entry) -> Done:
        """Called by whoever holds the lock."""
        began = time.monotonic()
        try:
            if self.judge is None:
                self.judge = self.resources.enter_context(self.make())
            began = time.monotonic()  # opening is the task's cost, not the candidate's
            judged = self.judge.measure if self.is_timed else self.judge.verify
            verdict, trouble = judged(entry.candidate), ""
        except InfraError as error:
            verdict, trouble = None, str(error)
            self.close()
        return Done(entry=entry, verdict=verdict, trouble=trouble, wall_s=time.monotonic() - began)

    def close(self) -> None:
        self.resources.close()
        self.judge = None


class Queue:
    """Hands out entries whose task's judge is idle."""

    def __init__(self, entries: Sequence[Entry], desks: dict[str, Desk]) -> None:
        self._waiting = list(entries)
        self._desks = desks
        self._changed = threading.Condition()

    def work(self, report: Callable[[Done], None]) -> None:
        """A worker's life."""
        while (taken := self._take()) is not None:
            entry, desk = taken
            try:
                done = desk.answer(entry)
            finally:
                with self._changed:
                    desk.lock.release()
                    self._changed.notify_all()
            report(done)

    def _take(self) -> tuple[Entry, Desk] | None:
        with self._changed:
            while self._waiting:
                for index, entry in enumerate(self._waiting):
                    desk = self._desks[entry.task]
                    if desk.lock.acquire(blocking=False):
                        del self._waiting[index]
                        return entry, desk
                self._changed.wait()
        return None


def entries(
    tasks: Sequence[str], count: int, bad: float, rng: random.Random, *, rebuild: bool
) -> list[Entry]:
    """`count` candidates in random order, a share of them bad; the honest ones in turn over all cases."""
    sources = _sources(tasks)
    num_bad = round(count * bad)
    made = []
    for number in range(count):
        case = sources[number % len(sources)]
        fault = list(FAULTS)[number % len(FAULTS)] if number < num_bad else ""
        candidate = _varied(case.candidate, number, rebuild=rebuild)
        if fault:
            candidate = FAULTS[fault].put_into(candidate)
        made.append(Entry(number=number, task=case.task, source=case.name, fault=fault, candidate=candidate))
    rng.shuffle(made)
    return made


def _sources(tasks: Sequence[str]) -> list[Case]:
    cases = [read_case(path) for path in sorted((CORPUS / Kind.HONEST).glob("*.md"))]
    usable = [
        case
        for case in cases
        if case.task in tasks
        and case.needs is None
        and not case.options
        and case.candidate.form is Form.LAUNCHER
    ]
    by_task = [[case for case in usable if case.task == task] for task in tasks]
    return [case for turn in zip_longest(*by_task) for case in turn if case is not None]


def _varied(candidate: Candidate, number: int, *, rebuild: bool) -> Candidate:
    """The same program in another text; its kernels are only built again if asked for."""
    files = dict(candidate.files)
    files[MODULE] += f"\n# number {number} of the queue\n"
    if rebuild:
        path = next(path for path in files if path.endswith(".cu"))
        files[path] += f"\n// number {number} of the queue\n"
    return Candidate.of(files)


def run(queued: Sequence[Entry], desks: dict[str, Desk], workers: int, toolchain: Toolchain) -> list[Done]:
    """Everything judged; programs are built ahead on all cores."""
    done: list[Done] = []

    def report(item: Done) -> None:
        done.append(item)
        mark = "" if item.is_as_expected else "  NOT AS EXPECTED"
        verdict = item.trouble or type(item.verdict).__name__
        fault = item.entry.fault or "honest"
        say(f"{len(done):>4}/{len(queued)} {fault:<28} {verdict:<14} {item.wall_s:6.1f} s{mark}")

    queue = Queue(queued, desks)
    with ThreadPoolExecutor() as builders, ThreadPoolExecutor(workers) as pool:
        try:
            for entry in queued:
                builders.submit(toolchain.build, entry.candidate)
            for future in [pool.submit(queue.work, report) for _ in range(workers)]:
                future.result()
        finally:
            builders.shutdown(wait=True, cancel_futures=True)
            for desk in desks.values():
                desk.close()
    return done


def leftovers(scratch: Path) -> list[str]:
    """Processes of ours that still live, once they have had time to end."""
    deadline = time.monotonic() + SETTLE_S
    while (found := list(_left(scratch))) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def _left(scratch: Path) -> Iterator[str]:
    ours = {child.pid for child in psutil.Process().children(recursive=True)}
    for process in psutil.process_iter():
        try:
            words, cwd = " ".join(process.cmdline()), process.cwd()
        except psutil.Error:
            continue
        is_ours = process.pid in ours or Path(cwd).is_relative_to(scratch)
        if is_ours and words and LIVES_ON not in words:
            yield f"{process.pid} {words:.120}"


def used_bytes(device: Device) -> int | None:
    """Of the GPU's memory, by all processes, as the driver says it without a context of our own."""
    if device.uuid is None:
        return None
    query = ["nvidia-smi", f"--id={device.uuid}", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    said = subprocess.run(query, capture_output=True, text=True, check=True, timeout=60)
    return int(said.stdout.strip()) << 20


def lost_bytes(device: Device, before: int | None) -> int:
    """How much more is used than before, once the driver has had time to take it back."""
    deadline = time.monotonic() + SETTLE_S
    while (lost := (used_bytes(device) or 0) - (before or 0)) > LEFT_BYTES and time.monotonic() < deadline:
        time.sleep(0.5)
    return max(lost, 0)


def figures(done: Sequence[Done], wall_s: float) -> dict[str, object]:
    cuts = quantiles([item.wall_s for item in done], n=20) if len(done) > 1 else [done[0].wall_s] * 19
    table: dict[str, Counter[str]] = {}
    for item in done:
        kind = type(item.verdict).__name__ if item.verdict is not None else "judge failed"
        table.setdefault(item.entry.fault or "honest", Counter())[kind] += 1
    return {
        "verdicts": len(done),
        "wall_s": wall_s,
        "verdicts_per_s": len(done) / wall_s,
        "p50_s": cuts[9],
        "p95_s": cuts[18],
        "table": {name: dict(counts) for name, counts in sorted(table.items())},
        "not_as_expected": [
            {
                "number": item.entry.number,
                "source": item.entry.source,
                "fault": item.entry.fault,
                "said": item.trouble or repr(item.verdict)[:2000],
            }
            for item in done
            if not item.is_as_expected
        ],
        "samples_s": [item.wall_s for item in done],
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", default="auto", help="auto, cuda or cpu")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--workers", type=int, default=len(TASKS))
    parser.add_argument("--bad", type=float, default=0.15, help="share of candidates with a fault")
    parser.add_argument("--tasks", default=",".join(TASKS), help="of the corpus, separated by commas")
    parser.add_argument("--rebuild", action="store_true", help="let each candidate have kernels of its own")
    parser.add_argument("--no-timing", action="store_true", help="judge correctness alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    device, sandbox = select_device(asked.device), pick()
    toolchain = Toolchain(device, default_store(), sandbox)
    tasks = asked.tasks.split(",")
    queued = entries(tasks, asked.count, asked.bad, random.Random(asked.seed), rebuild=asked.rebuild)
    by_name = {entry.source: read_case(CORPUS / Kind.HONEST / f"{entry.source}.md") for entry in queued}
    subjects = {case.task: case.task_for(device.kind) for case in by_name.values()}
    before = used_bytes(device)
    with tempfile.TemporaryDirectory(prefix="warpsmith-queue-", dir=_room()) as folder:
        scratch = Path(folder)
        config = JudgeConfig(limits=LIMITS, memory_bytes=MEMORY_BYTES[device.kind], scratch=scratch)

        def judge(task: Task) -> Callable[[], Judge]:
            return lambda: Judge(task, device=device, sandbox=sandbox, toolchain=toolchain, config=config)

        desks = {name: Desk(judge(task), not asked.no_timing) for name, task in subjects.items()}
        began = time.monotonic()
        done = run(queued, desks, asked.workers, toolchain)
        wall_s = time.monotonic() - began
        found = {
            **figures(done, wall_s),
            "device": device.name,
            "sandbox": sandbox.name,
            "workers": asked.workers,
            "processes_left": leftovers(scratch),
            "files_left": sorted(path.name for path in scratch.iterdir()),
            "gpu_bytes_lost": lost_bytes(device, before),
        }
    return conclude(found, asked)


def conclude(found: dict[str, object], asked: argparse.Namespace) -> int:
    say(json.dumps({name: value for name, value in found.items() if name != "samples_s"}, indent=2))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2) + "\n")
    is_lost = isinstance(found["gpu_bytes_lost"], int) and found["gpu_bytes_lost"] > LEFT_BYTES
    bad = [name for name in ("not_as_expected", "processes_left", "files_left") if found[name]]
    if is_lost or bad or found["verdicts"] != asked.count:
        say(f"not sound: {', '.join([*bad, *(['gpu_bytes_lost'] if is_lost else [])])}")
        return 1
    return 0


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _room() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


if __name__ == "__main__":
    sys.exit(main())
