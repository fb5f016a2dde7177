"""KernelBench's format: folders level1, level2, … of files `<problem>_<name>.py`, a task each."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from warpsmith.core import UsageError
from warpsmith.tasks.source import read_source
from warpsmith.tasks.store.files import replacing
from warpsmith.tasks.suites.base import Broken, Row, checked, make_room, origin
from warpsmith.tasks.synth.base import Made

FOLDER = "KernelBench"
LEVEL, PROBLEM = "level", "problem"

_LEVEL = re.compile(r"level(?P<level>[1-9]\d{0,5})")
_PROBLEM = re.compile(r"(?P<problem>\d{1,9})_(?P<name>.*)\.py")


class KernelBench:
    """Level and problem are told by the path, and kept as facts of these names."""

    form = "KernelBench's repository, its folder KernelBench, or a folder level<n> of it"

    def read(self, path: Path, revision: str = "") -> Iterator[Made | Broken]:
        try:
            levels = _levels(path)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}; name {self.form}") from error
        return self._read(levels, revision)

    def _read(self, levels: list[tuple[int, Path]], revision: str) -> Iterator[Made | Broken]:
        for level, folder in levels:
            seen: dict[int, str] = {}
            for problem, file in _problems(folder):
                where = str(file)
                if problem in seen:
                    yield Broken(where=where, reason=f"problem {problem} is {seen[problem]} already")
                    continue
                seen[problem] = file.name
                yield _task(file, level, problem, revision)

    def write(self, path: Path, rows: Iterable[Made]) -> int:
        """Levels and problems as the facts say; what has none, or a taken one, gets the next of level 1."""
        make_room(path)
        files: dict[tuple[int, int], Made] = {}
        others: list[Made] = []
        for row in rows:
            place = _place(row)
            if place is None or place in files:
                others.append(row)
            else:
                files[place] = row
        last = max((problem for level, problem in files if level == 1), default=0)
        files |= {(1, last + at): row for at, row in enumerate(others, start=1)}
        for (level, problem), row in sorted(files.items(), key=lambda item: item[0]):
            folder = path / FOLDER / f"level{level}"
            folder.mkdir(parents=True, exist_ok=True)
            with replacing(folder / f"{problem}_{_file_name(row)}.py") as new:
                new.write_bytes(row.task.source.encode())  # as it is: no newline is translated
        return len(files)


def _levels(path: Path) -> list[tuple[int, Path]]:
    """Each level and its folder, in order."""
    if not path.is_dir():
        raise UsageError(f"{path} is no folder; name {KernelBench.form}")
    own = _LEVEL.fullmatch(path.resolve().name)
    if own is not None:
        return [(int(own["level"]), path)]
    root = path / FOLDER if (path / FOLDER).is_dir() else path
    found = [
        (int(name["level"]), child) for child in root.iterdir() if (name := _LEVEL.fullmatch(child.name))
    ]
    if not found:
        raise UsageError(f"{path} has no folder level1, level2, …; name {KernelBench.form}")
    return sorted(found)


def _problems(folder: Path) -> list[tuple[int, Path]]:
    """Each problem and its file, in order; files of other names are not problems there either."""
    found = [
        (int(name["problem"]), child)
        for child in folder.iterdir()
        if (name := _PROBLEM.fullmatch(child.name))
    ]
    return sorted(found)


def _task(file: Path, level: int, problem: int, revision: str) -> Made | Broken:
    try:
        code = read_source(file)
    except UsageError as error:
        return Broken(where=str(file), reason=str(error))
    row = Row(
        where=str(file),
        name=file.stem,
        code=code,
        provenance=origin(FOLDER, revision, f"level{level}/{file.name}"),
        source=f"kernelbench#{level}",
        facts={LEVEL: str(level), PROBLEM: str(problem)},
    )
    return checked(row)


def _place(row: Made) -> tuple[int, int] | None:
    level, problem = row.facts.get(LEVEL, ""), row.facts.get(PROBLEM, "")
    is_place = _LEVEL.fullmatch(f"level{level}") and _PROBLEM.fullmatch(f"{problem}_.py")
    return (int(level), int(problem)) if is_place else None


def _file_name(row: Made) -> str:
    """The task's name without its number and without what a file's name cannot hold."""
    plain = re.sub(r"^\d+_", "", row.task.task_id)
    return re.sub(r"[^\w.-]+", "_", plain, flags=re.ASCII)[:100] or "task"
