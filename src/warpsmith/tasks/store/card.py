"""A store's card: what is in it, in words, written from its rows and from nothing else."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from warpsmith.tasks.store.about import About
from warpsmith.tasks.synth.base import Made

CARD = "README.md"
NUM_OPERATORS = 30
MODELLED = "eager_us_modelled"  # the filter's name for a time that nobody measured

COLUMNS = (
    ("id", "SHA-256 of the code and of how the task is judged"),
    ("code", "a Python module with `Model`, `get_inputs` and `get_init_inputs`"),
    ("ops", "the operators, in order"),
    ("data_source", "`torch#k`: k operators of torch; `transformers`; or the suite it came from"),
    ("name", "what the task is called"),
    ("depth", "how many operators are stacked"),
    ("structure", "equal for tasks that differ in sizes alone"),
    ("curriculum", "the set of tasks of one kind that it belongs to"),
    ("split", "`train`, `validation` or `test`: no two sides hold tasks that are alike"),
    ("provenance", "where it came from"),
    ("regime", "JSON: scale, precision, dtype, tolerance, train mode, gradients"),
    ("facts", "JSON: what filters found, by name"),
)


def is_ours(readme: Path, name: str) -> bool:
    """Whether `readme` is the card of the store called `name`."""
    try:
        with readme.open(encoding="utf-8", errors="replace") as file:
            return file.readline().strip() == _mark(name)
    except OSError:
        return False


def card(name: str, rows: list[Made], about: About) -> str:
    """Markdown; the same rows give the same text."""
    licence = about.licence or "not stated"
    sections = [
        f"{_mark(name)}\n# {about.title or name}",
        about.description,
        f"{len(rows)} tasks in `{name}`. Licence: {licence}. "
        f"{_timed(rows)} on: {about.device or 'no device; nothing was timed'}.",
        _counted("By source", Counter(row.source or "not stated" for row in rows)),
        _counted("By depth", Counter(str(row.depth or "not stated") for row in rows)),
        _counted("By curriculum", Counter(str(row.curriculum or "none") for row in rows)),
        _counted("By split", Counter(row.split or "none" for row in rows)),
        _operators(rows),
        _versions("Filters that every task went through", about.filters),
        _versions("Made with", about.versions),
        _facts(rows),
        section("Columns", ("column", "what it holds"), [(f"`{column}`", what) for column, what in COLUMNS]),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _timed(rows: list[Made]) -> str:
    return "Modelled" if any(MODELLED in row.facts for row in rows) else "Measured"


def _mark(name: str) -> str:
    return f"<!-- warpsmith's card of {name}: written anew with every change -->"


def _counted(title: str, counts: Counter[str]) -> str:
    total = max(1, counts.total())
    lines = [(what, str(many), f"{100 * many / total:.1f} %") for what, many in sorted(counts.items())]
    return section(title, (title.rpartition(" ")[2], "tasks", "share"), lines)


def _operators(rows: list[Made]) -> str:
    counts = Counter(operator for row in rows for operator in set(row.operators))
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:NUM_OPERATORS]
    title = f"Operators: {len(counts)} in all, the most used"
    return section(title, ("operator", "tasks"), [(f"`{name}`", str(many)) for name, many in most])


def _facts(rows: list[Made]) -> str:
    counts = Counter(name for row in rows for name in row.facts)
    lines = [(name, str(many)) for name, many in sorted(counts.items())]
    return section("What is known of tasks", ("fact", "tasks"), lines)


def _versions(title: str, versions: Mapping[str, str]) -> str:
    return section(title, ("what", "version"), sorted(versions.items()))


def section(title: str, head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    """A heading with a table below it; empty if there are no lines."""
    body = ["| " + " | ".join(map(_cell, line)) + " |" for line in lines]
    if not body:
        return ""
    return "\n".join([f"## {title}", "", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *body])


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
