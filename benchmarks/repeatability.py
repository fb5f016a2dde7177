"""The same programs judged again and again: are the verdicts the same, and the ratios within their intervals?

    python -m benchmarks.repeatability [--rounds R] [--nulls N] [--json FILE] [--device D] [TASK=DIR …]

TASK is a task's file, DIR the folder of a program for it (model_new.py and kernels/). Without any, all
examples for which `runs/examples/NAME` holds a program. Each program is judged R times, by a judge that is
opened anew each time. Then the first task's reference is timed N times as if it were a candidate: it must be
called 'cannot tell'. Exit code 1 if verdicts differ, or if an unchanged model is told from itself more than
once in twenty.
"""

import argparse
import datetime
import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

from warpsmith.core import Candidate, Passed, Speed, Task, Timing, Verdict
from warpsmith.core.codec import to_data
from warpsmith.device import Device, select_device
from warpsmith.device.lease import lease
from warpsmith.judge import Judge
from warpsmith.judge.gates import clock, load
from warpsmith.judge.trial import Failure, Trial
from warpsmith.report.verdicts import verdict_text
from warpsmith.sandbox import pick
from warpsmith.tasks import load_task
from warpsmith.toolchain import Toolchain, default_store

ROOT = Path(__file__).parents[1]
ROW = "{task:24} {verdict:28} {ratio:26} {spread:>8} {overlap:>8} {seconds:>8}\n"
IDLE = 'extern "C" int idle(float* y, cudaStream_t stream) { return 0; }\n'
MAX_TOLD = 0.05  # of unchanged models


def pairs(named: list[str]) -> Iterator[tuple[Path, Path]]:
    """Task and folder of each program."""
    if named:
        for text in named:
            task, _, folder = text.partition("=")
            yield Path(task), Path(folder)
        return
    for task in sorted((ROOT / "examples").glob("*.py")):
        folder = ROOT / "runs" / "examples" / task.stem
        if (folder / "model_new.py").is_file():
            yield task, folder


def opened(task: Task, device: Device) -> Judge:
    sandbox = pick()
    return Judge(task, device=device, sandbox=sandbox, toolchain=Toolchain(device, default_store(), sandbox))


def repeated(task: Task, candidate: Candidate, device: Device, rounds: int) -> dict[str, Any]:
    """All verdicts on one program, and how far they agree."""
    verdicts: list[Verdict] = []
    seconds: list[float] = []
    for _ in range(rounds):
        with opened(task, device) as judge:
            began = time.perf_counter()
            verdicts.append(judge.measure(candidate))
            seconds.append(time.perf_counter() - began)
    timings = [verdict.timing for verdict in verdicts if isinstance(verdict, Passed) and verdict.timing]
    return {
        "phrases": [verdict_text(verdict) for verdict in verdicts],
        "are_identical": len({verdict_text(verdict) for verdict in verdicts}) == 1,
        "spread": spread(timings),
        "overlapping": overlapping(timings),
        "seconds": seconds,
        "verdicts": [to_data(verdict) for verdict in verdicts],
    }


def spread(timings: list[Timing]) -> float:
    """Largest ratio over smallest, less 1."""
    centres = [timing.best_baseline.centre for timing in timings]
    return max(centres) / min(centres) - 1.0 if centres else 0.0


def overlapping(timings: list[Timing]) -> float:
    """The share of pairs of runs in which each ratio lies within the other's interval, null control added."""
    found = [
        timing.best_baseline.low - timing.smallest_effect <= other.best_baseline.centre
        and other.best_baseline.centre <= timing.best_baseline.high + timing.smallest_effect
        for one, two in combinations(timings, 2)
        for timing, other in ((one, two), (two, one))
    ]
    return sum(found) / len(found) if found else 1.0


def unchanged(task: Task) -> Candidate:
    """The reference under a candidate's name. The rules refuse it, so only the clock is asked of it."""
    return Candidate.of({"model_new.py": f"{task.source}\n\nModelNew = Model\n", "kernels/idle.cu": IDLE})


