"""Judges a program, looks at it with every profiler there is, and says what limits it."""

from dataclasses import dataclass, field

from warpsmith.agent.diagnosis.classifier import Classified, classify
from warpsmith.agent.diagnosis.figures import Name, Sheet
from warpsmith.agent.diagnosis.ladder import Climb, Rung, climb
from warpsmith.agent.diagnosis.timing import Bounds, bounds_of, launch_figures, of_verdict
from warpsmith.agent.diagnosis.trace import KernelTotal
from warpsmith.core import Candidate, Passed, Timing, Verdict
from warpsmith.judge.judge import Judge
from warpsmith.judge.trial import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What was found. Of a program that did not pass, or was not timed, there is the verdict alone."""

    verdict: Verdict
    sheet: Sheet = field(default_factory=Sheet)
    rungs: tuple[Rung, ...] = ()
    kernels: tuple[KernelTotal, ...] = ()  # of all traced calls together, the longest first
    num_traced_calls: int = 0
    classified: Classified | None = None


class Examiner(Judge):
    """A judge that also looks at what has passed, in the sandbox that it was judged in.

    The GPU is held for as long as that takes: some tens of seconds.
    """

    def examine(self, candidate: Candidate) -> Examination:
        """Raises as `Judge.measure` does."""
        found = Climb()

        def look(trial: Trial) -> None:
            nonlocal found
            found = climb(trial)

        verdict = self.watch(candidate, look)
        timing = verdict.timing if isinstance(verdict, Passed) else None
        if not isinstance(verdict, Passed) or timing is None:
            return Examination(verdict=verdict)
        bounds = bounds_of(self.profile().floor, self.device.gpu)
        sheet = sheet_of(verdict, timing, bounds, found)
        return Examination(
            verdict=verdict,
            sheet=sheet,
            rungs=tuple(found.rungs),
            kernels=() if found.trace is None else found.trace.totals()[:MAX_KERNELS],
            num_traced_calls=0 if found.trace is None else found.trace.num_calls,
            classified=classify(sheet),
        )


MAX_KERNELS = 50


def sheet_of(passed: Passed, timing: Timing, bounds: Bounds, found: Climb) -> Sheet:
    """All figures: the clock's first, then the profilers'."""
    sheet = Sheet(of_verdict(passed, timing, bounds)) | found.sheet
    launches = sheet.value(Name.LAUNCHES)
    if launches is None:
        return sheet
    return sheet | Sheet(launch_figures(launches, timing.candidate.median_us, bounds))
