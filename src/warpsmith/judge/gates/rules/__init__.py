"""What a candidate's sources may not contain.

A rule is hard only if no honest program needs what it names and nothing that is seen at run time could settle
it: reaching into the interpreter, patching what others use, files, processes, hidden access. What torch
computes, whose kernels run and what a fallback does is seen when the program runs (gates `forward`,
`symbols`, `coverage`), so the text is not judged by it. What is odd and no more is advice.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from warpsmith.core import Candidate, Rejected
from warpsmith.core.candidate import MODULE
from warpsmith.judge.gates.rules import native, python, remarks
from warpsmith.judge.gates.rules.source import Finding, Source
from warpsmith.judge.trial import Trial

RULES = (*python.RULES, *native.RULES)


def check(trial: Trial) -> Rejected | None:
    rejected = breach(trial.candidate)
    if rejected is None:
        trial.advice += advice(trial.candidate)
    return rejected


def breach(candidate: Candidate) -> Rejected | None:
    """The first breach of a rule in the candidate's files."""
    if MODULE not in dict(candidate.files):
        return Rejected(rule="model", where=MODULE, message=f"there is no {MODULE}")
    return next(_breaches(candidate), None)


def advice(candidate: Candidate) -> list[str]:
    """What a reader of a program that breaks no rule should look at."""
    return [
        f"{source.path}:{remark.line}: {remark.message}"
        for source in _python_sources(candidate)
        if isinstance(source, Source)
        for remark in remarks.remarks(source)
    ]


def _breaches(candidate: Candidate) -> Iterator[Rejected]:
    for source in _python_sources(candidate):
        if isinstance(source, Rejected):
            yield source
            continue
        for rule in python.RULES:
            yield from (_rejected(rule.name, source.path, found) for found in rule.find(source))
    for part in native.parts(candidate):
        for native_rule in native.RULES:
            yield from (_rejected(native_rule.name, part.path, found) for found in native_rule.find(part))


def _python_sources(candidate: Candidate) -> Iterator[Source | Rejected]:
    scripts = [PurePosixPath(path) for path, _ in candidate.files if path.endswith(".py")]
    own = frozenset(name for path in scripts for name in (path.stem, path.parts[0].removesuffix(".py")))
    for path, text in candidate.files:
        if path.endswith(".py"):
            try:
                yield Source.of(path, text, own)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                line = getattr(error, "lineno", None) or 1
                said = getattr(error, "msg", None) or str(error)
                message = f"this is not Python: {said}"
                yield Rejected(rule="syntax", where=f"{path}:{line}", message=message)


def _rejected(rule: str, path: str, finding: Finding) -> Rejected:
    return Rejected(rule=rule, where=f"{path}:{finding.line}", message=finding.message)
