"""Two runs side by side: programs line by line, verdicts, what these depend on, and what was spent."""

import difflib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import Candidate, Cost, Passed, StopReason, Timing, UsageError, Verdict
from warpsmith.report.attempts import spent_on
from warpsmith.report.figures import (
    NOTHING,
    error_text,
    floor_text,
    ratio_text,
    seconds_text,
    speedup_text,
    timing_text,
    usd_text,
)
from warpsmith.report.runs import BrokenRun, Run, read_lines, read_run
from warpsmith.report.turns import summarize
from warpsmith.report.verdicts import verdict_text

ABSENT = "/dev/null"  # as patches name what is not there
MAX_STEPS = 2_000_000  # of comparing two files; beyond, only that they differ is said
CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two. `program` is absent if nothing has passed."""

    run: Run
    program: Candidate | None
    cost: Cost
    num_turns: int  # its own; not those of a run that it was forked from

    @property
    def verdict(self) -> Verdict | None:
        return self.run.verdict

    @property
    def stop(self) -> StopReason | None:
        return None if self.run.outcome is None else self.run.outcome.stop


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """How a file of one program becomes the other's, as a unified diff."""

    path: str
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One fact about both; as people read it."""

    name: str
    a: str
    b: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsDiff:
    """All that two runs differ in. `warnings` come first: what keeps one from comparing the rest."""

    a: Side
    b: Side
    warnings: tuple[str, ...]
    files: tuple[FileDiff, ...]  # those that differ
    verdict: tuple[Row, ...]
    environment: tuple[Row, ...]  # what differs of it
    cost: tuple[Row, ...]

    @property
    def is_same_task(self) -> bool:
        return self.a.run.started.task_digest == self.b.run.started.task_digest


def diff_runs(a: Path, b: Path) -> RunsDiff:
    """The runs in two folders compared. Raises UsageError if there is no readable run in one of them."""
    return diff_sides(read_side(a), read_side(b))


def read_side(folder: Path) -> Side:
    """Raises UsageError if there is no readable run, or if its program cannot be read."""
    run = read_run(folder)
    if isinstance(run, BrokenRun):
        raise UsageError(f"{folder} holds no readable run: {run.reason}")
    num_turns = len(summarize(read_lines(folder)).turns)
    if not num_turns and run.outcome is not None:  # its attempts have them
        num_turns = run.outcome.num_turns or 0
    num_inherited = 0 if run.forked is None else run.forked.turn
    return Side(
        run=run,
        program=None if run.verdict is None else Candidate.from_folder(folder),
        cost=spent_on(run),
        num_turns=max(0, num_turns - num_inherited),
    )


def diff_sides(a: Side, b: Side) -> RunsDiff:
    return RunsDiff(
        a=a,
        b=b,
        warnings=tuple(_warnings(a, b)),
        files=diff_programs(a.program, b.program),
        verdict=verdict_rows(a.verdict, b.verdict),
        environment=_environment_rows(a.run, b.run),
        cost=_cost_rows(a, b),
    )


def diff_programs(a: Candidate | None, b: Candidate | None) -> tuple[FileDiff, ...]:
    """The files that differ; those that only one program has, whole."""
    before, after = (dict(side.files) if side is not None else {} for side in (a, b))
    return tuple(
        FileDiff(path=path, diff=file_diff(path, before.get(path), after.get(path)))
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    )


def file_diff(path: str, before: str | None, after: str | None) -> str:
    """A unified diff; None is a file that is not there."""
    names = (ABSENT if before is None else f"a/{path}", ABSENT if after is None else f"b/{path}")
    old, new = _lines(before or ""), _lines(after or "")
    if _num_steps(old, new) > MAX_STEPS:
        return f"--- {names[0]}\n+++ {names[1]}\ntoo long to be compared: {len(old)} and {len(new)} lines\n"
    return "".join(difflib.unified_diff(old, new, *names, n=CONTEXT_LINES))


def _lines(text: str) -> list[str]:
    """With their ends; the last one says if it has none, as patches do."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()  # after the last line break
    return lines if last == "\n" else [*lines, f"{last}\\ No newline at end of file\n"]


