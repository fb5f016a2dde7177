"""What became of a reply: one word for each, and how often each came."""

import re
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from warpsmith.core import (
    BuildFailed,
    Candidate,
    Crashed,
    Implausible,
    NotRunnable,
    Passed,
    Rejected,
    TimedOut,
    Verdict,
    Wrong,
)
from warpsmith.core.candidate import MODULE
from warpsmith.core.timing import MARGIN
from warpsmith.learn.answering.reply import Flaw
from warpsmith.toolchain.signatures import SignatureError, find_launchers

CALLED = re.compile(r"\bcuda_extension\.(\w+)\s*\(")


class Fate(StrEnum):
    """From the worst to the best."""

    NO_FILE = "no file"
    CUT = "cut"
    NO_MODULE = "no module"
    BAD_FILE = "bad file"
    REFUSED = "refused"  # breaks a rule
    WRONG_NAME = "wrong export name"  # calls what its kernels don't export
    BUILD_ERROR = "build error"
    CRASH = "crash"
    TIMEOUT = "timeout"
    WRONG = "wrong"
    NOT_RUNNABLE = "not runnable"  # on this device: says nothing about the program
    IMPLAUSIBLE = "implausible"
    CORRECT = "correct"
    FASTER = "faster"  # than eager; where times are modelled, so is this
    INFRA = "infra"  # ours: not known


GOOD = frozenset({Fate.CORRECT, Fate.FASTER})
UNKNOWN = frozenset({Fate.INFRA, Fate.NOT_RUNNABLE, Fate.IMPLAUSIBLE})

FAILURES: dict[type[Verdict], Fate] = {
    Rejected: Fate.REFUSED,
    BuildFailed: Fate.BUILD_ERROR,
    Crashed: Fate.CRASH,
    TimedOut: Fate.TIMEOUT,
    Wrong: Fate.WRONG,
    NotRunnable: Fate.NOT_RUNNABLE,
    Implausible: Fate.IMPLAUSIBLE,
}

Histogram = dict[Fate, int]


def fate_of_flaw(flaw: Flaw) -> Fate:
    """A flaw and its fate bear the same name."""
    return Fate(flaw.value)


def fate_of(candidate: Candidate, verdict: Verdict) -> Fate:
    """What became of a program that was judged."""
    if isinstance(verdict, Passed):
        timing = verdict.timing
        return Fate.FASTER if timing and timing.against_eager.saved > MARGIN else Fate.CORRECT
    if isinstance(verdict, BuildFailed | Crashed) and _calls_another_name(candidate):
        return Fate.WRONG_NAME
    return FAILURES[type(verdict)]


def histogram(fates: Iterable[Fate]) -> Histogram:
    """How often each came, from the worst to the best; those that never came are left out."""
    counts = Counter(fates)
    return {fate: counts[fate] for fate in Fate if counts[fate]}


def _calls_another_name(candidate: Candidate) -> bool:
    files = dict(candidate.files)
    called = set(CALLED.findall(files.get(MODULE, "")))
    kernels = {path: text for path, text in files.items() if path.endswith((".cu", ".cuh"))}
    try:
        exported = {launcher.name for launcher in find_launchers(kernels)}
    except SignatureError:  # then the build says what is wrong with them
        return False
    return bool(called - exported)
