"""A case of the corpus: one Markdown file with a program, what it tries, and what must become of it.

    # Title

    What it tries, in a paragraph.

    - task: axpby
    - caught by: numbers, clock
    - needs: cuda
    - options: tf32, train

    `model_new.py`
    ```python
    ...
    ```

`task` names a file of the corpus' tasks. `caught by` stands in cheats alone. `needs` and `options` may be
absent. As many files as the program has follow, `model_new.py` first.
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from warpsmith.core import Candidate, Dtype, Precision, Task, UsageError
from warpsmith.core.candidate import MODULE
from warpsmith.tasks import CPU_SCALE, load_task

CORPUS = Path(__file__).parent / "corpus"
TASKS = CORPUS / "tasks"

GATES = (
    "rules",
    "build",
    "symbols",
    "load",
    "forward",
    "numbers",
    "coverage",
    "clock",
    "sanitizer",
)
DEVICES = ("cuda", "cpu")
SCALES: dict[str, float | None] = {"cuda": None, "cpu": CPU_SCALE / 8}  # None: the file's own
FIELDS = ("task", "caught by", "needs", "options")

_FIELD = re.compile(r"- ([a-z ]+): *(.*)")
_PATH = re.compile(r"`([^`]+)`")
_FENCE = re.compile(r"(`{3,})\w*")


class Kind(StrEnum):
    """What a case is, told by the folder that holds it."""

    CHEAT = "cheat"
    HONEST = "honest"


FOLDERS: dict[str, Kind] = {"cheats": Kind.CHEAT, "honest": Kind.HONEST}


class Option(StrEnum):
    """How the task is judged, other than by default."""

    TF32 = "tf32"
    TRAIN = "train"
    BACKWARD = "backward"
    FP16 = "fp16"
    BF16 = "bf16"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program with its expected verdict: a cheat must be caught, an honest one must pass."""

    name: str  # the file's, without suffix
    title: str
    tries: str  # a paragraph: what it does, and why one might fall for it
    task: str
    kind: Kind
    caught_by: tuple[str, ...]  # the gates that may catch it; empty for an honest one
    needs: str | None  # "cuda", "cpu" or any device
    options: tuple[Option, ...]
    candidate: Candidate

    def task_for(self, device_kind: str) -> Task:
        """The task at this device's size. Raises UsageError if it is unusable."""
        task = load_task(str(TASKS / f"{self.task}.py"), scale=SCALES[device_kind], device_kind=device_kind)
        dtypes = {Option.FP16: Dtype.FP16, Option.BF16: Dtype.BF16}
        return replace(
            task,
            precision=Precision.TF32 if Option.TF32 in self.options else task.precision,
            dtype=next((dtypes[option] for option in self.options if option in dtypes), task.dtype),
            is_training=Option.TRAIN in self.options,
            has_backward=Option.BACKWARD in self.options,
        )


def corpus(folder: Path = CORPUS) -> tuple[Case, ...]:
    """All cases, cheats first, by name. Raises UsageError for the first file that is none."""
    return tuple(read_case(path) for kind in FOLDERS for path in sorted((folder / kind).glob("*.md")))


