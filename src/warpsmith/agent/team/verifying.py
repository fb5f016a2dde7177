"""What a verifier said, as a diagnosis: its words, the rules' numbers, and one suggestion of however many."""

from dataclasses import replace

from warpsmith.agent.team.nouns import Bottleneck, Diagnosis
from warpsmith.agent.team.reading import Unreadable, object_in, words_of

MAX_WORDS = 2_000
SUGGESTION = "suggestion"


def spoken(text: str, rules: Diagnosis, by: str) -> Diagnosis:
    """`rules` with what the verifier says in place of their words; they stand where it said nothing.

    The numbers stay those of the rules: a model cannot measure.
    """
    try:
        data = object_in(text, SUGGESTION)
    except Unreadable:
        said = text.strip()[:MAX_WORDS]
        return replace(rules, suggestion=said, by=by) if said else rules
    suggestion = _first(data[SUGGESTION])
    if not suggestion:
        return rules
    return replace(
        rules,
        bottleneck=_bottleneck(data.get("bottleneck"), rules.bottleneck),
        finding=words_of(data.get("finding"), MAX_WORDS) or rules.finding,
        suggestion=suggestion,
        by=by,
    )


def _first(given: object) -> str:
    """Exactly one: of a list the first that says something."""
    items = given if isinstance(given, list) else [given]
    said = (words_of(item, MAX_WORDS) for item in items)
    return next((words for words in said if words), "")


def _bottleneck(given: object, otherwise: Bottleneck) -> Bottleneck:
    words = words_of(given, 40).lower().removesuffix("-bound")
    return next((kind for kind in Bottleneck if kind == words), otherwise)