def _num_steps(old: list[str], new: list[str]) -> int:
    """How often a line of one equals a line of the other: what difflib's time grows with."""
    counts = Counter(new)
    return sum(counts[line] for line in old)


def _warnings(a: Side, b: Side) -> Iterable[str]:
    for side in (a, b):
        if (forked := side.run.forked) is not None:
            yield f"{side.run.folder} is a fork of {forked.parent}, after its turn {forked.turn}"
    one, other = a.run.started, b.run.started
    if one.task_id != other.task_id:
        yield f"different tasks ({one.task_id} and {other.task_id}): their times say nothing about each other"
    elif one.task_digest != other.task_digest:
        yield (
            f"different tasks of one name ({one.task_id}): source, scale or precision differ, so their times "
            "say nothing about each other"
        )
    timings = [side.verdict.timing for side in (a, b) if isinstance(side.verdict, Passed)]
    known = [timing for timing in timings if timing is not None]
    if len({timing.provenance for timing in known}) > 1:
        yield "one time is measured, the other modelled: they cannot be compared"
    elif len({timing.gpu for timing in known}) > 1:
        yield f"times of two GPUs: {' and '.join(timing.gpu for timing in known)}"


def verdict_rows(a: Verdict | None, b: Verdict | None) -> tuple[Row, ...]:
    """What the judge said of both; a fact that neither has is left out."""
    one, other = _verdict_facts(a), _verdict_facts(b)
    return tuple(
        Row(name=name, a=one.get(name, NOTHING), b=other.get(name, NOTHING))
        for name in dict.fromkeys((*one, *other))
    )


def _verdict_facts(verdict: Verdict | None) -> dict[str, str]:
    if verdict is None:
        return {"verdict": "nothing correct found"}
    facts = {"verdict": verdict_text(verdict)}
    if not isinstance(verdict, Passed):
        return facts
    if verdict.gates:
        facts["gates passed"] = ", ".join(verdict.gates)
    facts["largest error"] = error_text(verdict.accuracy.error)
    facts["error allowed"] = error_text(verdict.accuracy.allowed)
    if verdict.precision is not None:
        facts["arithmetic"] = verdict.precision.value
    if verdict.coverage is not None:
        facts["track"] = verdict.coverage.track.value
    return facts if verdict.timing is None else facts | _timing_facts(verdict.timing)


def _timing_facts(timing: Timing) -> dict[str, str]:
    compiled = None if timing.compile is None else timing.compile.median_us
    facts = {
        "eager": timing_text(timing, timing.eager.median_us),
        "torch.compile": timing_text(timing, compiled),
        "ours": timing_text(timing, timing.candidate.median_us),
        "ratio": speedup_text(timing, timing.best_baseline),
        "over floor": floor_text(timing),
    }
    if timing.null is not None:
        facts["eager against itself"] = ratio_text(timing.null)
    if timing.num_launches is not None:
        facts["launches"] = str(timing.num_launches)
    return facts


def _environment_rows(a: Run, b: Run) -> tuple[Row, ...]:
    one, other = _environment(a), _environment(b)
    return tuple(
        Row(name=name, a=one.get(name, NOTHING), b=other.get(name, NOTHING))
        for name in dict.fromkeys((*one, *other))
        if one.get(name) != other.get(name)
    )


def _environment(run: Run) -> dict[str, str]:
    environment = {name: str(value) for name, value in run.started.environment.items()}
    return {"device": run.started.device, "scale": f"{run.started.scale:g}", **environment}


def _cost_rows(a: Side, b: Side) -> tuple[Row, ...]:
    return tuple(
        Row(name=name, a=one, b=other)
        for (name, one), other in zip(_cost_facts(a).items(), _cost_facts(b).values(), strict=True)
    )


def _cost_facts(side: Side) -> dict[str, str]:
    cost = side.cost
    return {
        "policy": side.run.started.policy,
        "state": side.run.state.value,
        "why it ended": NOTHING if side.stop is None else side.stop.value,
        "turns": str(side.num_turns),
        "prompt tokens": f"{cost.prompt_tokens:,}",
        "completion tokens": f"{cost.completion_tokens:,}",
        "USD": usd_text(cost.usd),
        "GPU": seconds_text(cost.gpu_s),
        "wall": seconds_text(cost.wall_s),
    }
