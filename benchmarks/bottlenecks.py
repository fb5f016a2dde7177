"""Does the diagnosis find a planted bottleneck, and does its suggestion remove it?

    python -m benchmarks.bottlenecks [--device cuda|cpu] [--only NAME ...] [--json FILE]

Each folder of examples/bottlenecks holds a task, a right program with one bottleneck, and the same program
after what should be suggested was done to it. The first is judged, timed and profiled; the second timed. A
case is found if class and topic are the planted ones. On the cpu device times are modelled, most of a
kernel's inside cannot be seen, and the table says of each case whether it could be.

Nsight Compute may be refused in a sandbox that drops privileges. The programs here are our own, so a case is
then profiled again in the process sandbox (unless --sandbox says where), and the table says so.
"""

import argparse
import datetime
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.agent.diagnosis.classifier import Classified
from warpsmith.agent.diagnosis.examiner import Examination, Examiner
from warpsmith.agent.diagnosis.ncu import TOOL as NCU
from warpsmith.agent.diagnosis.rules import Class
from warpsmith.core import Candidate, InfraError, Passed, Verdict
from warpsmith.core.codec import to_data
from warpsmith.device import select_device
from warpsmith.device.base import Device
from warpsmith.judge import JudgeConfig
from warpsmith.judge.config import ClockConfig
from warpsmith.report.verdicts import verdict_text
from warpsmith.sandbox import pick
from warpsmith.tasks import load_task
from warpsmith.toolchain import Toolchain, default_store

EXAMPLES = Path(__file__).parent.parent / "examples" / "bottlenecks"
CPU_SCALE = 1 / 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A planted bottleneck: what is to be found."""

    name: str
    kind: Class
    topic: str  # of the rule whose suggestion removes it
    cpu_scale: float = CPU_SCALE  # where a smaller task would be another one


CASES = (
    Case(name="uncoalesced", kind=Class.MEMORY, topic="accesses of memory that are not coalesced"),
    Case(name="bank_conflict", kind=Class.MEMORY, topic="bank conflicts in shared memory"),
    Case(name="spill", kind=Class.LATENCY, topic="registers that spill"),
    Case(name="tiny_grid", kind=Class.LATENCY, topic="a grid that leaves most of the GPU idle"),
    Case(name="divergent", kind=Class.COMPUTE, topic="warps that diverge"),
    Case(
        name="unfused",
        kind=Class.MEMORY,
        topic="passes over memory that fusion would save",
        cpu_scale=1 / 8,  # else launching takes longer than moving
    ),
    Case(name="launch_bound", kind=Class.LAUNCH, topic="the cost of many launches"),
    Case(name="accidental_fp64", kind=Class.COMPUTE, topic="arithmetic in double precision"),
    Case(name="sync_in_loop", kind=Class.HOST, topic="waits for the device in a call"),
    Case(name="host_copy", kind=Class.HOST, topic="copies between host and device in a call"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of one case."""

    case: Case
    sandbox: str
    found: Examination
    mended: Verdict
    wall_s: float

    @property
    def classified(self) -> Classified | None:
        return self.found.classified

    @property
    def is_found(self) -> bool:
        """Class and suggestion are the planted ones'."""
        said = self.classified
        return said is not None and (said.kind, said.topic) == (self.case.kind, self.case.topic)

    @property
    def is_visible(self) -> bool:
        """Whether the profilers at hand could have shown it."""
        said = self.classified
        return said is not None and self.case.topic not in {one.topic for one in said.unseen}

    @property
    def times_us(self) -> tuple[float | None, float | None]:
        """Before and after."""
        return _time_us(self.found.verdict), _time_us(self.mended)

    @property
    def gain(self) -> float | None:
        """The planted program's time over the mended one's."""
        before, after = self.times_us
        return None if before is None or after is None else before / after

    @property
    def outcome(self) -> str:
        if self.is_found:
            return "found"
        return "not found" if self.is_visible else "cannot be seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A case that this machine could not judge."""

    case: Case
    reason: str


