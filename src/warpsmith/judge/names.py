"""Sets of names, written as text."""


def names(text: str) -> frozenset[str]:
    """The words of `text`."""
    return frozenset(text.split())
