"""Curves of one run or of several over each other: one HTML file that needs nothing else, and PNG files."""

import base64
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from warpsmith.core import UsageError
from warpsmith.learn.curves.drawing import calibration_png, panel_png
from warpsmith.learn.curves.panels import Panel, all_series, panels_for
from warpsmith.learn.curves.reading import TrainingRun
from warpsmith.report.synth.html import Html, element, table

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"  # nothing is loaded from anywhere
STYLE = """
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; background: #fff; color: #1c2127;
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .25rem; }
p { margin: .25rem 0; } .soft { color: #5d6770; } .note { background: #f5f7f9; padding: .4rem .8rem;
  border-left: 4px solid #c8762b; }
.wide { overflow-x: auto; margin: .75rem 0; } table { border-collapse: collapse; }
th, td { padding: .2rem 1rem .2rem 0; text-align: left; border-bottom: 1px solid #d5dbe1; }
th { color: #5d6770; } .n { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; height: auto; }
"""
SHOWN = ("reward", "pass_rate", "loss", "value_loss", "explained_variance", "entropy", "kl")
CALIBRATION_TITLE = "Value calibration"


def write_page(runs: Sequence[TrainingRun], path: Path, pictures: Path | None = None) -> tuple[Path, ...]:
    """The page, and with `pictures` each picture as a PNG in that folder; returns what was written.

    Raises:
        UsageError: there is nothing to draw, or a file cannot be written.
        EnvironmentMissing: matplotlib is not installed.
    """
    if not any(run.series for run in runs):
        raise UsageError(f"{', '.join(str(run.folder) for run in runs)}: no step has been taken yet")
    drawn = list(_drawn(runs))
    written = [(path, page(runs, drawn).encode())]
    if pictures is not None:
        written += [(pictures / f"{_file_name(panel.title)}.png", png) for panel, png in drawn]
    try:
        for place, content in written:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be written: {error.strerror}") from error
    return tuple(place for place, _ in written)


def page(runs: Sequence[TrainingRun], drawn: Sequence[tuple[Panel, bytes]]) -> str:
    """The whole file; `drawn` are pictures with what they show."""
    names = ", ".join(run.name for run in runs)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"Training: {names}"),
        element("style", Html(STYLE)),
    )
    sections = [_section(panel, png) for panel, png in drawn]
    body = element("body", element("h1", f"Training: {names}"), *_notes(runs), _table(runs), *sections)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _drawn(runs: Sequence[TrainingRun]) -> Iterator[tuple[Panel, bytes]]:
    for panel in panels_for(runs):
        yield panel, panel_png(panel, runs)
    known = {run.name: run.calibration for run in runs if run.calibration is not None}
    if known:
        about = "What the critic foretold of a token against what came of it, in bins of about equal size."
        yield Panel(title=CALIBRATION_TITLE, metrics=(), about=about), calibration_png(known)


def _section(panel: Panel, png: bytes) -> Html:
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    picture = element("img", src=source, alt=panel.title)
    about = (element("p", panel.about, class_="soft"),) if panel.about else ()
    return element("section", element("h2", panel.title), *about, picture)


def _notes(runs: Sequence[TrainingRun]) -> Iterator[Html]:
    for run in runs:
        if run.is_modelled:
            text = f"{run.name}: rewards rest on modelled times, which say nothing of a GPU's."
            yield element("p", text, class_="note")
        if run.is_cut:
            text = f"{run.name}: the last line is half written, and is left out."
            yield element("p", text, class_="note")


def _table(runs: Sequence[TrainingRun]) -> Html:
    """The last value of what matters most."""
    known = [name for name in SHOWN if any(name in run.series for run in runs)]
    rows = [(run.name, run.stage, str(run.num_steps), *(_last(run, name) for name in known)) for run in runs]
    return table(("run", "stage", "steps", *known), rows, numbers="ttn" + "n" * len(known))


def _last(run: TrainingRun, name: str) -> str:
    points = all_series(run).get(name)
    if not points:
        return ""
    value = points[-1][1]
    return f"{value:.4g}" if math.isfinite(value) else str(value)


def _file_name(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:80] or "curve"
