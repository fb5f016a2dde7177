"""Values as people write them on a command line."""

import re
from collections.abc import Iterable
from fractions import Fraction

from warpsmith.core import UsageError

INPUT = re.compile(r"[^\s\[]+(?:\[[^\]]*\]\S*)?")  # f32[64, 1024] is one, spaces or not


def scale_of(text: str | None) -> float | None:
    """'1/64' or '0.25' as a float; None stays None. Raises UsageError for anything else."""
    if text is None:
        return None
    try:
        return float(Fraction(text.strip()))
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise UsageError(
            f"--scale takes a number such as 0.25 or a fraction such as 1/64, not {text!r}"
        ) from error


def price_of(text: str) -> tuple[float, float]:
    """'2.5/10' as USD for a million prompt and completion tokens. Raises UsageError for anything else."""
    prompt, slash, completion = text.partition("/")
    try:
        prices = float(prompt), float(completion)
    except ValueError:
        prices = -1.0, -1.0
    if not slash or not all(0.0 <= price < float("inf") for price in prices):
        raise UsageError(
            f"--price takes USD for a million prompt and completion tokens, such as 2.5/10, not {text!r}"
        )
    return prices


def inputs_of(texts: Iterable[str]) -> tuple[str, ...]:
    """One text for each input, whether each had an option of its own or several shared one."""
    return tuple(found for text in texts for found in INPUT.findall(text))
