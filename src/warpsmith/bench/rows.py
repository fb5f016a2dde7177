"""A record as one flat row: for the page, and for programs that read the results."""

from typing import Any

from warpsmith.bench.record import Fate, TaskRecord
from warpsmith.bench.totals import has_room, is_faster
from warpsmith.core import Passed, Ratio, Timing
from warpsmith.core.audit import Severity, TaskAudit, Unaudited
from warpsmith.report.plain import one_line
from warpsmith.report.verdicts import verdict_text

NOT_AUDITED = "not audited"
CLEAN = "clean"


def outcome_text(record: TaskRecord) -> str:
    """What a table says of it in a few words."""
    if record.fate is Fate.OURS:
        return "we failed"
    if record.fate is Fate.REFUSED:
        return "refused by the judge"
    return "nothing was judged" if record.verdict is None else verdict_text(record.verdict)


def audit_text(record: TaskRecord) -> str:
    """Its worst kind, and what was found of it: 'degenerate: zeros pass'."""
    match record.audit:
        case None:
            return NOT_AUDITED
        case Unaudited(reason=reason):
            return f"{NOT_AUDITED}: {one_line(reason, 100)}"
        case TaskAudit() as audit:
            return _findings_text(audit)


def row_data(record: TaskRecord) -> dict[str, Any]:
    """Names as in results.json. A modelled time stands under names that say so, and makes no ratio."""
    name, passed = record.name, record.verdict if isinstance(record.verdict, Passed) else None
    coverage = None if passed is None else passed.coverage
    return {
        "key": name.key,
        "group": name.group,
        "task_id": name.task_id,
        "digest": name.digest,
        "mode": record.mode,
        "fate": record.fate,
        "outcome": outcome_text(record),
        "has_passed": record.has_passed,
        "reason": record.reason,
        "audit": audit_text(record),
        "is_degenerate": record.is_degenerate,
        **_timing_data(record.timing),
        "precision": None if passed is None else passed.precision,
        "track": None if coverage is None else coverage.track,
        "own_share": None if coverage is None else coverage.own_share,
        "techniques": record.told.techniques,
        "shortcuts": record.told.shortcuts,
        "declined": record.told.declined,
        "last_words": record.told.last_words,
        "stop": record.stop,
        "num_turns": record.num_turns,
        "num_tries": record.num_tries,
        "cost": record.cost,
        "candidate_digest": record.candidate_digest,
        "finished_at": record.at,
    }


def _timing_data(timing: Timing | None) -> dict[str, Any]:
    if timing is None:
        return {"provenance": None}
    data: dict[str, Any] = {"provenance": timing.provenance, "trouble": timing.trouble}
    times = {
        "candidate": timing.candidate.median_us,
        "eager": timing.eager.median_us,
        "compile": None if timing.compile is None else timing.compile.median_us,
        "floor": timing.floor_us,
    }
    if timing.provenance.value == "modelled":
        return data | {"modelled_us": times, "modelled_over_floor": timing.times_floor}
    return data | {
        "times_us": times,
        "compile_mode": None if timing.compile is None else timing.compile.name,
        "against_eager": _ratio(timing.against_eager),
        "against_compile": _ratio(timing.against_compile),
        "is_faster_than_eager": is_faster(timing, timing.against_eager),
        "is_faster_than_compile": is_faster(timing, timing.against_compile),
        "over_floor": timing.times_floor,
        "has_room": has_room(timing, timing.eager),
    }


def _ratio(ratio: Ratio | None) -> dict[str, float] | None:
    if ratio is None:
        return None
    return {"centre": ratio.centre, "low": ratio.low, "high": ratio.high}


def _findings_text(audit: TaskAudit) -> str:
    worst = audit.severity
    if worst is None:
        return CLEAN
    kinds = dict.fromkeys(finding.kind.value for finding in audit.findings if finding.severity is worst)
    return (
        f"{worst.value}: {', '.join(kinds)}" if worst is not Severity.NOTE else f"notes: {', '.join(kinds)}"
    )
