"""The card of a folder of skills: what is in it, written from its rows alone."""

from collections import Counter
from collections.abc import Iterable
from statistics import median
from typing import Any

from warpsmith.tasks.store.card import section
from warpsmith.tasks.synth.skills.skill import Kind

MARK = "<!-- warpsmith's card of skills: written anew with every change -->"
NUM_NAMES = 20


def card(rows: list[dict[str, Any]], columns: Iterable[tuple[str, str]]) -> str:
    """Markdown; the same rows give the same text."""
    kinds = Counter(row["kind"] for row in rows)
    references = len({row["reference"] for row in rows})
    sections = [
        f"{MARK}\n# Atomic skills",
        f"{len(rows)} skills over {references} references, in `skills.parquet` and, the same, in "
        "`skills.jsonl`. From scratch, one step of a larger task is to be written. To repair or optimise, a "
        "program is to be made right, or faster, after what was said of it; the program that came "
        "next, and passed, is in the row. No row is of a task that was held back for testing.",
        section("By kind", ("kind", "skills"), [(kind.value, str(kinds[kind.value])) for kind in Kind]),
        section("Most frequent", ("name", "skills"), _most(row["name"] for row in rows)),
        _speedups(rows),
        section("Columns", ("column", "what it holds"), [(f"`{name}`", what) for name, what in columns]),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _speedups(rows: list[dict[str, Any]]) -> str:
    lines = []
    for timed in ("measured", "modelled"):
        found = [
            row["speedup"]
            for row in rows
            if row["kind"] == Kind.OPTIMISE and row["timed"] == timed and row["speedup"] is not None
        ]
        if found:
            lines.append((timed, str(len(found)), *(f"{f(found):.2f}" for f in (min, median, max))))
    return section("Time before over after", ("how", "skills", "least", "median", "most"), lines)


def _most(names: Iterable[str]) -> list[tuple[str, str]]:
    counts = sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0]))
    return [(f"`{name}`", str(many)) for name, many in counts[:NUM_NAMES]]