def examined(case: Case, device: Device, sandbox: str) -> Row:
    began = time.monotonic()
    folder = EXAMPLES / case.name
    scale = case.cpu_scale if device.kind == "cpu" else None
    task = load_task(str(folder / "task.py"), scale=scale, device_kind=device.kind)
    chosen = pick(sandbox)
    toolchain = Toolchain(device, default_store(), chosen)
    config = JudgeConfig(clock=ClockConfig(baselines=()))  # what torch.compile takes is not the question
    with Examiner(task, device=device, sandbox=chosen, toolchain=toolchain, config=config) as examiner:
        found = examiner.examine(Candidate.from_folder(folder / "program"))
        mended = examiner.measure(Candidate.from_folder(folder / "mended"))
    return Row(
        case=case,
        sandbox=chosen.name,
        found=found,
        mended=mended,
        wall_s=time.monotonic() - began,
    )


def has_counters(row: Row) -> bool:
    """Whether Nsight Compute gave anything, or never will here."""
    missed = [rung for rung in row.found.rungs if rung.tool == NCU and not rung.is_used]
    return not missed or "is not installed" in missed[0].why_not


def line(row: Row) -> str:
    said, (before, after) = row.classified, row.times_us
    cells = (
        row.case.name,
        row.outcome,
        str(row.case.kind),
        "-" if said is None else str(said.kind),
        verdict_text(row.found.verdict) if said is None else said.topic,
        _us(before),
        _us(after),
        "-" if row.gain is None else f"{row.gain:.2f} x",
        "+".join(rung.tool for rung in row.found.rungs if rung.is_used) or "-",
        row.sandbox,
    )
    return f"| {' | '.join(cells)} |"


HEADINGS = (
    *("case", "outcome", "planted", "class", "topic", "before", "after", "gain", "profilers", "sandbox"),
)


def record(row: Row) -> dict[str, Any]:
    before, after = row.times_us
    return {
        "case": row.case.name,
        "outcome": row.outcome,
        "planted": {"class": row.case.kind, "topic": row.case.topic},
        "diagnosis": to_data(row.classified),
        "verdict": to_data(row.found.verdict),
        "mended": to_data(row.mended),
        "before_us": before,
        "after_us": after,
        "gain": row.gain,
        "sandbox": row.sandbox,
        "profilers": to_data(row.found.rungs),
        "figures": to_data(tuple(row.found.sheet)),
        "kernels": to_data(row.found.kernels),
        "wall_s": row.wall_s,
    }


def document(outcomes: list[Row | Failed], device: Device) -> dict[str, Any]:
    rows = [outcome for outcome in outcomes if isinstance(outcome, Row)]
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "device": device.kind,
        "device_name": device.name,
        "gpu": device.gpu.name,
        "times": "modelled" if device.kind == "cpu" else "measured",
        "found": sum(row.is_found for row in rows),
        "could_be_seen": sum(row.is_visible for row in rows),
        "rows": [record(row) for row in rows],
        "failed": {one.case.name: one.reason for one in outcomes if isinstance(one, Failed)},
    }


def _time_us(verdict: Verdict) -> float | None:
    timing = verdict.timing if isinstance(verdict, Passed) else None
    return None if timing is None else timing.candidate.median_us


def _us(time_us: float | None) -> str:
    return "-" if time_us is None else f"{time_us:.1f} us"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run(cases: list[Case], device: Device, sandbox: str) -> Iterator[Row | Failed]:
    _say(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}")
    for case in cases:
        try:
            row = examined(case, device, sandbox)
        except InfraError as error:
            _say(f"| {case.name} | failed | {case.kind} | - | {error} |")
            yield Failed(case=case, reason=str(error))
            continue
        if sandbox == "auto" and row.sandbox != "process" and device.kind == "cuda" and not has_counters(row):
            why = next(rung.why_not for rung in row.found.rungs if rung.tool == NCU)
            sys.stderr.write(f"no counters in the {row.sandbox} sandbox ({why}): from now on in process\n")
            sandbox = "process"
            row = examined(case, device, sandbox)
        _say(line(row))
        yield row


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sandbox", default="auto")
    parser.add_argument("--only", nargs="+", choices=[case.name for case in CASES], metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    device = select_device(options.device)
    wanted = [case for case in CASES if case.name in (options.only or case.name)]
    outcomes: list[Row | Failed] = []
    for outcome in run(wanted, device, options.sandbox):
        outcomes.append(outcome)
        if options.json is not None:  # after each, since a machine may be taken away
            text = json.dumps(document(outcomes, device), indent=2)
            options.json.write_text(f"{text}\n", encoding="utf-8")
    whole = document(outcomes, device)
    _say(
        f"\n{whole['found']} of {len(outcomes)} found, {whole['could_be_seen']} could be seen; times are "
        f"{whole['times']}, on {device.name}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
