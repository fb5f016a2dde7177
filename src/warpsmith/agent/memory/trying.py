"""What a run tried, a line a program, and the change that gave most."""

import difflib
from collections.abc import Sequence
from itertools import pairwise

from warpsmith.agent.events import Event, Said
from warpsmith.agent.memory.cleaning import line, lines
from warpsmith.agent.memory.nouns import Step
from warpsmith.agent.skills.iterations import Iteration
from warpsmith.core import (
    BuildFailed,
    Candidate,
    Crashed,
    Implausible,
    NotRunnable,
    Passed,
    Rejected,
    Role,
    TimedOut,
    Verdict,
    Wrong,
)

MAX_STEPS = 12
MAX_MEANT = 160  # characters of what a policy said
MAX_CHANGE, MAX_WIDTH = 60, 160  # lines of a diff, characters of one
MAX_COMPARED = 4_000  # lines of a file: comparing takes time that grows with their square
NOISE = 1.01  # a time over another that is less says nothing


def steps_of(seen: Sequence[Iteration], events: Sequence[Event]) -> tuple[Step, ...]:
    """The first program, each that changed something, the last; as many as a note has room for."""
    said = [event.message.text for event in events if isinstance(event, Said) and _is_reply(event)]
    told = [
        Step(
            turn=one.turn,
            meant=_meant(said[one.turn - 1] if one.turn <= len(said) else ""),
            gave=verdict_line(one.verdict),
            time_us=_time_us(one.verdict),
        )
        for one in seen
    ]
    if len(told) <= MAX_STEPS:
        return tuple(told)
    ranked = sorted(
        range(len(told)), key=lambda at: (at not in (0, len(told) - 1), not _is_news(told, at), at)
    )
    return tuple(told[at] for at in sorted(ranked[:MAX_STEPS]))


def _is_reply(said: Said) -> bool:
    return said.message.role is Role.ASSISTANT


def _meant(text: str) -> str:
    """The last line that a policy said before it acted: what came of the last try is said first."""
    found = [one for one in (line(part, MAX_MEANT) for part in text.split("\n")) if one]
    return found[-1].replace('"', "'") if found else ""


def _is_news(told: Sequence[Step], at: int) -> bool:
    """Faster than all before it, or of another outcome than the one before."""
    times = [one.time_us for one in told[:at] if one.time_us is not None]
    time = told[at].time_us
    return told[at].gave != told[at - 1].gave or (time is not None and time < min(times, default=time + 1))


def verdict_line(verdict: Verdict) -> str:
    """A verdict in a few words, clean: logs and messages hold what a program printed."""
    match verdict:
        case Passed():
            text = "right"
        case Implausible(message=message):
            text = f"time refused: {message}"
        case NotRunnable(reason=reason):
            text = f"not runnable here: {reason}"
        case _:
            text = _failure(verdict)
    return line(text, MAX_MEANT)


def _failure(verdict: Rejected | BuildFailed | Crashed | Wrong | TimedOut) -> str:
    match verdict:
        case Wrong(what=what, message=message):
            text = f"wrong ({what}): {message}"
        case BuildFailed(log=log):
            text = f"did not compile: {_error_in(log)}"
        case Crashed(stage=stage):
            text = f"crashed in {stage}"
        case TimedOut(stage=stage):
            text = f"timed out in {stage}"
        case Rejected(rule=rule):
            text = f"rejected by the rule {rule}"
    return text


def _error_in(log: str) -> str:
    return next((one for one in log.split("\n") if "error" in one), log)


def _time_us(verdict: Verdict) -> float | None:
    timing = verdict.timing if isinstance(verdict, Passed) else None
    return None if timing is None else timing.candidate.median_us


def change_of(seen: Sequence[Iteration], best: Candidate) -> str:
    """The diff between two right programs in a row that gave most, or of the repair that made it right."""
    pairs = [(before, after) for before, after in pairwise(seen) if before.program and after.program]
    gains = [(gain, pair) for pair in pairs if (gain := _gain(*pair)) is not None]
    if gains:
        _, (before, after) = max(gains, key=lambda one: one[0])
    else:
        repairs = [pair for pair in pairs if not _is_right(pair[0]) and _is_right(pair[1])]
        if not repairs:
            return ""
        before, after = next((one for one in repairs if one[1].digest == best.digest), repairs[-1])
    assert before.program is not None
    assert after.program is not None
    return diff_of(before.program, after.program)


def _is_right(one: Iteration) -> bool:
    return isinstance(one.verdict, Passed)


def _gain(before: Iteration, after: Iteration) -> float | None:
    """Time before over after, if both were timed and the next was faster by more than noise."""
    was, now = _time_us(before.verdict), _time_us(after.verdict)
    return was / now if was and now and was > NOISE * now else None


def diff_of(before: Candidate, after: Candidate) -> str:
    """As many lines as a note has room for; of each file those that differ."""
    old, new = dict(before.files), dict(after.files)
    found: list[str] = []
    found += [f"removed: {path}" for path in sorted(old.keys() - new.keys())]
    for path in sorted(new):
        texts = (old.get(path, "").splitlines(), new.get(path, "").splitlines())
        if max(map(len, texts)) > MAX_COMPARED:
            found.append(f"{path}: too long to be compared")
            continue
        found += difflib.unified_diff(*texts, f"a/{path}", f"b/{path}", lineterm="", n=2)
    return lines("\n".join(found), count=MAX_CHANGE, width=MAX_WIDTH)
