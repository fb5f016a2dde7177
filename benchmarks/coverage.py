"""Which tasks of a KernelBench checkout the builtin policy can plan, and what holds the others back.

    python -m benchmarks.coverage KERNELBENCH [--levels 1,2,3] [--tasks '*Net*'] [--limit-s 120] [--json FILE]

Planning is capture, partition and the text of the first program: nothing is built, judged or timed. Each task
is planned in a process of its own, at its full size; one that takes longer than the limit counts as not
planned. FILE may hold an earlier run: its tasks are replaced one by one, and its commands are kept.
"""

import argparse
import collections
import datetime
import fnmatch
import json
import multiprocessing
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from warpsmith.core import Precision
from warpsmith.device import Gpu, select_device
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.plan import make_plan
from warpsmith.policy.builtin.program import write_program
from warpsmith.policy.builtin.search import coordinates_of, starting_points
from warpsmith.tasks.suites import suite
from warpsmith.tasks.suites.kernelbench import LEVEL
from warpsmith.tasks.synth.base import Made

FORKED = multiprocessing.get_context("fork")  # torch and its tracer are imported once, and no CUDA in it
FIRST = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
def get_inputs():
    return [torch.zeros(4)]
def get_init_inputs():
    return []
"""


def planned(source: str, gpu: Gpu, told: Connection) -> None:
    """Tells how many kernels the plan has, in how many sources, in what time; or why there is none."""
    torch.set_num_threads(1)
    began_s = time.process_time()
    try:
        graph = capture(source)
        plan = make_plan(graph, gpu)
        choice = next(starting_points(coordinates_of(plan, gpu, Precision.REFERENCE)))
        files = dict(write_program(graph, plan, choice).files)
        num_sources = sum(path.endswith(".cu") for path in files)
        told.send((len(plan.groups), num_sources, round(time.process_time() - began_s, 2)))
    # The boundary of a task: whatever breaks in it, such as the tracer, is that task's outcome.
    except Exception as error:  # noqa: BLE001
        told.send(f"{type(error).__name__}: {error!s:.200}")


def tried(source: str, gpu: Gpu, limit_s: float) -> dict[str, Any]:
    """One task's outcome."""
    hears, tells = FORKED.Pipe(duplex=False)
    worker = FORKED.Process(target=planned, args=(source, gpu, tells))
    began = time.monotonic()
    worker.start()
    tells.close()
    try:
        said = hears.recv() if hears.poll(limit_s) else f"not planned in {limit_s:g} s"
    except EOFError:
        said = "the process died"
    worker.kill()
    worker.join()
    num_kernels, num_sources, cpu_s = (None, None, None) if isinstance(said, str) else said
    return {
        "num_kernels": num_kernels,
        "num_sources": num_sources,
        "reason": said if isinstance(said, str) else "",
        "seconds": round(time.monotonic() - began, 1),
        "cpu_seconds": cpu_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernelbench", type=Path)
    parser.add_argument("--levels", default="1,2,3")
    parser.add_argument("--tasks", default="*", help="a pattern of names")
    parser.add_argument("--limit-s", type=float, default=120.0)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    gpu = select_device("cpu", None, "h200").gpu
    capture(FIRST)  # imports what every task's tracing needs
    levels: dict[str, dict[str, Any]] = {}
    rows = [row for row in suite("kernelbench").read(chosen.kernelbench) if isinstance(row, Made)]
    for level in chosen.levels.split(","):
        made = [
            row.task
            for row in rows
            if row.facts[LEVEL] == level and fnmatch.fnmatch(row.task.task_id, chosen.tasks)
        ]
        levels[level] = {task.task_id: tried(task.source, gpu, chosen.limit_s) for task in made}
        outcomes = levels[level].values()
        num_planned = sum(one["num_kernels"] is not None for one in outcomes)
        sys.stdout.write(f"level {level}: {num_planned} of {len(outcomes)} planned\n")
        reasons = collections.Counter(one["reason"] for one in outcomes if one["reason"])
        sys.stdout.writelines(f"  {count} x {reason}\n" for reason, count in reasons.most_common())
        sys.stdout.flush()
    if chosen.json:
        command = (
            "python -m benchmarks.coverage KERNELBENCH "
            f"--levels {chosen.levels} --tasks '{chosen.tasks}' --limit-s {chosen.limit_s:g}"
        )
        keep(chosen.json, command, levels)


def keep(path: Path, command: str, levels: dict[str, dict[str, Any]]) -> None:
    """Replaces what was planned again in the record at `path`, if there is one."""
    record = json.loads(path.read_text()) if path.exists() else {"runs": [], "levels": {}}
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    record["runs"].append({"date": date, "command": command, "torch": torch.__version__})
    for level, tasks in levels.items():
        record["levels"].setdefault(level, {}).update(tasks)
    path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
