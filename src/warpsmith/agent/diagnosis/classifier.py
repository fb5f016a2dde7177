"""Which of memory, compute, latency, launch and host limits a program, and the one thing to do about it.

The first rule of the table that applies speaks. A rule whose figures are not all available is blind: it does
not apply, and what it would have looked for is told as unseen, with what would show it.
"""

from dataclasses import dataclass

from warpsmith.agent.diagnosis.figures import Figure, Sheet
from warpsmith.agent.diagnosis.rules import RULES, Class, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """What could not be looked for."""

    topic: str
    why: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """What limits a program, and exactly one suggestion with its evidence."""

    kind: Class
    topic: str
    evidence: tuple[Figure, ...]
    finding: str
    suggestion: str
    unseen: tuple[Unseen, ...]


def classify(sheet: Sheet) -> Classified:
    """The first rule that applies. The last always does."""
    rule = next(rule for rule in RULES if sheet.has(*rule.evidence) and rule.applies(sheet))
    return Classified(
        kind=rule.kind,
        topic=rule.topic,
        evidence=tuple(sheet.get(name) for name in rule.evidence),
        finding=rule.finding,
        suggestion=rule.suggestion,
        unseen=unseen(sheet),
    )


def unseen(sheet: Sheet) -> tuple[Unseen, ...]:
    """What no rule can look for, for want of figures; each topic once."""
    seen = {rule.topic for rule in RULES if sheet.has(*rule.evidence)}
    blind = {rule.topic: rule for rule in reversed(RULES) if rule.topic not in seen}
    return tuple(_blind(rule, sheet) for rule in reversed(blind.values()))


def _blind(rule: Rule, sheet: Sheet) -> Unseen:
    figures = [sheet.get(name) for name in rule.evidence]
    lacking = next(one for one in figures if one.value is None)
    return Unseen(topic=rule.topic, why=lacking.note or f"{lacking.name} is not known", fix=lacking.fix)
