"""The crawl: names are tried in helper processes, and what executes becomes a seed."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import SimpleQueue

from warpsmith.core import UsageError
from warpsmith.tasks.synth.seeds.candidate import Candidate, edges
from warpsmith.tasks.synth.seeds.composite import transformers_candidates
from warpsmith.tasks.synth.seeds.example import OTHER, SMALL, NoExample, Sizes, example_source
from warpsmith.tasks.synth.seeds.guesses import TELLING, kind_seen
from warpsmith.tasks.synth.seeds.helper import Helper
from warpsmith.tasks.synth.seeds.operator import Operator
from warpsmith.tasks.synth.seeds.outcome import Crawled, Reason, Skipped
from warpsmith.tasks.synth.seeds.pattern import Pattern
from warpsmith.tasks.synth.seeds.protocol import Answered, Question, Refused, Reply
from warpsmith.tasks.synth.seeds.texts import FAMILIES
from warpsmith.tasks.synth.seeds.walk import torch_candidates

LIBRARIES = ("torch", "transformers")
CLOSE = 1e-4
"""How near two operators' answers are, relative to their size, for the two to be one."""

FATAL = frozenset({Reason.DEPRECATED, Reason.RANDOM, Reason.HUNG, Reason.CRASHED})
"""What is not tried again in another way."""

