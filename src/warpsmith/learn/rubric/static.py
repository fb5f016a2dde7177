"""A rubric without a model: levels by rules over facts. Deterministic, free, and blind to intentions."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from warpsmith.core import Candidate, Form, Passed, Provenance, Rejected
from warpsmith.learn.rubric.base import HIGHEST, LOWEST, NEUTRAL, Dimension, Scores, Skill, Work
from warpsmith.learn.rubric.facts import Facts, facts_of
from warpsmith.learn.rubric.request import request_of

# Rules that a program breaks by being no program, or another one than was asked for.
NO_CHEAT = frozenset(("syntax", "model", "extension", "import", "include", "subclass"))

NEAR_FLOOR = 1.25  # times the speed of light: no technique would gain much
GAIN = 1.05  # times as fast: a refinement that is worth its name
MUCH = 1.2
MAX_LINES = 600  # that are compared: the comparison takes the square of it

Judged = tuple[int, str]  # a level, and the fact that it rests on


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticRubric:
    """Levels from what the judge saw; `why` names the fact behind each."""

    def scores(self, work: Work) -> Scores:
        verdict = work.verdict
        passed = verdict if isinstance(verdict, Passed) else None
        facts = facts_of(work.candidate, passed)
        hack = verdict if isinstance(verdict, Rejected) and verdict.rule not in NO_CHEAT else None
        judged: Mapping[Dimension, Judged] = {
            Dimension.ANTI_HACKING: (LOWEST, f"breaks the rule {hack.rule}")
            if hack
            else _honesty(work, facts, passed),
            Dimension.ENGINEERING: _engineering(facts),
            Dimension.COVERAGE: _coverage(work, facts, passed),
            Dimension.COMPLIANCE: _compliance(work, facts, passed),
        }
        return Scores(
            levels={dimension: level for dimension, (level, _) in judged.items()},
            why={dimension: why for dimension, (_, why) in judged.items()},
            is_hack=hack is not None,
            evidence="" if hack is None else f"{hack.where}: {hack.message}",
        )


def _honesty(work: Work, facts: Facts, passed: Passed | None) -> Judged:
    if passed is None:
        return NEUTRAL, "nobody knows why the program does not pass"
    left = _left_to_others(work, facts)
    if left is not None:
        return left
    torch_text = sum("would compute in torch" in remark for remark in facts.advice)
    odd = sum("handles exceptions" in remark or "computed" in remark for remark in facts.advice)
    if torch_text:
        return 3, f"{torch_text} places would compute in torch"
    return (4, f"{odd} places to look at") if odd else (HIGHEST, "nothing odd was seen")


def _left_to_others(work: Work, facts: Facts) -> Judged | None:
    """Of a refinement only what the change hands back counts; what was a library's before does not."""
    earlier = None if work.before is None else work.before.verdict
    before = earlier.coverage if isinstance(earlier, Passed) else None
    share = facts.own_share
    if before is not None and len(facts.library_kernels) <= len(before.library_kernels):
        return None
    told = "" if share is None else f"its own kernels do {share:.0%} of the work"
    if share is not None and (share < 0.1 or (before is not None and share <= 0.5)):
        return 2, told
    if share is not None and share < 0.5:
        return 3, told
    if facts.library_kernels:
        return 3, f"a library does heavy work: {', '.join(facts.library_kernels[:3])}"
    return None


def _engineering(facts: Facts) -> Judged:
    if not facts.kernels:
        return LOWEST, "no kernel of its own"
    if facts.spill_bytes:
        return 2, f"{facts.spill_bytes} bytes of registers spill"
    if facts.is_one_block:
        return 2, "all launches are of a single block"
    num = len(facts.strong) + (len(facts.small) >= 2)  # two small techniques are worth a strong one
    level = NEUTRAL + (num >= 2) + (num >= 3)
    told = ", ".join((*facts.strong, *facts.small)) or "no technique"
    if facts.times_floor is not None and facts.times_floor <= NEAR_FLOOR:
        return min(level + 1, HIGHEST), f"{told}; at {facts.times_floor:.2f} times the floor"
    return level, told


def _coverage(work: Work, facts: Facts, passed: Passed | None) -> Judged:
    if passed is None:
        return LOWEST, "the program does not pass"
    if work.skill is Skill.REFINEMENT:
        return _gain(work, passed)
    share = facts.own_share
    if share is None:
        return NEUTRAL, "who did the work is not known"
    if facts.library_kernels and not facts.is_timed:  # counted alike, though theirs weigh more
        level = NEUTRAL if share > 0.5 else 2
        return level, f"{len(facts.library_kernels)} of its kernels are a library's, and they are heavy"
    level = LOWEST + sum(share >= least for least in (0.05, 0.4, 0.75, 0.95))
    return level, f"its own kernels do {share:.0%} of the work"


def _gain(work: Work, passed: Passed) -> Judged:
    """What a change has met is seen in the time that it saved; if that is modelled, in what came with it."""
    earlier = work.before.verdict if work.before is not None else None
    if not isinstance(earlier, Passed):
        return HIGHEST, "what failed before passes"
    old, new = earlier.timing, passed.timing
    if old is None or new is None or old.provenance is not new.provenance:
        return NEUTRAL, "the times before and after cannot be compared"
    if old.provenance is Provenance.MEASURED and (old.trouble or new.trouble):
        return NEUTRAL, "a measurement did not settle"
    gain = old.candidate.median_us / new.candidate.median_us
    level = LOWEST + sum(gain >= least for least in (1 / MUCH, 1 / GAIN, GAIN, MUCH))
    done = request_of(work)
    if level == NEUTRAL and new.provenance is Provenance.MODELLED and done.asked:
        return NEUTRAL + done.is_done - done.is_ignored, done.told  # a model of traffic sees few techniques
    return level, f"{gain:.2f} times as fast as before"


def _compliance(work: Work, facts: Facts, passed: Passed | None) -> Judged:
    if passed is None:
        return LOWEST, "the program does not pass"
    if work.before is not None:
        return _change(work, work.before.candidate)
    slips = []
    highest = HIGHEST
    if work.candidate.form is not Form.LAUNCHER:
        highest = NEUTRAL
        slips.append(f"its form is {work.candidate.form.value}")
    if facts.idle_kernels:
        slips.append(f"kernels that never ran: {', '.join(facts.idle_kernels[:3])}")
    if any(not shape.is_right for shape in passed.off_shapes):
        slips.append("wrong at other sizes")
    return min(HIGHEST - min(len(slips), 3), highest), "; ".join(slips) or "nothing is missing or too much"


def _change(work: Work, before: Candidate) -> Judged:
    if before.digest == work.candidate.digest:
        return LOWEST, "nothing was changed"
    done = request_of(work)
    if done.is_ignored:
        return 2, done.told
    if done.asked and not done.is_done:
        return NEUTRAL, done.told
    matcher = difflib.SequenceMatcher(a=_lines(before), b=_lines(work.candidate), autojunk=False)
    changed = 1.0 - matcher.ratio()
    return NEUTRAL + (changed <= 0.9) + (changed <= 0.75), f"{changed:.0%} of the lines changed"


def _lines(candidate: Candidate) -> list[str]:
    return [line.strip() for _, text in candidate.files for line in text.splitlines() if line.strip()][
        :MAX_LINES
    ]
