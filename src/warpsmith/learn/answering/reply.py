"""A reply's text as a program, and a program as the text of a reply."""

from dataclasses import dataclass
from enum import StrEnum

from warpsmith.agent.tools import SPECS
from warpsmith.core import Candidate, UsageError
from warpsmith.core.candidate import MODULE
from warpsmith.policy.actions import Style, parse
from warpsmith.policy.actions.files import WRITE, argument_names
from warpsmith.policy.base import INVALID_ARGUMENTS
from warpsmith.tasks.synth.skills.prompt import files_text


class Flaw(StrEnum):
    """Why a reply is no program."""

    NO_FILE = "no file"  # not one block with a path
    CUT = "cut"  # a limit ended it, or a block has no end
    NO_MODULE = "no module"  # files, but none that defines the model
    BAD_FILE = "bad file"  # a path or a text that no candidate may have


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What was answered, ready to be judged."""

    candidate: Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A reply that is no program: the student's fault, and worth what a wrong program is."""

    flaw: Flaw
    message: str


def read_reply(text: str, *, is_cut: bool) -> Program | Unread:
    """The files of a reply. Never raises, whatever the text is.

    A reply that was cut after its last whole file counts as if it had ended there.
    """
    calls = parse(Style.FILES, text, SPECS).tool_calls
    broken = [str(call.arguments[INVALID_ARGUMENTS]) for call in calls if INVALID_ARGUMENTS in call.arguments]
    if broken:
        return Unread(flaw=Flaw.CUT if is_cut or "no end" in broken[0] else Flaw.NO_FILE, message=broken[0])
    path, content = argument_names(SPECS)
    files = {
        str(call.arguments.get(path)): str(call.arguments.get(content))
        for call in calls
        if call.tool == WRITE
    }
    if not files:
        flaw = Flaw.CUT if is_cut else Flaw.NO_FILE
        return Unread(flaw=flaw, message="the reply holds no fenced block under a path")
    if MODULE not in files:
        flaw = Flaw.CUT if is_cut else Flaw.NO_MODULE
        return Unread(flaw=flaw, message=f"no {MODULE} among {', '.join(sorted(files))}")
    try:
        return Program(candidate=Candidate.of(files))
    except UsageError as error:
        return Unread(flaw=Flaw.BAD_FILE, message=str(error))


def reply_text(candidate: Candidate) -> str:
    """A reply that reads back as `candidate`, up to spaces at the end of a file; kernels come first."""
    return files_text(candidate).strip()
