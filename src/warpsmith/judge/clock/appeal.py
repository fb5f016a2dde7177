"""A measured time is refused only if a second guest's is refused too."""

from collections.abc import Callable
from dataclasses import replace

from warpsmith.core import Implausible, Passed, Verdict


def twice_refused(look: Callable[[], Verdict]) -> Verdict:
    """What `look` says, asked again where it refuses a time: what disturbs a machine passes, a lie stays.

    Of 150 verdicts on honest programs on an H200 one was refused (docs/journal.md, 2026-12-01). What passes
    at the second look says so in its advice.
    """
    first = look()
    if not isinstance(first, Implausible):
        return first
    second = look()
    if not isinstance(second, Passed):
        return second
    return replace(second, advice=(*second.advice, f"its time was refused at first: {first.message}"))
