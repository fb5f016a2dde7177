"""What a feedback asks for by name, and whether it came: as far as words and facts tell."""

import re
from dataclasses import dataclass

from warpsmith.core import Passed, Verdict
from warpsmith.learn.rubric.base import Work
from warpsmith.learn.rubric.facts import Facts, facts_of

WORDS = {  # a technique as `facts.STRONG` names it -> how a feedback asks for it
    "wide loads": r"\bfloat4\b|\bvectori[sz]e|\bwide(?:r)? loads?\b|\bfour (?:at once|at a time|floats)\b",
    "shared memory": r"\bshared memory\b|\btil(?:e|es|ed|ing)\b",
    "warp operations": r"\bwarps?\b|\bshuffles?\b",
    "tensor cores": r"\btensor cores?\b|\bwmma\b|\bmma\b",
    "asynchronous copies": r"\bcp\.async\b|\basynchronous(?:ly)?\b|\bmemcpy_async\b",
}
FUSION = re.compile(r"\bfuse|\b(?:one|a single) kernel\b|\bfewer (?:kernels|launches)\b", re.IGNORECASE)
FEWER = "fewer launches"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked for by name and was not there before, and what of it is there now."""

    asked: tuple[str, ...]
    came: tuple[str, ...]

    @property
    def is_done(self) -> bool:
        return bool(self.asked) and self.came == self.asked

    @property
    def is_ignored(self) -> bool:
        return bool(self.asked) and not self.came

    @property
    def told(self) -> str:
        return f"asked for {', '.join(self.asked)}; came: {', '.join(self.came) or 'nothing'}"


def request_of(work: Work) -> Request:
    """Nothing is asked for by a feedback that names no technique, such as a compiler's error."""
    if work.before is None:
        return Request(asked=(), came=())
    before = facts_of(work.before.candidate, _passed(work.before.verdict))
    after = facts_of(work.candidate, _passed(work.verdict))
    asked = [
        name
        for name, words in WORDS.items()
        if re.search(words, work.feedback, re.IGNORECASE) and name not in before.strong
    ]
    came = [name for name in asked if name in after.strong]
    if FUSION.search(work.feedback) and _num_kernels(before) > 1:
        asked.append(FEWER)
        came += [FEWER] if _num_kernels(after) < _num_kernels(before) else []
    return Request(asked=tuple(asked), came=tuple(came))


def _passed(verdict: Verdict) -> Passed | None:
    return verdict if isinstance(verdict, Passed) else None


def _num_kernels(facts: Facts) -> int:
    return len(facts.kernels) if facts.num_launches is None else facts.num_launches