def read_case(path: Path) -> Case:
    """One case. Its kind is told by the folder's name: `honest`, or else it is a cheat.

    Raises UsageError, with file and line, for whatever is not as this module's text says.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start})") from error
    return _Reader(path, lines).case()


class _Reader:
    """Goes down a file once. `_at` is the index of the next line."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self._path = path
        self._lines = lines
        self._at = 0

    def case(self) -> Case:
        kind = FOLDERS.get(self._path.parent.name, Kind.CHEAT)
        title = self._title()
        tries = self._paragraph()
        self._line()
        begins = self._at
        fields = self._fields()
        self._at, ends = begins, self._at  # errors about fields name the line where they begin
        task = self._task(fields)
        caught_by = self._caught_by(fields, kind)
        needs = self._needs(fields)
        options = self._options(fields)
        self._at = ends
        return Case(
            name=self._path.stem,
            title=title,
            tries=tries,
            task=task,
            kind=kind,
            caught_by=caught_by,
            needs=needs,
            options=options,
            candidate=self._candidate(),
        )

    def _error(self, message: str) -> UsageError:
        return UsageError(f"{self._path}, line {self._at + 1}: {message}")

    def _line(self) -> str | None:
        """The next line that is not empty, still to be consumed; None at the end."""
        while self._at < len(self._lines) and not self._lines[self._at].strip():
            self._at += 1
        return self._lines[self._at] if self._at < len(self._lines) else None

    def _title(self) -> str:
        line = self._line()
        if line is None or not line.startswith("# ") or not line[2:].strip():
            raise self._error("a case begins with '# ' and a title")
        self._at += 1
        return line[2:].strip()

    def _paragraph(self) -> str:
        line = self._line()
        if line is None or line.startswith(("- ", "# ")) or _PATH.fullmatch(line.strip()):
            raise self._error("after the title comes a paragraph that says what the program does")
        begins = self._at
        while self._at < len(self._lines) and self._lines[self._at].strip():
            self._at += 1
        return " ".join(part.strip() for part in self._lines[begins : self._at])

    def _fields(self) -> dict[str, str]:
        fields: dict[str, str] = {}
        while (line := self._line()) is not None and line.startswith("- "):
            found = _FIELD.fullmatch(line.rstrip())
            if found is None or found[1] not in FIELDS:
                raise self._error(f"a field is '- NAME: ...', NAME one of {', '.join(FIELDS)}")
            if found[1] in fields:
                raise self._error(f"{found[1]} is said twice")
            if not found[2]:
                raise self._error(f"{found[1]} is empty; leave the line out")
            fields[found[1]] = found[2]
            self._at += 1
        return fields

    def _task(self, fields: dict[str, str]) -> str:
        known = sorted(path.stem for path in TASKS.glob("*.py"))
        if "task" not in fields:
            raise self._error("the field task is missing, such as '- task: axpby'")
        return self._chosen("task", fields["task"], known)

    def _caught_by(self, fields: dict[str, str], kind: Kind) -> tuple[str, ...]:
        if ("caught by" in fields) != (kind is Kind.CHEAT):
            raise self._error("a cheat says by which gates it is 'caught by'; an honest program doesn't")
        return tuple(self._chosen("gate", gate, GATES) for gate in _parts(fields.get("caught by", "")))

    def _needs(self, fields: dict[str, str]) -> str | None:
        return self._chosen("device", fields["needs"], DEVICES) if "needs" in fields else None

    def _options(self, fields: dict[str, str]) -> tuple[Option, ...]:
        parts = _parts(fields.get("options", ""))
        return tuple(sorted({Option(self._chosen("option", part, list(Option))) for part in parts}))

    def _chosen(self, what: str, value: str, known: list[str] | tuple[str, ...] | list[Option]) -> str:
        if value not in known:
            raise self._error(f"no {what} {value!r}; choose of {', '.join(known)}")
        return value

    def _candidate(self) -> Candidate:
        files: dict[str, str] = {}
        while (line := self._line()) is not None:
            named = _PATH.fullmatch(line.strip())
            if named is None:
                raise self._error("here stands a file: its path in backquotes, then its text between fences")
            if not files and named[1] != MODULE:
                raise self._error(f"the first file is {MODULE}")
            if named[1] in files:
                raise self._error(f"{named[1]} stands here twice")
            self._at += 1
            files[named[1]] = self._fenced(named[1])
        if not files:
            raise self._error(f"there is no program; it begins with `{MODULE}`")
        try:
            return Candidate.of(files)
        except UsageError as error:
            raise UsageError(f"{self._path}: {error}") from error

    def _fenced(self, path: str) -> str:
        opening = _FENCE.fullmatch((self._line() or "").strip())
        if opening is None:
            raise self._error(f"{path} has no text: a line ``` opens it and another ends it")
        begins = self._at + 1
        try:
            ends = self._lines.index(opening[1], begins)
        except ValueError:
            raise self._error(f"the fence of {path} is never closed") from None
        self._at = ends + 1
        return "\n".join([*self._lines[begins:ends], ""])


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
