"""The programs of a run as its judge saw them, one after another, each with what was said of it.

A verdict's event names its program by a digest, and holds the program only if it has passed. Others are had
again from the workspace as it stood when the turn before had ended, with the edits that were made since; or
as it stood at the end of their own turn. What has another digest than the judged program is not it.
"""

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from warpsmith.agent.episode import JUDGED_BY_US
from warpsmith.agent.events import Event, Judged, Said, TurnEnded
from warpsmith.agent.runs.snapshot import Blobs
from warpsmith.agent.workspace.changes import Change, Unfit, changed
from warpsmith.core import Candidate, Passed, Role, ToolCall, UsageError, Verdict
from warpsmith.core.candidate import KERNELS, MAX_BYTES, MODULE, SOURCE_SUFFIXES

FAILED = ("error:", "not run:")  # how the answer of a call begins that did nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """One program; its last verdict, or the last that timed it."""

    digest: str
    program: Candidate | None  # None if the record does not tell
    verdict: Verdict
    feedback: str  # as the policy was told
    turn: int


def iterations(events: Iterable[Event], blobs: Blobs) -> Iterator[Iteration]:
    """In order; verdicts on one program, with no other between, are one iteration."""
    last: Iteration | None = None
    for now in _judged(events, blobs):
        if last is not None and last.digest == now.digest:
            last = _merged(last, now)
            continue
        if last is not None:
            yield last
        last = now
    if last is not None:
        yield last


def _merged(last: Iteration, now: Iteration) -> Iteration:
    program = now.program or last.program
    was_timed = isinstance(last.verdict, Passed) and last.verdict.timing is not None
    if was_timed and isinstance(now.verdict, Passed) and now.verdict.timing is None:
        return replace(last, program=program)
    return replace(now, program=program)


def _judged(events: Iterable[Event], blobs: Blobs) -> Iterator[Iteration]:
    """An iteration a verdict. One is held until its turn has ended if its program is not known before."""
    desk = _Desk(blobs)
    for event in events:
        match event:
            case Said():
                desk.said(event)
            case Judged(tool=tool) if tool not in JUDGED_BY_US:
                desk.judged(event)
            case TurnEnded():
                desk.turn_ended(event)
                yield from desk.handed_over()
            case _:
                pass


@dataclass(slots=True)
class _Desk:
    """The workspace's program, as far as the record tells."""

    blobs: Blobs
    files: dict[str, str] = field(default_factory=dict)  # path -> text
    feedback: str = ""
    turn: int = 1
    calls: dict[str, ToolCall] = field(default_factory=dict)
    held: list[Iteration] = field(default_factory=list)

    def said(self, event: Said) -> None:
        message = event.message
        if message.role is Role.ASSISTANT:
            self.calls = {call.call_id: call for call in message.tool_calls}
        elif message.role is Role.TOOL:
            self.feedback = message.text
            call = self.calls.get(message.call_id or "")
            if call is not None and not message.text.startswith(FAILED):
                self._done(call)

    def judged(self, event: Judged) -> None:
        program = event.candidate or _program(self.files)
        self.held.append(
            Iteration(
                digest=event.digest,
                program=program if program is not None and program.digest == event.digest else None,
                verdict=event.verdict,
                feedback=self.feedback,
                turn=self.turn,
            )
        )

    def turn_ended(self, event: TurnEnded) -> None:
        self.files = self._read(event.files)
        program = _program(self.files)
        digest = program.digest if program is not None else ""
        self.held = [
            replace(one, program=program) if one.program is None and one.digest == digest else one
            for one in self.held
        ]
        self.turn = event.number + 1

    def handed_over(self) -> list[Iteration]:
        held, self.held = self.held, []
        return held

    def _read(self, files: dict[str, str]) -> dict[str, str]:
        """The program's texts; what cannot be read is left out, and the digest tells."""
        found: dict[str, str] = {}
        for path, digest in files.items():
            if _is_part(path):
                try:
                    found[path] = self.blobs.get(digest).decode()
                except (UsageError, UnicodeDecodeError):
                    continue
        return found

    def _done(self, call: ToolCall) -> None:
        """What a call that did not fail has done to the program. What a shell did is not known here."""
        match call:
            case ToolCall(tool="write", arguments={"path": str(path), "text": str(text)}):
                self.files[posixpath.normpath(path)] = text
            case ToolCall(tool="edit", arguments={"path": str(path), "old": str(old), "new": str(new)}):
                self._change(path, [Change(old=old, new=new)])
            case ToolCall(tool="multi_edit", arguments={"path": str(path), "edits": [*edits]}):
                self._change(path, [_change(edit) for edit in edits])
            case _:
                pass

    def _change(self, path: str, changes: list[Change]) -> None:
        name = posixpath.normpath(path)
        try:
            self.files[name] = changed(self.files.get(name, ""), changes, MAX_BYTES)[0]
        except Unfit:  # the text was another: the digest will tell
            self.files.pop(name, None)


def _change(edit: Any) -> Change:
    match edit:
        case {"old": str(old), "new": str(new), **more}:
            return Change(old=old, new=new, is_everywhere=more.get("all") is True)
        case _:
            return Change(old="", new="")  # matches nothing


def _program(files: dict[str, str]) -> Candidate | None:
    parts = {path: text for path, text in files.items() if _is_part(path)}
    if MODULE not in parts:
        return None
    try:
        return Candidate.of(parts)
    except UsageError:
        return None


def _is_part(path: str) -> bool:
    return path == MODULE or (
        path.startswith(f"{KERNELS}/") and PurePosixPath(path).suffix in SOURCE_SUFFIXES
    )