def told(task: Task, device: Device, count: int) -> list[dict[str, Any]]:
    """What the clock says of the unchanged model, `count` times."""
    found = []
    candidate = unchanged(task)
    with opened(task, device) as judge:
        for _ in range(count):
            outcome = timed_alone(judge, candidate)
            speed = outcome.speed.value if isinstance(outcome, Timing) else type(outcome).__name__
            found.append({"speed": speed, "outcome": to_data(outcome)})
    return found


def timed_alone(judge: Judge, candidate: Candidate) -> Timing | Failure:
    """One guest through the clock's gate, past those that a torch program cannot pass."""
    with judge._guests.lend() as guest:
        trial = Trial(
            candidate=candidate,
            subject=judge._subject,
            device=judge.device,
            toolchain=judge._toolchain,
            config=judge.config,
            guest=guest,
        )
        trial.build = judge._toolchain.build(candidate)
        gates: tuple[tuple[Callable[[Trial], Failure | None], bool], ...] = (
            (load.check, False),
            (clock.prepare, False),
            (clock.check, True),
        )
        for gate, is_exclusive in gates:
            with lease(judge.device, is_exclusive=is_exclusive):
                failure = gate(trial)
            if failure is not None:
                return failure
        assert trial.timing is not None
        return trial.timing


def row(name: str, found: dict[str, Any]) -> str:
    """One line of the table."""
    phrases = found["phrases"]
    ratios = [
        (verdict.get("timing") or {}).get("against_compile")
        or (verdict.get("timing") or {}).get("against_eager")
        for verdict in found["verdicts"]
    ]
    ratio = next((item for item in ratios if item), None)
    return ROW.format(
        task=name[:24],
        verdict=(phrases[0] if found["are_identical"] else " / ".join(sorted(set(phrases))))[:28],
        ratio="{centre:.3f}x [{low:.3f}, {high:.3f}]".format(**ratio) if ratio else "",
        spread=f"{found['spread']:.1%}",
        overlap=f"{found['overlapping']:.0%}",
        seconds=f"{sorted(found['seconds'])[len(phrases) // 2]:.2f} s",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nulls", type=int, default=20)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("programs", nargs="*", metavar="TASK=DIR")
    chosen = parser.parse_args()
    device = select_device(chosen.device)
    programs = list(pairs(chosen.programs))
    if not programs:
        parser.error("there is no program to judge; name some as TASK=DIR")
    sys.stdout.write(
        ROW.format(
            task="task",
            verdict="verdict",
            ratio="first ratio",
            spread="spread",
            overlap="within",
            seconds="took",
        )
    )
    results: dict[str, Any] = {}
    for path, folder in programs:
        task = load_task(str(path), device_kind=device.kind)
        found = repeated(task, Candidate.from_folder(folder), device, chosen.rounds)
        results[path.stem] = found
        sys.stdout.write(row(path.stem, found))
        sys.stdout.flush()
    nulls = []
    if chosen.nulls and device.kind == "cuda":
        nulls = told(load_task(str(programs[0][0]), device_kind=device.kind), device, chosen.nulls)
        num_silent = sum(item["speed"] == Speed.CANNOT_TELL for item in nulls)
        sys.stdout.write(f"an unchanged model: cannot tell in {num_silent} of {len(nulls)}\n")
    if chosen.json:
        record = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": " ".join(["python -m benchmarks.repeatability", *sys.argv[1:]]),
            "device": device.name,
            "programs": results,
            "unchanged": nulls,
        }
        chosen.json.write_text(json.dumps(record, indent=1) + "\n")
    num_told = sum(item["speed"] != Speed.CANNOT_TELL for item in nulls)
    are_same = all(found["are_identical"] for found in results.values())
    sys.exit(0 if are_same and num_told <= MAX_TOLD * max(len(nulls), 1) else 1)


if __name__ == "__main__":
    main()
