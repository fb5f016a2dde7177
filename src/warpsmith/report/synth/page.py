"""A report as one HTML file that needs nothing else: no network, no scripts, light or dark as one reads."""

from collections.abc import Iterator

from warpsmith.report.figures import NOTHING, seconds_text
from warpsmith.report.plain import one_line
from warpsmith.report.synth import words
from warpsmith.report.synth.charts import Axis, Bar, Mark, bars, histogram
from warpsmith.report.synth.facts import Composition, Facts, Likeness, Narrowing, Times
from warpsmith.report.synth.html import Content, Html, element, joined, table
from warpsmith.report.synth.records import Rechecking

POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # whatever a task's name says, nothing is loaded
STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c2127; --soft: #5d6770; --line: #d5dbe1;
  --bar: #2f6fb0; --beside: #c8762b; --mark: #b3261e; --panel: #f5f7f9; }
@media (prefers-color-scheme: dark) { :root { --paper: #11161c; --ink: #e4e8ec; --soft: #98a3ad;
  --line: #323b45; --bar: #6aa7e4; --beside: #e6a15c; --mark: #ff8a80; --panel: #1a2129; } }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
p { margin: .5rem 0; } .lead { font-size: 1.1rem; } .soft { color: var(--soft); }
.note { background: var(--panel); border-left: 4px solid var(--beside); padding: .4rem .8rem; }
.wide { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; min-width: 24rem; }
th, td { padding: .2rem 1rem .2rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); overflow-wrap: break-word; unicode-bidi: isolate; }
td.t { min-width: 9rem; max-width: 36rem; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; } thead th { vertical-align: bottom; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; unicode-bidi: isolate; }
svg { display: block; width: 100%; min-width: 40rem; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .axis, svg .said { fill: var(--soft); }
.bar { fill: var(--bar); } .beside { fill: var(--beside); } .grid { stroke: var(--line); }
.mark { stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 4 3; }
"""


def page(facts: Facts) -> str:
    """The whole file."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"Synthesised tasks: {one_line(words.summary(facts))}"),
        element("style", Html(STYLE)),
    )
    body = element("body", *_opening(facts), *_sections(facts))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _opening(facts: Facts) -> Iterator[Html]:
    yield element("h1", "Synthesised tasks")
    yield element("p", words.summary(facts), class_="lead")
    yield element("p", "In ", element("code", facts.folder), class_="soft")
    for line in (*facts.notes, *words.not_run(facts)):
        yield element("p", line, class_="note")


def _sections(facts: Facts) -> Iterator[Html]:
    """Those of which something is known."""
    if facts.narrowings:
        yield _section("What came through, and why the rest did not", *_funnel(facts))
    if facts.composition is not None:
        yield _section(words.composition_title(facts.composition), *_composition(facts.composition))
    if facts.times is not None:
        yield _section(words.times_title(facts.times), *_times(facts.times))
    if facts.likeness is not None:
        yield _section("How close to the benchmark", *_likeness(facts.likeness))
    if facts.recheck is not None:
        yield _section("Filtered once more", *_recheck(facts.recheck))
    if facts.sets or facts.libraries:
        yield _section("Where it comes from", *_origins(facts))


def _section(title: str, *content: Html) -> Html:
    return element("section", element("h2", title), *content)


def _funnel(facts: Facts) -> Iterator[Html]:
    first = facts.narrowings[0].num_in
    rows = [Bar(name="came in", value=first, said=str(first))]
    rows += [_left(narrowing, first) for narrowing in facts.narrowings]
    yield bars(rows, label="Tasks that are left after each check")
    lost = [
        (narrowing.name, loss.reason, str(loss.num), loss.example)
        for narrowing in facts.narrowings
        for loss in narrowing.losses
    ]
    if lost:
        yield table(("check", "why not", "tasks", "one of them"), lost, numbers="ttnt")
    if facts.suspicious:
        yield element("h3", "Kept, though the audit has doubts")
        yield table(
            ("finding", "tasks"), [(one.name, str(one.num)) for one in facts.suspicious], numbers="tn"
        )


def _left(narrowing: Narrowing, first: int) -> Bar:
    num = narrowing.num_out
    said = f"{num} ({words.percent(num / first)})" if first else str(num)
    tip = f"{narrowing.name}: {num} of {narrowing.num_in}"
    lost = words.losses_text(narrowing)
    return Bar(name=narrowing.name, value=num, said=said, tip=f"{tip}; not: {lost}" if lost else tip)


def _composition(composition: Composition) -> Iterator[Html]:
    yield element("h3", "By depth, beside CUDA-Agent-Ops-6K")
    rows = [
        Bar(
            name=one.name,
            value=one.share,
            said=f"{words.percent(one.share)} ({one.num}); paper {_share(one.paper_share)}",
            beside=one.paper_share,
        )
        for one in composition.by_depth
    ]
    yield bars(rows, label="Share of tasks by depth, the paper's share below each")
    yield element("p", "Blue: this set. Orange: table 3 of the paper (arXiv 2602.24286).", class_="soft")
    yield element("h3", "By curriculum and split")
    yield table(
        ("curriculum", *composition.splits, "all"),
        [
            (one.name, *(str(one.by_split.get(split, 0)) for split in composition.splits), str(one.num))
            for one in composition.by_curriculum
        ],
        numbers="t" + "n" * (len(composition.splits) + 1),
    )
    yield element(
        "h3", f"By operator: {len(composition.operators)} of {composition.num_operators}, the most used"
    )
    operators = [
        Bar(name=one.name, value=one.num, said=_used(one.num, one.num_composed))
        for one in composition.operators
    ]
    yield bars(operators, label="Tasks that use an operator")


def _share(share: float | None) -> str:
    return NOTHING if share is None else words.percent(share)


def _used(num: int, num_composed: int | None) -> str:
    return str(num) if num_composed is None else f"{num} of {num_composed} composed"


def _times(times: Times) -> Iterator[Html]:
    five = times.quartiles_ms
    marks = (
        Mark(value=five.lower, said=f"a quarter below {words.ms_text(five.lower)} ms"),
        Mark(value=five.median, said=f"median {words.ms_text(five.median)} ms"),
        Mark(value=five.upper, said=f"a quarter above {words.ms_text(five.upper)} ms"),
    )
    axis = Axis.of_decades("ms, logarithmic", times.histogram_ms.edges)
    yield histogram(times.histogram_ms, axis, marks, label="Tasks by eager's time a call")
    yield element("p", words.times_text(times))


def _likeness(likeness: Likeness) -> Iterator[Html]:
    yield element("p", words.likeness_text(likeness))
    if likeness.histogram is not None:
        axis = Axis(
            name="largest similarity to a task of the benchmark", ticks=tuple(n / 10 for n in range(11))
        )
        mark = Mark(value=likeness.threshold, said=f"dropped from {likeness.threshold:g} on")
        yield histogram(
            likeness.histogram, axis, (mark,), label="Tasks by their largest similarity to the benchmark"
        )
    if likeness.top:
        yield element("h3", f"The {len(likeness.top)} closest pairs")
        rows = [(_name(one.task_id), _name(one.other_id), f"{one.similarity:.3f}") for one in likeness.top]
        yield table(("task", "of the benchmark", "similarity"), rows, numbers="ttn")


def _recheck(recheck: Rechecking) -> Iterator[Html]:
    yield element("p", f"{words.recheck_text(recheck)} It took {seconds_text(recheck.wall_s)}.")
    rows = [(_name(one.task_id), one.reason.value, one_line(one.evidence)) for one in recheck.rejected]
    rows += [(_name(one.task_id), "not decided", one_line(one.why)) for one in recheck.undecided]
    if rows:
        yield table(("task", "why not", "what was found"), rows)


def _name(task_id: str) -> str:
    """Short enough for a table, whatever somebody called their task."""
    return one_line(task_id, 60) or NOTHING


def _origins(facts: Facts) -> Iterator[Html]:
    rows: list[tuple[Content, ...]] = [
        (
            words.SETS[one.step],
            str(one.num_tasks),
            one.device or NOTHING,
            one.licence or NOTHING,
            joined(element("div", f"{name} {version}") for name, version in sorted(one.versions.items())),
        )
        for one in facts.sets
    ]
    if rows:
        yield table(("tasks", "how many", "device", "licence of their text", "made with"), rows, numbers="tn")
    libraries = [
        (one.name, one.version, one.licence, str(one.num_operators), str(one.num_tasks))
        for one in facts.libraries
    ]
    if libraries:
        yield element("h3", "Operators")
        head = ("library", "version", "licence", "operators found", "tasks that use them")
        yield table(head, libraries, numbers="tttnn")
    if facts.skipped:
        yield element("h3", "Names that are no operators")
        yield table(("why", "names"), [(one.name, str(one.num)) for one in facts.skipped], numbers="tn")
