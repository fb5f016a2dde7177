"""A bench as one HTML file that needs nothing else: totals, notes, and a table of all tasks that sorts."""

import math
from collections.abc import Iterable, Sequence
from html import escape

from warpsmith.bench.plan import Plan
from warpsmith.bench.record import TaskRecord
from warpsmith.bench.rows import audit_text, outcome_text
from warpsmith.bench.tables import headings, notes, totals_cells
from warpsmith.bench.totals import Totals
from warpsmith.core import Passed, Provenance, Ratio, Timing
from warpsmith.report.figures import NOTHING, floor_text, ratio_text, seconds_text, timing_text
from warpsmith.report.plain import printable

STYLE = """
:root { color-scheme: light dark; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .25rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid #8884; }
.totals td + td, .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.published, .part { opacity: .7; }
.good { color: #18794e; } .fair { color: #986801; } .bad { color: #c4321c; }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid; }
th[aria-sort=ascending] button::after { content: " \\25b2"; }
th[aria-sort=descending] button::after { content: " \\25bc"; }
li { max-width: 70rem; } small { opacity: .75; display: block; max-width: 40rem; }
"""
SCRIPT = """
for (const button of document.querySelectorAll("#tasks th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, body = document.querySelector("#tasks tbody");
    const column = [...head.parentElement.children].indexOf(head);
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = row => row.children[column].dataset.key;
    const rows = [...body.rows].sort((a, b) => {
      const x = key(a), y = key(b);
      if (x === "" || y === "") return (x === "") - (y === "");  // what has no value comes last
      const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
      return down ? -order : order;
    });
    body.append(...rows);
  });
}
"""
MEASURED = ("eager", "torch.compile", "ours", "against eager", "against torch.compile", "over floor")
MODELLED = ("eager", "torch.compile", "ours", "over floor")

Cell = tuple[str, float | str | None]
"""What is shown, and what is sorted by; None comes last."""


def page(plan: Plan, lines: Sequence[Totals], records: Sequence[TaskRecord], *, with_published: bool) -> str:
    """The whole document. Text of others is escaped."""
    title = f"{plan.suite}, {plan.mode} mode, {plan.policy} on {plan.device}"
    is_modelled = any(_is_modelled(record.timing) for record in records)
    remarks = notes(plan, lines, with_published=with_published)
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><meta charset="utf-8"><title>{_text(title)}</title><style>{STYLE}</style>',
            f"<h1>{_text(title)}</h1>",
            _totals(lines, with_published=with_published),
            f"<ul>{''.join(f'<li>{_text(remark)}' for remark in remarks)}</ul>",
            _tasks(records, is_modelled=is_modelled),
            f"<script>{SCRIPT}</script></html>\n",
        ]
    )


def _totals(lines: Sequence[Totals], *, with_published: bool) -> str:
    head = "".join(f"<th>{_text(heading)}" for heading in ("", *headings(lines)))
    rows = []
    for name, cells, is_published in totals_cells(lines, with_intervals=True):
        if with_published or not is_published:
            kind = "published" if is_published else "part" if name.startswith(" ") else ""
            rows.append(f'<tr class="{kind}">{"".join(f"<td>{_text(cell)}" for cell in (name, *cells))}')
    return f'<table class="totals"><thead><tr>{head}</thead><tbody>{"".join(rows)}</tbody></table>'


def _tasks(records: Iterable[TaskRecord], *, is_modelled: bool) -> str:
    speeds = MODELLED if is_modelled else MEASURED
    columns = ("task", "outcome", *speeds, "precision", "own kernels", "how", "audit", "GPU", "took")
    head = "".join(f'<th><button type="button">{_text(column)}</button>' for column in columns)
    rows = "".join(_row(record, is_modelled=is_modelled) for record in records)
    return f'<table id="tasks"><thead><tr>{head}</thead><tbody>{rows}</tbody></table>'


def _row(record: TaskRecord, *, is_modelled: bool) -> str:
    name, told = record.name, record.told
    passed = record.verdict if isinstance(record.verdict, Passed) else None
    share = None if passed is None or passed.coverage is None else passed.coverage.own_share
    precision = "" if passed is None or passed.precision is None else passed.precision.value
    order = f"{name.group} {name.problem or 0:09d} {name.task_id}"
    how = ", ".join(f"{one.name} ({one.recipe}): {one.variant}" for one in told.techniques)
    cells = [
        _cell((f"{name.key}: {name.task_id}", order)),
        _cell((outcome_text(record), outcome_text(record)), record.reason, kind=_kind(record)),
        *(_cell(cell, kind="number") for cell in _speed_cells(record.timing, is_modelled=is_modelled)),
        _cell((precision, precision or None)),
        _cell(("" if share is None else f"{share:.0%}", share), kind="number"),
        _cell((how, how or None), "; ".join(f"shortcut: {shortcut}" for shortcut in told.shortcuts)),
        _cell((audit_text(record), audit_text(record))),
        _cell((seconds_text(record.cost.gpu_s), record.cost.gpu_s), kind="number"),
        _cell((seconds_text(record.cost.wall_s), record.cost.wall_s), kind="number"),
    ]
    return f"<tr>{''.join(cells)}"


def _speed_cells(timing: Timing | None, *, is_modelled: bool) -> list[Cell]:
    if timing is None:
        return [(NOTHING, None)] * len(MODELLED if is_modelled else MEASURED)
    series = (timing.eager, timing.compile, timing.candidate)
    medians = [None if one is None else one.median_us for one in series]
    times: list[Cell] = [(timing_text(timing, median), median) for median in medians]
    ratios = [] if is_modelled else [_ratio_cell(timing.against_eager), _ratio_cell(timing.against_compile)]
    return [*times, *ratios, (floor_text(timing), timing.times_floor if timing.floor_us > 0 else None)]


def _ratio_cell(ratio: Ratio | None) -> Cell:
    return (NOTHING, None) if ratio is None else (ratio_text(ratio), ratio.centre)


def _cell(cell: Cell, more: str = "", kind: str = "") -> str:
    text, key = cell
    shown_key = "" if key is None or (isinstance(key, float) and not math.isfinite(key)) else key
    small = f"<small>{_text(more)}</small>" if more else ""
    return f'<td class="{kind}" data-key="{_text(str(shown_key))}">{_text(text)}{small}'


def _kind(record: TaskRecord) -> str:
    if record.timing is not None:
        return "good" if record.timing.is_fast else "fair"
    return "fair" if record.has_passed else "bad"


def _is_modelled(timing: Timing | None) -> bool:
    return timing is not None and timing.provenance is Provenance.MODELLED


def _text(text: str) -> str:
    return escape(printable(text), quote=True)
