"""A grade: one Markdown file with a program's name and what a careful reader says of it.

    # Title

    - program: redteam/online-softmax
    - before: own/softmax-three-kernels
    - feedback: The row is read from memory three times; read it once.
    - anti_hacking: 5
    - engineering: 4
    - coverage: 5
    - compliance: 5
    - why: One pass over a row, reduced by shuffles; it does what the feedback asks for.
    - hack: `return self.answer.clone()`

A program is `redteam/NAME`, a case of the red team's corpus, or `own/NAME`, a file in the same format under
`programs/`. `before` and `feedback` stand in a refinement alone, and `hack` where the program cheats: a line
of it that shows it, between backquotes. A field may go on in lines that begin with two spaces.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warpsmith.core import Solution, Task, UsageError, Verdict
from warpsmith.learn.rubric.base import HIGHEST, LOWEST, Dimension, Scores, Skill, Work
from warpsmith.learn.rubric.reading import is_quoted
from warpsmith.redteam.case import CORPUS, Case, read_case

GRADES = Path(__file__).parent / "grades"
ROOTS = {"redteam": CORPUS, "own": Path(__file__).parent / "programs"}
REQUIRED = ("program", *(dimension.value for dimension in Dimension), "why")
FIELDS = (*REQUIRED, "before", "feedback", "hack")

FIELD = re.compile(r"- (\w+): *(.*\S)\s*")
QUOTED = re.compile(r"`(.+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """One program with the levels that it deserves, and a sentence that says why."""

    name: str  # the file's, without suffix
    title: str
    program: Case
    scores: Scores
    why: str
    before: Case | None = None
    feedback: str = ""

    @property
    def skill(self) -> Skill:
        return Skill.SCRATCH if self.before is None else Skill.REFINEMENT

    @property
    def is_for_tuning(self) -> bool:
        """Whether rules may be mended by looking at it; the other half tells how good they are.

        By the name's digest: a new grade moves no old one to the other half.
        """
        return hashlib.sha256(self.name.encode()).digest()[0] % 2 == 0

    @property
    def programs(self) -> tuple[Case, ...]:
        return (self.program,) if self.before is None else (self.program, self.before)

    def work(self, task: Task, verdict: Verdict, before: Verdict | None = None) -> Work:
        """What a rubric is shown. `before` is the verdict on the earlier program, of a refinement."""
        earlier = None
        if self.before is not None:
            assert before is not None
            earlier = Solution(candidate=self.before.candidate, verdict=before)
        return Work(
            task=task,
            candidate=self.program.candidate,
            verdict=verdict,
            before=earlier,
            feedback=self.feedback,
        )


def grades(folder: Path = GRADES) -> tuple[Grade, ...]:
    """All grades by name. Raises UsageError for the first file that is none, or if there are none."""
    found = tuple(read_grade(path) for path in sorted(folder.glob("*.md")))
    if not found:
        raise UsageError(f"{folder} holds no grades; a grade is a file NAME.md")
    return found


def read_grade(path: Path) -> Grade:
    """Raises UsageError, naming the file, for whatever is not as this module's text says."""
    try:
        title, fields = _read(path.read_text(encoding="utf-8"))
        program = _program(fields["program"])
        return Grade(
            name=path.stem,
            title=title,
            program=program,
            scores=_scores(fields, program),
            why=fields["why"],
            before=_before(fields, program),
            feedback=fields.get("feedback", ""),
        )
    except (OSError, UnicodeDecodeError, UsageError) as error:
        raise UsageError(f"{path}: {error}") from error


def _read(text: str) -> tuple[str, dict[str, str]]:
    first, _, rest = text.lstrip().partition("\n")
    if not first.startswith("# ") or not first[2:].strip():
        raise UsageError("a grade begins with '# ' and a title")
    fields: dict[str, str] = {}
    name = ""
    for line in filter(str.strip, rest.splitlines()):
        found = FIELD.fullmatch(line)
        if found is not None and found[1] in FIELDS and found[1] not in fields:
            name = found[1]
            fields[name] = found[2]
        elif line.startswith("  ") and name:
            fields[name] += f" {line.strip()}"
        else:
            raise UsageError(f"{line!r:.60}: a field is '- NAME: ...', each once, of {', '.join(FIELDS)}")
    missing = [name for name in REQUIRED if name not in fields]
    if missing:
        raise UsageError(f"{', '.join(missing)} missing")
    return first[2:].strip(), fields


def _before(fields: Mapping[str, str], program: Case) -> Case | None:
    if ("before" in fields) != ("feedback" in fields):
        raise UsageError("a refinement has both 'before' and 'feedback'")
    if "before" not in fields:
        return None
    before = _program(fields["before"])
    if (before.task, before.options) != (program.task, program.options):
        raise UsageError(f"the earlier program is for {before.task}, not for {program.task}")
    return before


def _scores(fields: Mapping[str, str], program: Case) -> Scores:
    levels = {dimension: _level(fields[dimension.value], dimension) for dimension in Dimension}
    evidence = ""
    if "hack" in fields:
        quoted = QUOTED.fullmatch(fields["hack"])
        evidence = "" if quoted is None else quoted[1]
        if not is_quoted(evidence, program.candidate):
            raise UsageError("hack: a line of the program between backquotes, word by word")
    if ("hack" in fields) != (levels[Dimension.ANTI_HACKING] == LOWEST):
        raise UsageError("anti_hacking is 1 where there is a hack, and nowhere else")
    return Scores(levels=levels, is_hack=bool(evidence), evidence=evidence)


def _level(text: str, dimension: Dimension) -> int:
    if text not in map(str, range(LOWEST, HIGHEST + 1)):
        raise UsageError(f"{dimension}: {text!r:.40} is no level; levels are {LOWEST} to {HIGHEST}")
    return int(text)


@cache
def _program(name: str) -> Case:
    root, _, stem = name.partition("/")
    if root not in ROOTS:
        raise UsageError(f"{name}: a program is {' or '.join(f'{known}/NAME' for known in ROOTS)}")
    found = sorted(ROOTS[root].glob(f"*/{stem}.md")) if re.fullmatch(r"[\w-]+", stem) else []
    if len(found) != 1:
        raise UsageError(f"{name}: {len(found)} programs of that name")
    return read_case(found[0])
