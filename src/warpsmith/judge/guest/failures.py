"""What is said of an exception: whose it is, and the end of its traceback."""

import traceback
from pathlib import Path
from types import TracebackType

from warpsmith.judge.tensorfile import TensorFileError

MAX_CHARS = 3000
OWN_FOLDER = str(Path(__file__).parents[1])


def is_ours(error: Exception, candidate: Path) -> bool:
    """Whether it came from reading or writing our files, with no code of the candidate's on the way."""
    return isinstance(error, OSError | TensorFileError) and not _passes(error.__traceback__, str(candidate))


def last_words(error: Exception, candidate: Path) -> str:
    """The end of the traceback, from the candidate's first frame on, with its paths made relative."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(OWN_FOLDER):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    return text.replace(f"{candidate}/", "")[-MAX_CHARS:]


def _passes(trace: TracebackType | None, folder: str) -> bool:
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(folder):
            return True
        trace = trace.tb_next
    return False
