"""What somebody typed, as an expression of FTS5 that is never a syntax error."""

import re
from collections.abc import Iterator

MAX_TERMS = 48
MAX_CHARACTERS = 2_000

# Words, and names that hold marks: cp.async, __shfl_xor_sync, two-stage. FTS5 takes such a name for a phrase.
NAME = re.compile(r"[^\W_]+(?:[_.:+/-]+[^\W_]+)*")
PART = re.compile(r"[^\W_]+")

STOP_WORDS = frozenset(
    PART.findall(
        """a about after all also am an and any are as at be because been before being but by can
        cannot could did do does doing don for from get gets getting had has have having how i if in
        into is it its just like me more my no not of off on only or our out over should so some
        than that the their them then there these they this those to too up use used using very was
        way we were what when where which while who why will with would you your"""
    )
)


def expression(query: str) -> str:
    """Any of the query's words, and its names with and without their marks; empty if it has no word."""
    terms = list(dict.fromkeys(_terms(query[:MAX_CHARACTERS])))
    return " OR ".join(f'"{term}"' for term in terms[:MAX_TERMS])


def _terms(query: str) -> Iterator[str]:
    names = [name.lower() for name in NAME.findall(query)]
    said = [name for name in names if name not in STOP_WORDS] or names
    yield from said
    for name in said:
        parts = PART.findall(name)
        if len(parts) > 1:
            yield from (part for part in parts if len(part) > 1 and part not in STOP_WORDS)
