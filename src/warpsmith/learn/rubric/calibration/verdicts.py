"""What the judge says of the graded programs: had once, and kept in a file for the next judge of theirs."""

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path

from warpsmith.core import InfraError, UsageError, Verdict
from warpsmith.core.codec import from_data, to_data
from warpsmith.learn.rubric.calibration.grade import Grade
from warpsmith.redteam.case import Case
from warpsmith.redteam.runner import Bench, outcomes

Verdicts = dict[str, Verdict]


def key_of(case: Case) -> str:
    """The program and how it is judged: a program that was changed is another."""
    return "/".join((case.task, *case.options, case.candidate.digest))


def judged(
    grades: Iterable[Grade], bench: Bench, known: Container[str] = ()
) -> Iterator[tuple[str, Verdict]]:
    """The verdict on each program that is not `known` yet, by `key_of`, as soon as there is one.

    Raises InfraError if the judge fails over one of them: a grade without a verdict says nothing.
    """
    cases = {key_of(case): case for grade in grades for case in grade.programs}
    for outcome in outcomes([case for key, case in cases.items() if key not in known], bench):
        if outcome.trouble:
            raise InfraError(f"{outcome.case.name} broke the judge: {outcome.trouble}")
        if outcome.verdict is not None:  # None: it needs another device
            yield key_of(outcome.case), outcome.verdict


def read_verdicts(path: Path) -> Verdicts:
    """Raises UsageError if the file holds something else."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {str(key): from_data(Verdict, one) for key, one in data.items()}  # type: ignore[arg-type]
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} holds no verdicts ({error!s:.100}); remove it to judge anew") from error


def write_verdicts(path: Path, verdicts: Mapping[str, Verdict]) -> None:
    """Raises UsageError if it cannot be written."""
    told = {key: to_data(verdict) for key, verdict in sorted(verdicts.items())}
    try:
        path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
