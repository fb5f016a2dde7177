"""What a run has spent, from its trajectory: the rows of its ledger, whatever else is damaged."""

from collections.abc import Iterable

from warpsmith.agent.events import Aborted, in_effect
from warpsmith.agent.runs.ledger import Row, ledger_of
from warpsmith.core import Cost
from warpsmith.report.runs import Line


def ledger_rows(lines: Iterable[Line]) -> tuple[Row, ...]:
    """A row for each thing that was paid for; damaged lines are passed over.

    What a run that was killed, or still runs, has spent on a turn that has not ended counts too.
    """
    events = in_effect(line.event for line in lines if line.event is not None)
    return ledger_of((*events, Aborted(reason="")))


def total_of(rows: Iterable[Row]) -> Cost:
    """All that was spent by the last of `rows`."""
    total = Cost()
    for row in rows:
        total = row.total
    return total
