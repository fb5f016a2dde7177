"""The same programs judged again and again: are the verdicts the same, and the ratios within their intervals?

    python -m benchmarks.repeatability [--rounds R] [--nulls N] [--cases C] [--workers W] [--json FILE]
        [--device D] [TASK=DIR …]

TASK is a task's file, DIR the folder of a program for it (model_new.py and kernels/). Without any, all
examples for which `runs/examples/NAME` holds a program; with --cases so many of the corpus' honest programs,
of the tasks that have most. Each program is judged R times, each time by another judge of its task, W tasks
side by side. Then the first task's reference is timed N times as if it were a candidate, against eager alone:
it must be called 'cannot tell'. Exit code 1 if verdicts differ, or if an unchanged model is told from itself
more than once in twenty.
"""

import argparse
import datetime
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from warpsmith.core import Candidate, Passed, Speed, Task, Timing, Verdict
from warpsmith.core.codec import to_data
from warpsmith.device import Device, select_device
from warpsmith.device.lease import lease
from warpsmith.judge import Judge, JudgeConfig
from warpsmith.judge.clock.baselines import keeping_baselines
from warpsmith.judge.config import ClockConfig
from warpsmith.judge.gates import clock, load
from warpsmith.judge.trial import Failure, Trial
from warpsmith.redteam import corpus
from warpsmith.redteam.case import Kind
from warpsmith.report.verdicts import verdict_text
from warpsmith.sandbox import pick
from warpsmith.tasks import load_task
from warpsmith.toolchain import Build, Toolchain, default_store

ROOT = Path(__file__).parents[1]
ROW = "{task:24} {verdict:28} {ratio:26} {spread:>8} {overlap:>8} {seconds:>8}\n"
IDLE = 'extern "C" int idle(float* y, cudaStream_t stream) { return 0; }\n'
HEAD = ROW.format(
    task="task", verdict="verdict", ratio="first ratio", spread="spread", overlap="within", seconds="took"
)
MAX_TOLD = 0.05  # of unchanged models


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One to be judged again and again."""

    name: str
    task: Task
    candidate: Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One verdict on a program."""

    program: Program
    verdict: Verdict
    seconds: float


def of_folders(named: list[str], device: Device) -> Iterator[Program]:
    """Those of TASK=DIR, or the examples' own."""
    pairs = [tuple(map(Path, text.partition("=")[::2])) for text in named] or [
        (task, ROOT / "runs" / "examples" / task.stem) for task in sorted((ROOT / "examples").glob("*.py"))
    ]
    for path, folder in pairs:
        if named or (folder / "model_new.py").is_file():
            task = load_task(str(path), device_kind=device.kind)
            yield Program(name=path.stem, task=task, candidate=Candidate.from_folder(folder))


def of_corpus(count: int, device: Device) -> list[Program]:
    """`count` honest programs in launcher form, of the tasks that have most."""
    cases = [
        case
        for case in corpus()
        if case.kind is Kind.HONEST
        and not case.options
        and case.needs in (None, device.kind)
        and any(path.endswith(".cu") for path, _ in case.candidate.files)
    ]
    most = Counter(case.task for case in cases)
    cases.sort(key=lambda case: (-most[case.task], case.task, case.name))
    return [
        Program(name=case.name, task=case.task_for(device.kind), candidate=case.candidate)
        for case in cases[:count]
    ]


def opened(task: Task, device: Device, config: JudgeConfig) -> Judge:
    """A judge of the task, with a sandbox and compilers of its own."""
    sandbox = pick()
    toolchain = Toolchain(device, default_store(), sandbox)
    return Judge(task, device=device, sandbox=sandbox, toolchain=toolchain, config=config)


def once(programs: list[Program], device: Device, kept: Path) -> list[Judged]:
    """A verdict on each of one task's programs. What the reference takes is measured once, and re-checked."""
    found = []
    with opened(programs[0].task, device, keeping_baselines(JudgeConfig(), kept)) as judge:
        for program in programs:
            began = time.perf_counter()
            verdict = judge.measure(program.candidate)
            found.append(Judged(program=program, verdict=verdict, seconds=time.perf_counter() - began))
    return found


def agreement(judged: list[Judged]) -> dict[str, Any]:
    """All verdicts on one program, and how far they agree."""
    verdicts = [one.verdict for one in judged]
    timings = [verdict.timing for verdict in verdicts if isinstance(verdict, Passed) and verdict.timing]
    return {
        "phrases": [verdict_text(verdict) for verdict in verdicts],
        "are_identical": len({verdict_text(verdict) for verdict in verdicts}) == 1,
        "spread": spread(timings),
        "overlapping": overlapping(timings),
        "seconds": [one.seconds for one in judged],
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
    """What the clock says of the unchanged model beside itself, `count` times."""
    found = []
    candidate = unchanged(task)
    with opened(task, device, JudgeConfig(clock=ClockConfig(baselines=()))) as judge:
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
        built = judge._toolchain.build(candidate)
        assert isinstance(built, Build), built
        trial.build = built
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


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nulls", type=int, default=20)
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("programs", nargs="*", metavar="TASK=DIR")
    return parser


def repeated(programs: list[Program], device: Device, rounds: int, workers: int) -> dict[str, Any]:
    """What is told of each program, and of the first one's reference."""
    groups: dict[str, list[Program]] = {}
    for program in programs:
        groups.setdefault(program.task.task_id, []).append(program)
    judged: dict[str, list[Judged]] = {program.name: [] for program in programs}
    with tempfile.TemporaryDirectory() as kept, ThreadPoolExecutor(workers) as pool:
        for _ in range(rounds):
            for done in pool.map(lambda group: once(group, device, Path(kept)), groups.values()):
                for one in done:
                    judged[one.program.name].append(one)
    return {name: agreement(found) for name, found in judged.items()}


def main() -> None:
    parser = arguments()
    chosen = parser.parse_args()
    device = select_device(chosen.device)
    programs = of_corpus(chosen.cases, device) if chosen.cases else list(of_folders(chosen.programs, device))
    if not programs:
        parser.error("there is no program to judge; name some as TASK=DIR, or --cases")
    results = repeated(programs, device, chosen.rounds, chosen.workers)
    sys.stdout.write(HEAD)
    sys.stdout.writelines(row(name, found) for name, found in results.items())
    nulls = []
    if chosen.nulls and device.kind == "cuda":
        nulls = told(programs[0].task, device, chosen.nulls)
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
