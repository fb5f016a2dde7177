"""What becomes of a name that the crawl looks at: a seed, or the reason why not."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from warpsmith.tasks.synth.base import Kind
from warpsmith.tasks.synth.seeds.operator import Operator


class Reason(StrEnum):
    """Why a name is no seed."""

    RANDOM = "answers differ between two runs"
    IN_PLACE = "writes to its input"
    NO_OPERATOR = "no function and no class of modules"
    FACTORY = "takes no tensor"
    NO_EFFECT = "its answer does not depend on what it is given"
    IDENTITY = "returns its input unchanged"
    QUANTISED = "quantised"
    SPARSE = "sparse"
    COMPLEX = "complex-valued"
    NOT_FLOATING = "integers or truth values"
    NOT_A_TENSOR = "its answer is no tensor"
    EMPTY = "its answer is empty"
    NOT_FINITE = "not finite on any domain that was tried"
    ALIAS = "equal to another"
    DEPRECATED = "deprecated"
    INTERNAL = "not meant to be called, or for one backend"
    CONTAINER = "holds other modules"
    NO_SHAPE = "its answer's shape depends on values"
    UNDESCRIBED = "needs what no tensor or size describes"
    NO_PATTERN = "no pattern executes"
    CRASHED = "ended its process"
    HUNG = "did not come back"
    UNAVAILABLE = "cannot be imported here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A name that is no seed."""

    name: str
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawled:
    """Every name that was looked at is in one of the two."""

    seeds: tuple[Operator, ...]
    skipped: tuple[Skipped, ...]

    def counted(self) -> dict[str, dict[Kind, int]]:
        """Seeds by library and kind."""
        counts: dict[str, Counter[Kind]] = {}
        for seed in self.seeds:
            counts.setdefault(seed.provenance.library, Counter())[seed.kind] += 1
        return {library: dict(counter.most_common()) for library, counter in counts.items()}

    def reasons(self) -> dict[Reason, int]:
        """Names that are no seeds, by reason."""
        return dict(Counter(skipped.reason for skipped in self.skipped).most_common())
