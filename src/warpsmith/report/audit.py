"""An audit in words: a table of the tasks, then a paragraph for each finding."""

from collections import Counter
from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from warpsmith.core.audit import Finding, Severity, TaskAudit, Unaudited
from warpsmith.report.figures import seconds_text
from warpsmith.report.plain import one_line, printable

STYLES = {Severity.DEGENERATE: "red", Severity.SUSPICIOUS: "yellow", Severity.NOTE: "dim"}
CLEAN = "clean"


def audits_table(audits: Iterable[TaskAudit | Unaudited]) -> Table:
    """One line a task."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("task", "result", "findings", "inputs", "forwards", "took"):
        table.add_column(column, overflow="fold")
    for audit in audits:
        name = Text(printable(audit.task_id))
        match audit:
            case Unaudited(reason=reason):
                table.add_row(name, Text("not audited", style="red"), Text(one_line(reason, 120)))
            case TaskAudit():
                table.add_row(
                    name,
                    result_text(audit),
                    Text(_counted(audit.findings)),
                    Text(printable(", ".join(audit.inputs))),
                    Text(str(audit.num_forwards)),
                    Text(seconds_text(audit.wall_s)),
                )
    return table


def result_text(audit: TaskAudit) -> Text:
    """The worst of it, coloured."""
    severity = audit.severity
    if severity is None or audit.is_clean:
        return Text(CLEAN, style="green")
    return Text(severity.value, style=STYLES[severity])


def finding_text(task_id: str, finding: Finding) -> Text:
    """What was found, what it rests on, and how to mend it."""
    text = Text(printable(f"{task_id}: {finding.severity.value}: "), style=STYLES[finding.severity])
    text.append(printable(f"{finding.kind.value}: {finding.subject}\n"), style="bold")
    text.append(printable(f"    {finding.evidence}\n    repair: {finding.repair}"), style="default")
    return text


def audit_texts(audit: TaskAudit) -> list[Text]:
    """A paragraph a finding, and what was not looked at."""
    texts = [finding_text(audit.task_id, finding) for finding in audit.findings]
    texts += [
        Text(printable(f"{audit.task_id}: not looked at: {what}"), style="dim") for what in audit.skipped
    ]
    return texts


def _counted(findings: Iterable[Finding]) -> str:
    """Kinds and how many of each, in order."""
    counts = Counter(finding.kind.value for finding in findings)
    return ", ".join(kind if count == 1 else f"{kind} ×{count}" for kind, count in counts.items()) or "none"
