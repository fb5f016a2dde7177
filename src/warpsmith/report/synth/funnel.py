"""Step by step, how many tasks are left, and why the others went."""

from collections.abc import Iterable, Iterator

from warpsmith.report.plain import one_line
from warpsmith.report.synth.facts import Loss, Narrowing
from warpsmith.report.synth.folder import Step
from warpsmith.report.synth.records import Comparison, Decontamination, Filtering
from warpsmith.tasks.synth.filters import Rejected, Stage

UNREAD = "cannot be compared"
NOT_DECIDED = "not decided"
STAGES: dict[Stage, str] = {
    Stage.READ: "is Python, and whole",
    Stage.RUN: "runs",
    Stage.COMPILE: "compiles",
    Stage.LOOK: "answers other inputs too",
    Stage.REPEAT: "is deterministic",
    Stage.TELL: "tells answers apart",
    Stage.AUDIT: "passes the audit",
    Stage.AGREE: "compiled, answers alike",
    Stage.TIME: "takes a time in the band",
}


def narrowings(filtering: Filtering | None, decontamination: Decontamination | None) -> tuple[Narrowing, ...]:
    """Every look at the tasks, in order; without those of a step that has not been run."""
    found: list[Narrowing] = []
    if filtering is not None:
        found += _of_filter(filtering)
    if decontamination is not None:
        found.append(_of_comparison("is far from the benchmark", decontamination.against))
        found.append(_of_comparison("is far from the others", decontamination.within))
    return tuple(found)


def _of_filter(filtering: Filtering) -> Iterator[Narrowing]:
    num_left = filtering.num_kept + len(filtering.rejected) + len(filtering.undecided)
    if filtering.undecided:
        pairs = [(NOT_DECIDED, one_line(f"{one.task_id}: {one.why}")) for one in filtering.undecided]
        losses = _counted(pairs)
        yield Narrowing(step=Step.FILTER, name="can be looked at here", num_in=num_left, losses=losses)
        num_left -= len(filtering.undecided)
    for stage, name in STAGES.items():
        out = [rejected for rejected in filtering.rejected if rejected.stage is stage]
        losses = _counted((rejected.reason.value, _example(rejected)) for rejected in out)
        yield Narrowing(step=Step.FILTER, name=name, num_in=num_left, losses=losses)
        num_left -= len(out)


def _of_comparison(name: str, comparison: Comparison) -> Narrowing:
    pairs = [
        (
            f"too close by {one.measure}",
            one_line(f"{one.task_id}: {one.similarity:.2f} to {one.other_id}"),
        )
        for one in comparison.dropped
    ]
    pairs += [(UNREAD, one_line(f"{one.task_id}: {one.reason}")) for one in comparison.unread]
    return Narrowing(step=Step.DECONTAMINATE, name=name, num_in=comparison.num_tasks, losses=_counted(pairs))


def _example(rejected: Rejected) -> str:
    return one_line(f"{rejected.task_id}: {rejected.evidence}")


def _counted(pairs: Iterable[tuple[str, str]]) -> tuple[Loss, ...]:
    """Reasons with examples, counted; of examples the first is kept."""
    nums: dict[str, int] = {}
    examples: dict[str, str] = {}
    for reason, example in pairs:
        nums[reason] = nums.get(reason, 0) + 1
        examples.setdefault(reason, example)
    return tuple(
        Loss(reason=reason, num=num, example=examples[reason])
        for reason, num in sorted(nums.items(), key=lambda pair: (-pair[1], pair[0]))
    )