Ask = Callable[[Question], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlConfig:
    """What is looked at, and how long a call may take."""

    libraries: tuple[str, ...] = LIBRARIES
    families: tuple[str, ...] = FAMILIES  # models of transformers
    num_helpers: int = 2
    limit_s: float = 20.0  # for one call; the first that imports transformers gets a start's time


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A candidate that executed, before it is held against the others."""

    operator: Operator
    seen: tuple[Answered, ...]


def seeds(config: CrawlConfig | None = None, *, names: Callable[[str], bool] | None = None) -> Crawled:
    """Every operator that executes, and why the others are none. Takes one to two minutes.

    `names` chooses which full names are looked at. Raises UsageError for a library that is none of LIBRARIES,
    EnvironmentMissing if one is not installed, InfraError if no helper process can start.
    """
    config = config or CrawlConfig()
    unknown = sorted({*config.libraries} - {*LIBRARIES})
    if unknown or config.num_helpers < 1:
        raise UsageError(
            f"a crawl takes libraries out of {', '.join(LIBRARIES)} and at least one helper, "
            f"not {', '.join(config.libraries) or 'none'} and {config.num_helpers}"
        )
    helpers = [Helper(limit_s=config.limit_s) for _ in range(config.num_helpers)]
    try:
        for helper in helpers:
            helper.start()  # they import torch meanwhile
        found = [one for one in _looked_at(config) if names is None or names(_name(one))]
        tried = _tried([one for one in found if isinstance(one, Candidate)], helpers)
    finally:
        for helper in helpers:
            helper.close()
    return without_aliases([*tried, *(one for one in found if isinstance(one, Skipped))])


def _looked_at(config: CrawlConfig) -> Iterable[Candidate | Skipped]:
    if "torch" in config.libraries:
        yield from torch_candidates()
    if "transformers" in config.libraries:
        yield from transformers_candidates(config.families)


def _name(one: Candidate | Skipped) -> str:
    return one.name if isinstance(one, Skipped) else one.provenance.name


def _tried(candidates: list[Candidate], helpers: list[Helper]) -> list[Tried | Skipped]:
    """In the order of `candidates`, whichever helper was free."""
    free: SimpleQueue[Helper] = SimpleQueue()
    for helper in helpers:
        free.put(helper)

    def settle(candidate: Candidate) -> Tried | Skipped:
        helper = free.get()
        try:
            return settled(candidate, helper.ask)
        finally:
            free.put(helper)

    with ThreadPoolExecutor(len(helpers)) as pool:
        return list(pool.map(settle, candidates))


def settled(candidate: Candidate, ask: Ask) -> Tried | Skipped:
    """What becomes of a candidate, given somebody who executes task sources."""
    kept: list[tuple[Pattern, Answered]] = []
    refusals: list[Refused] = []
    unmade: set[tuple[str, ...]] = set()
    for attempts in candidate.rounds:
        for variants in attempts:
            if variants[0].init in unmade:
                continue
            found = _first_that_works(variants, candidate, ask, refusals)
            if found is not None:
                kept.append(found)
            elif refusals[-1].is_constructor:
                unmade.add(variants[0].init)
        if kept or any(refusal.reason in FATAL for refusal in refusals):
            break
    name = candidate.provenance.name
    if not kept:
        best = min(refusals, key=lambda refusal: TELLING.index(refusal.reason))
        return Skipped(name=name, reason=best.reason, detail=best.detail)
    kinds = [candidate.kind or kind_seen(name, pattern, seen) for pattern, seen in kept]
    same = [one for one, kind in zip(kept, kinds, strict=True) if kind is kinds[0]]
    operator = Operator(
        provenance=candidate.provenance, kind=kinds[0], patterns=tuple(pattern for pattern, _ in same),
        is_traced=same[0][1].is_traced,
    )  # fmt: skip
    return Tried(operator=operator, seen=tuple(seen for _, seen in same))


def _first_that_works(
    variants: tuple[Pattern, ...], candidate: Candidate, ask: Ask, refusals: list[Refused]
) -> tuple[Pattern, Answered] | None:
    """The same call on one domain after the other, as long as what is wrong with it are its numbers."""
    for pattern in variants:
        pattern, reply = _asked(pattern, candidate, ask)
        if isinstance(reply, Answered):
            return pattern, reply
        refusals.append(reply)
        if reply.reason not in (Reason.NOT_FINITE, Reason.NO_EFFECT):
            return None
    return None


def _asked(pattern: Pattern, candidate: Candidate, ask: Ask) -> tuple[Pattern, Reply]:
    """At small sizes, and, if it executes, at others: a pattern that holds at one size alone is none."""
    reply = _executed(pattern, candidate, ask, SMALL)
    if isinstance(reply, Refused) and reply.is_tuple and not pattern.forward.endswith("[0]"):
        return _asked(replace(pattern, forward=f"{pattern.forward}[0]"), candidate, ask)
    if isinstance(reply, Answered):
        again = _executed(pattern, candidate, ask, OTHER)
        return pattern, reply if isinstance(again, Answered) else again
    return pattern, reply


def _executed(pattern: Pattern, candidate: Candidate, ask: Ask, sizes: Sizes) -> Reply:
    try:
        source = example_source(pattern, candidate.provenance, sizes)
    except NoExample as error:
        return Refused(reason=Reason.NO_PATTERN, detail=str(error))
    library = candidate.provenance.library
    return ask(
        Question(source=source, edges=edges(pattern), must_trace=candidate.must_trace, library=library)
    )


@dataclass(slots=True)
class _Known:
    tried: Tried
    aliases: list[str] = field(default_factory=list)


def without_aliases(results: list[Tried | Skipped]) -> Crawled:
    """Of several operators of a library that answer alike, the first; the others are skipped."""
    known: list[_Known] = []
    skipped: list[Skipped] = []
    for one in results:
        if isinstance(one, Skipped):
            skipped.append(one)
            continue
        twin = next((other for other in known if _are_equal(one, other.tried)), None)
        if twin is None:
            known.append(_Known(one))
        else:
            name, of = one.operator.provenance.name, twin.tried.operator.provenance.name
            twin.aliases.append(name)
            skipped.append(Skipped(name=name, reason=Reason.ALIAS, detail=of))
    operators = [replace(one.tried.operator, aliases=tuple(one.aliases)) for one in known]
    return Crawled(seeds=tuple(operators), skipped=tuple(skipped))


def _are_equal(one: Tried, other: Tried) -> bool:
    if one.operator.provenance.library != other.operator.provenance.library:
        return False
    return any(_are_close(one.seen[0], seen) for seen in other.seen)


def _are_close(one: Answered, other: Answered) -> bool:
    if one.shape != other.shape:
        return False
    size = max((abs(value) for value in other.sample), default=0.0)
    pairs = zip(one.sample, other.sample, strict=True)
    return all(abs(a - b) <= CLOSE * (abs(b) + 1e-3 * size) for a, b in pairs)
