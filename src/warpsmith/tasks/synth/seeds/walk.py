"""Walks what is installed of torch: each public name is a candidate, or skipped without being called."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version

from warpsmith.tasks.synth.base import Provenance
from warpsmith.tasks.synth.seeds.candidate import Candidate
from warpsmith.tasks.synth.seeds.guesses import guessed_calls, guessed_modules
from warpsmith.tasks.synth.seeds.names import SECONDARY, reason_by_name
from warpsmith.tasks.synth.seeds.outcome import Reason, Skipped
from warpsmith.tasks.synth.seeds.tables import ROWS

MODULES = ("torch.nn", "torch.nn.functional", "torch.linalg", "torch", "torch.special")
"""In the order in which equal ones are preferred."""

LICENCE = "BSD-3-Clause"
"""Torch's own; its wheel's metadata lists those of what is bundled with it too."""


def torch_candidates(modules: tuple[str, ...] = MODULES) -> Iterator[Candidate | Skipped]:
    """A candidate or the reason against it for each public name of torch's modules; nothing is called.

    The less usual names come last, so that they are the aliases.
    """
    operators, release = _operators(), version("torch")
    names = [
        f"{module}.{short}"
        for module in modules
        for short in dir(import_module(module))
        if not short.startswith("_")
    ]
    known: dict[int, str] = {}
    for name in sorted(names, key=lambda name: bool(SECONDARY.fullmatch(name))):
        found = _candidate(name, operators, release)
        value = id(getattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2]))
        if isinstance(found, Candidate) and value in known:
            found = Skipped(name=name, reason=Reason.ALIAS, detail=known[value])
        known.setdefault(value, name)
        yield found


def _operators() -> frozenset[int]:
    """The functions that torch itself lists as taking tensors."""
    from torch.overrides import get_overridable_functions

    found = get_overridable_functions()
    return frozenset(id(function) for functions in found.values() for function in functions)


def _candidate(name: str, operators: frozenset[int], release: str) -> Candidate | Skipped:
    module, _, short = name.rpartition(".")
    value = getattr(import_module(module), short)
    reason = _reason_against(value, name, operators)
    if reason is not None:
        return Skipped(name=name, reason=reason)
    provenance = Provenance(library="torch", version=release, licence=LICENCE, name=name)
    row = ROWS.get(name)
    if row is not None:
        attempts = tuple((pattern,) for pattern in row.patterns)
        return Candidate(provenance=provenance, rounds=(attempts,), kind=row.kind)
    guess = guessed_modules if inspect.isclass(value) else guessed_calls
    return Candidate(provenance=provenance, rounds=guess(name))


def _reason_against(value: object, name: str, operators: frozenset[int]) -> Reason | None:
    from torch import nn

    short = name.rpartition(".")[2]
    named = reason_by_name(name)
    if inspect.isclass(value) and not issubclass(value, nn.Module):
        return Reason.NO_OPERATOR
    if named is not None or not callable(value):
        return named or Reason.NO_OPERATOR
    if short.endswith("_"):
        return Reason.IN_PLACE
    is_operator = (
        name in ROWS
        or inspect.isclass(value)
        or id(value) in operators
        or getattr(nn.functional, short, None) is value
    )
    return None if is_operator else Reason.FACTORY
