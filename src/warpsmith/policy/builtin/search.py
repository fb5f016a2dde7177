"""Which variants to try: all that are predicted fastest at once, then one coordinate at a time.

The most expensive coordinate comes first; those whose share of the time is noise keep what they have.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from warpsmith.core import Precision, Provenance
from warpsmith.device.base import Gpu
from warpsmith.policy.builtin.plan import Plan, recipe_of
from warpsmith.policy.builtin.recipes.base import Cost, Group, Variant

Choice = Mapping[str, Variant]
"""A variant for each group, by the group's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many tries one coordinate gets without a gain, and how many there are in all."""

    patience: int
    max_tries: int


LIMITS: Mapping[Provenance, Limits] = {
    # A try takes seconds with its build, and a network has dozens of coordinates: a task has a minute or two.
    Provenance.MEASURED: Limits(patience=3, max_tries=16),
    # A model tells methods apart, not block sizes; and each try runs on the CPU.
    Provenance.MODELLED: Limits(patience=2, max_tries=3),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """When to stop trying."""

    min_gain: float = 0.01  # less is noise
    min_share: float = 0.02  # of the predicted time: a coordinate with less is not worth a build
    hopeless: float = 1.5  # a variant predicted at this many times the present one is not tried
    max_starts: int = 6  # guesses at a first program that passes
    limits: Mapping[Provenance, Limits] = field(default_factory=lambda: LIMITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinate:
    """Groups that are the same work, and are therefore written in the same variant."""

    groups: tuple[Group, ...]
    variants: tuple[Variant, ...]

    @property
    def name(self) -> str:
        return self.groups[0].name

    @property
    def cost(self) -> Cost:
        return sum((group.cost for group in self.groups), Cost(traffic_bytes=0, launches=0))


def coordinates_of(plan: Plan, gpu: Gpu, precision: Precision) -> tuple[Coordinate, ...]:
    """What there is to choose, the most expensive first."""
    alike: dict[tuple[str, Cost, tuple[str, ...]], list[Group]] = {}
    for group in plan.groups:
        names = tuple(variant.name for variant in recipe_of(group).variants(group, gpu))
        alike.setdefault((group.recipe, group.cost, names), []).append(group)
    found = [
        Coordinate(
            groups=tuple(groups), variants=_allowed(recipe_of(groups[0]).variants(groups[0], gpu), precision)
        )
        for groups in alike.values()
    ]
    return tuple(sorted(found, key=lambda coordinate: -coordinate.cost.time_us(gpu)))


def _allowed(variants: tuple[Variant, ...], precision: Precision) -> tuple[Variant, ...]:
    """Variants that round come first where the task accepts rounding, and nowhere else."""
    exact = tuple(variant for variant in variants if not variant.settings.get("is_reduced"))
    reduced = tuple(variant for variant in variants if variant.settings.get("is_reduced"))
    return exact if precision is Precision.REFERENCE else reduced + exact


def starting_points(coordinates: tuple[Coordinate, ...]) -> Iterator[Choice]:
    """All first guesses together, then all second ones, and so on: one of them should pass."""
    longest = max(len(coordinate.variants) for coordinate in coordinates)
    for rank in range(longest):
        yield {
            group.name: coordinate.variants[min(rank, len(coordinate.variants) - 1)]
            for coordinate in coordinates
            for group in coordinate.groups
        }


def fastest_point(coordinates: tuple[Coordinate, ...]) -> Choice:
    """The variants that are predicted to take least time, together; the first where nothing is predicted.

    Of the first guess and the one after it: what comes later is there for another reason than its time.
    """
    return {
        group.name: min(coordinate.variants[:2], key=_predicted_us)
        for coordinate in coordinates
        for group in coordinate.groups
    }


def worth_tuning(
    coordinates: tuple[Coordinate, ...], choice: Choice, gpu: Gpu, config: SearchConfig
) -> tuple[Coordinate, ...]:
    """Those that hold enough of the predicted time, the most expensive first."""
    times = {coordinate.name: _time_us(coordinate, choice, gpu) for coordinate in coordinates}
    least = config.min_share * sum(times.values())
    kept = [coordinate for coordinate in coordinates if times[coordinate.name] >= least]
    return tuple(sorted(kept, key=lambda coordinate: -times[coordinate.name]))


def _time_us(coordinate: Coordinate, choice: Choice, gpu: Gpu) -> float:
    """All of its groups together, in the chosen variant where that is predicted."""
    predicted = _predicted_us(choice[coordinate.name])
    return len(coordinate.groups) * predicted if predicted else coordinate.cost.time_us(gpu)


def _predicted_us(variant: Variant) -> float:
    """0 if the recipe does not say."""
    predicted = variant.settings.get("predicted_us")
    return predicted if isinstance(predicted, float) else 0.0


def with_variant(choice: Choice, coordinate: Coordinate, variant: Variant) -> Choice:
    """`choice` with one coordinate changed."""
    return {**choice, **{group.name: variant for group in coordinate.groups}}


def worth_trying(
    coordinate: Coordinate, present: Variant, config: SearchConfig, provenance: Provenance
) -> tuple[Variant, ...]:
    """The other variants of a coordinate that could be better than the present one, best guess first."""
    others = [variant for variant in coordinate.variants if variant != present]
    if provenance is Provenance.MODELLED:
        others = [variant for variant in others if _kinds(variant) != _kinds(present)]
    return tuple(variant for variant in others if not _is_hopeless(variant, present, config.hopeless))


def _kinds(variant: Variant) -> dict[str, str]:
    """The settings that say what is done; the others say in which sizes."""
    return {key: setting for key, setting in variant.settings.items() if isinstance(setting, str)}


def _is_hopeless(variant: Variant, present: Variant, limit: float) -> bool:
    predicted, now = (v.settings.get("predicted_us") for v in (variant, present))
    return isinstance(predicted, float) and isinstance(now, float) and predicted > limit * now
