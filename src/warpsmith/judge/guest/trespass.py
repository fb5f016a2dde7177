"""Stops what a candidate's Python may not do, whatever its text looks like: threads, processes, frames.

Python tells of such acts before they happen, and a hook that listens cannot be taken out again. A candidate
that catches the refusal has still not done it.
"""

import _thread
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from warpsmith.judge.names import names

# Wherever on the stack the candidate stands: nothing that it calls of torch's needs these.
FORBIDDEN = names(
    "_thread.start_new_thread _thread.start_joinable_thread subprocess.Popen os.fork os.forkpty os.exec "
    "os.posix_spawn os.spawn os.system os.kill os.killpg os.startfile pty.spawn socket.__new__ "
    "socket.connect socket.bind sys.addaudithook sys.settrace sys.setprofile sys._current_frames "
    "gc.get_objects gc.get_referrers gc.get_referents"
)
# Others do it too, such as a named tuple; a candidate may not by itself.
FORBIDDEN_ITSELF = names("sys._getframe ctypes.dlopen ctypes.dlsym marshal.loads pickle.find_class")


class Trespass(RuntimeError):
    """What a candidate tried and may not."""


_folders: set[str] = set()


def guard(candidate: Path) -> None:
    """From now on refuse such acts to code in the folder `candidate`. Nothing takes this back."""
    if not _folders:
        sys.addaudithook(_heard)
        _guard_threads()
    _folders.add(str(candidate))


def _guard_threads() -> None:
    """Python 3.11 does not tell of a thread's start, so the two names that lead there are replaced."""
    start = _thread.start_new_thread

    def guarded(
        function: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> int:
        _heard("_thread.start_new_thread", ())
        return start(function, args, kwargs or {})

    for module, name in (
        (_thread, "start_new_thread"),
        (_thread, "start_new"),
        (threading, "_start_new_thread"),
    ):
        vars(module)[name] = guarded


def _heard(event: str, _: tuple[Any, ...]) -> None:
    if event not in FORBIDDEN and event not in FORBIDDEN_ITSELF:
        return
    frame = _caller()
    if frame is not None and _is_candidates(frame, anywhere=event in FORBIDDEN):
        _refuse(event)


def _refuse(event: str) -> NoReturn:
    raise Trespass(f"a program may not do this: {event}")


def _caller() -> FrameType | None:
    """The frame that asked for a frame; found without asking again, which would not end."""
    try:
        _refuse("")
    except Trespass as error:
        trace = error.__traceback__
        here = None if trace is None else trace.tb_frame.f_back
        return None if here is None else here.f_back


def _is_candidates(frame: FrameType | None, *, anywhere: bool) -> bool:
    while frame is not None:
        if any(frame.f_code.co_filename.startswith(folder) for folder in _folders):
            return True
        frame = frame.f_back if anywhere else None
    return False
