"""What a set of tasks is made of, beside the paper's set, and how long its tasks take."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from warpsmith.report.synth.facts import (
    Composition,
    CurriculumCount,
    DepthShare,
    Library,
    OperatorCount,
    Times,
)
from warpsmith.report.synth.folder import Step
from warpsmith.report.synth.histogram import Quartiles, log_histogram
from warpsmith.tasks.synth.base import Curriculum, Made
from warpsmith.tasks.synth.compose import Mix
from warpsmith.tasks.synth.filters import Band
from warpsmith.tasks.synth.seeds import Operator
from warpsmith.tasks.synth.similarity import Split

NUM_OPERATORS = 30
TRANSFORMERS = "transformers"
NOT_STATED = "not stated"
SPLITS = tuple(split.value for split in Split)  # in this order; others follow
MEASURED, MODELLED = "eager_us_measured", "eager_us_modelled"
LEAST_MS, MOST_MS = 1e-6, 1e9  # beyond them no time is believed


def paper_shares(mix: Mix | None = None) -> dict[str, float]:
    """Depth by depth, the share of CUDA-Agent-Ops-6K (table 3 of its paper); they add up to 1."""
    mix = mix or Mix()
    shares = {depth_name(f"torch#{depth}"): share for depth, share in enumerate(mix.depths, start=1)}
    shares[TRANSFORMERS] = mix.transformers
    total = sum(shares.values())
    return {name: share / total for name, share in shares.items()}


def depth_name(source: str) -> str:
    """Of a row's `data_source`: "torch ×2", "transformers", or whatever it says."""
    library, mark, depth = source.partition("#")
    return f"{library} ×{depth}" if mark else source or NOT_STATED


def composition(step: Step, rows: Sequence[Made], composed: Sequence[Made] | None) -> Composition:
    """Of `rows`, which `step` wrote; `composed` are those that it all began with, where these are others."""
    used = _operators(rows)
    before = None if composed is None else _operators(composed)
    most = sorted(used.items(), key=lambda pair: (-pair[1], pair[0]))[:NUM_OPERATORS]
    splits = {row.split or NOT_STATED for row in rows}
    return Composition(
        step=step,
        num_tasks=len(rows),
        by_depth=_by_depth(rows),
        by_curriculum=_by_curriculum(rows),
        splits=tuple(name for name in (*SPLITS, *sorted(splits - {*SPLITS})) if name in splits),
        num_operators=len(used),
        operators=tuple(
            OperatorCount(name=name, num=num, num_composed=None if before is None else before[name])
            for name, num in most
        ),
    )


def _operators(rows: Iterable[Made]) -> Counter[str]:
    """How many tasks use each."""
    return Counter(name for row in rows for name in set(row.operators))


def _by_depth(rows: Sequence[Made]) -> tuple[DepthShare, ...]:
    """The paper's depths first, then whatever else there is."""
    counts = Counter(depth_name(row.source) for row in rows)
    paper = paper_shares()
    names = [*paper, *sorted(counts.keys() - paper.keys())]
    return tuple(
        DepthShare(
            name=name,
            num=counts[name],
            share=counts[name] / max(1, len(rows)),
            paper_share=paper.get(name),
        )
        for name in names
    )


def _by_curriculum(rows: Sequence[Made]) -> tuple[CurriculumCount, ...]:
    """In the order of difficulty; those of none last."""
    found = []
    for curriculum in (*Curriculum, None):
        splits = Counter(row.split or NOT_STATED for row in rows if row.curriculum is curriculum)
        if splits:
            name = "none" if curriculum is None else curriculum.value
            found.append(CurriculumCount(name=name, num=splits.total(), by_split=dict(splits)))
    return tuple(found)


def times(step: Step, rows: Sequence[Made], band: Band | None) -> Times | None:
    """Measured times if there are any, else modelled ones, never both; None if there are none at all."""
    for name in (MEASURED, MODELLED):
        found = [ms for row in rows if (ms := _ms(row.facts.get(name))) is not None]
        if found:
            return Times(
                step=step,
                is_measured=name == MEASURED,
                num_tasks=len(found),
                num_without=len(rows) - len(found),
                band_ms=None if band is None else (band.least_us / 1e3, band.most_us / 1e3),
                quartiles_ms=Quartiles.of(found),
                histogram_ms=log_histogram(found),
            )
    return None


def _ms(us: str | None) -> float | None:
    try:
        ms = float(us or "") / 1e3
    except ValueError:
        return None
    return ms if math.isfinite(ms) and LEAST_MS <= ms <= MOST_MS else None


def libraries(operators: Iterable[Operator], rows: Sequence[Made]) -> tuple[Library, ...]:
    """Whose operators there are, under which licence, and how many of the tasks use them."""
    names: dict[tuple[str, str, str], set[str]] = {}
    for operator in operators:
        whose = operator.provenance
        known = names.setdefault((whose.library, whose.version, whose.licence), set())
        known.add(whose.name)
    return tuple(
        Library(
            name=name,
            version=version,
            licence=licence,
            num_operators=len(known),
            num_tasks=sum(not known.isdisjoint(row.operators) for row in rows),
        )
        for (name, version, licence), known in sorted(names.items())
    )


def num_unknown(operators: Iterable[Operator], rows: Sequence[Made]) -> int:
    """How many tasks use an operator of which nothing is known."""
    known = {operator.provenance.name for operator in operators}
    return sum(not known.issuperset(row.operators) for row in rows)
