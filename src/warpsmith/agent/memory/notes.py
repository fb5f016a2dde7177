"""The user's notes on disk: a file each, in the folder of its state; a move from one to another is atomic."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from warpsmith.agent.memory.nouns import Note, State
from warpsmith.core import InfraError, UsageError
from warpsmith.core.codec import from_json, to_json
from warpsmith.core.lock import Taken, take

FOLDER, LOCK = "notes", "notes.lock"
MAX_BYTES = 256 << 10  # of one file: none that we write is near
KEY_LENGTH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A note and what became of it."""

    note: Note
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A file among the notes that is none."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """All in one folder. One process at a time changes it, any number may read."""

    folder: Path

    def all(self) -> tuple[Kept | Unread, ...]:
        """By state and id. Raises InfraError if the folder cannot be read."""
        return tuple(one for state in State for one in self._of(state))

    def accepted(self) -> tuple[Note, ...]:
        """Those that may be told; a file that is no note is passed over. Raises InfraError."""
        return tuple(one.note for one in self._of(State.ACCEPTED) if isinstance(one, Kept))

    def find(self, note_id: str) -> Kept:
        """By its id, or the beginning of one. Raises UsageError if there is no such note, or several."""
        kept = [one for one in self.all() if isinstance(one, Kept)]
        found = [one for one in kept if note_id and one.note.note_id.startswith(note_id)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"{note_id!r} begins the ids of {len(found)} notes; give more of it")
        raise UsageError(
            f"there is no note {note_id!r:.40}; `warpsmith docs proposals` lists those that there are"
        )

    def put(self, notes: Sequence[Note]) -> None:
        """Propose them; what has an id that is known, in whatever state, is left as it is."""
        with self._changing():
            known = {one.note.note_id for one in self.all() if isinstance(one, Kept)}
            for note in notes:
                if note.note_id not in known:
                    self._write(note)

    def move(self, note_ids: Sequence[str], state: State) -> tuple[Kept, ...]:
        """All of them get `state`, or none if one of them is unknown. Raises UsageError."""
        with self._changing():
            chosen = {one.note.note_id: one for one in map(self.find, note_ids)}
            for note_id, one in chosen.items():
                target = self._path(note_id, state)
                target.parent.mkdir(parents=True, exist_ok=True)
                self._path(note_id, one.state).replace(target)
        return tuple(Kept(note=one.note, state=state) for one in chosen.values())

    def _path(self, note_id: str, state: State) -> Path:
        return self.folder / FOLDER / state / f"{note_id}.json"

    def _of(self, state: State) -> Iterator[Kept | Unread]:
        with _explained(self.folder):
            paths = sorted((self.folder / FOLDER / state).glob("*.json"))
        for path in paths:
            try:
                yield Kept(note=_read(path), state=state)
            except FileNotFoundError:
                continue  # it was moved meanwhile
            except (ValueError, OSError) as error:
                yield Unread(path=path, reason=str(error)[:200])

    def _write(self, note: Note) -> None:
        """Whole or not at all."""
        path = self._path(note.note_id, State.PROPOSED)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}.new")
        try:
            new.write_text(to_json(note, indent=1) + "\n", encoding="utf-8")
            new.replace(path)
        finally:
            with suppress(FileNotFoundError):
                new.unlink()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with _explained(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                held = take(self.folder / LOCK, f"{os.getpid()}\n")
            except Taken as taken:
                raise UsageError(
                    f"the notes in {self.folder} are being changed by process {taken.holder or 'unknown'}; "
                    "wait until that has ended, and repeat"
                ) from taken
            try:
                yield
            finally:
                os.close(held)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InfraError(
            f"the notes in {folder} cannot be used ({error.strerror or error}); see its permissions"
        ) from error


def _read(path: Path) -> Note:
    """Raises ValueError for what is no note of ours, OSError for what cannot be read."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES >> 10} KiB")
    note = from_json(Note, data.decode())
    if path.stem != note.note_id:
        raise ValueError("it is not the note that its name says")
    return note
