"""What came of all tasks together, by reason."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from warpsmith.tasks.synth.filters.outcome import Facts, Kept, Outcome, Reason, Rejected, Stage, Undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """`outcomes` are in the order in which the tasks came."""

    outcomes: tuple[Outcome, ...]
    num_repeated: int = 0  # tasks that came a second time, counted once
    num_resumed: int = 0  # that an earlier run had decided
    wall_s: float = 0.0  # of this run

    @property
    def kept(self) -> tuple[Kept, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Kept))

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Rejected))

    @property
    def undecided(self) -> tuple[Undecided, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Undecided))

    @property
    def by_reason(self) -> Mapping[Reason, int]:
        """How many were rejected for each; the most frequent first."""
        return dict(Counter(outcome.reason for outcome in self.rejected).most_common())

    @property
    def remaining(self) -> Mapping[Stage, int]:
        """How many came through each stage."""
        stages = Counter(outcome.stage for outcome in self.rejected)
        left, found = len(self.kept) + len(self.rejected), {}
        for stage in Stage:
            left -= stages[stage]
            found[stage] = left
        return found

    @property
    def by_suspicion(self) -> Mapping[str, int]:
        """How many of the kept have each kind of finding."""
        kinds = Counter(
            kind for kept in self.kept for kind in {finding.kind.value for finding in kept.facts.findings}
        )
        return dict(kinds.most_common())

    @property
    def stage_s(self) -> Mapping[str, float]:
        """Wall time spent in each stage, summed over tasks."""
        spent: Counter[str] = Counter()
        for facts in [outcome.facts for outcome in self.kept] + [outcome.facts for outcome in self.rejected]:
            spent.update(facts.stage_s)
        return dict(spent)


def facts_as_text(facts: Facts) -> dict[str, str]:
    """What a kept task's row in a store tells of the filter, by name."""
    how = "modelled" if facts.is_time_modelled else "measured"
    texts: dict[str, object] = {
        f"eager_us_{how}": facts.eager_us,
        "memory_bytes": facts.memory_bytes,
        "num_launches": facts.num_launches,
        "num_graph_breaks": facts.num_graph_breaks,
        "compile_error": facts.compile_error,
        "error_allowed": facts.error_allowed,
        "told_apart": facts.told_apart,
        "inputs": "; ".join(facts.inputs),
        "outputs": "; ".join(facts.outputs),
        "suspicious": "; ".join(sorted({finding.kind.value for finding in facts.findings})),
        "not_audited": "; ".join(facts.skipped),
    }
    return {name: str(value) for name, value in texts.items() if value not in (None, "")}
