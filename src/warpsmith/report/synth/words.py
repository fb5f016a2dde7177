"""What page and terminal say alike: a report's sentences and figures."""

from collections.abc import Iterator

from warpsmith.report.synth.facts import Composition, Facts, Likeness, Narrowing, Times
from warpsmith.report.synth.folder import Step
from warpsmith.report.synth.records import Rechecking

LEAVES: dict[Step, str] = {
    Step.CRAWL: "the operators, and where they come from",
    Step.COMPOSE: "the tasks as they were made",
    Step.FILTER: "which of them are worth judging by, and what they take",
    Step.DECONTAMINATE: "which of them are too close to a benchmark's",
}
SETS: dict[Step, str] = {
    Step.COMPOSE: "composed",
    Step.FILTER: "filtered",
    Step.DECONTAMINATE: "decontaminated",
}


def percent(share: float) -> str:
    """'83.8 %'."""
    return f"{100 * share:.1f} %"


def plural(num: int, what: str) -> str:
    """'1 task', '2 tasks'."""
    return f"{num} {what}" if num == 1 else f"{num} {what}s"


def summary(facts: Facts) -> str:
    """How many tasks each step left."""
    if not facts.sets:
        return "There are no tasks yet."
    first = facts.sets[0].num_tasks
    parts = [f"{one.num_tasks} {SETS[one.step]}" for one in facts.sets]
    share = f" ({percent(facts.sets[-1].num_tasks / first)})" if first and len(facts.sets) > 1 else ""
    return f"{' → '.join(parts)}{share}"


def not_run(facts: Facts) -> Iterator[str]:
    """A line for each step that has left nothing."""
    for step in facts.not_run:
        yield f"`warpsmith synth {step}` has not been run: it would tell {LEAVES[step]}."


def ms_text(ms: float) -> str:
    """Three digits: '1.26', '0.034', '52.8'."""
    return f"{ms:.3g}"


def times_title(times: Times) -> str:
    """Says whether anybody measured them."""
    how = "measured" if times.is_measured else "modelled, not measured"
    return f"Eager's time a call, {how}, of the {SETS[times.step]} tasks"


def times_text(times: Times) -> str:
    """Quartiles in a sentence."""
    five = times.quartiles_ms
    text = (
        f"{plural(times.num_tasks, 'task')}: from {ms_text(five.least)} to {ms_text(five.most)} ms, half of "
        f"them between {ms_text(five.lower)} and {ms_text(five.upper)}, median {ms_text(five.median)} ms"
    )
    if times.band_ms is not None:
        text += f"; the filter asked for {times.band_ms[0]:g} to {times.band_ms[1]:g} ms"
    return f"{text}; of {times.num_without} no such time is known." if times.num_without else f"{text}."


def likeness_text(likeness: Likeness) -> str:
    """Against what, from which similarity on a task went, and how close the closest was."""
    whom = ", ".join(f"{one.suite} ({plural(one.num_tasks, 'task')})" for one in likeness.benchmarks)
    parts = [
        f"{plural(likeness.num_compared, 'task')} against {whom or 'a benchmark that was not named'}",
        f"dropped from {likeness.threshold:g} on",
    ]
    if likeness.top:
        parts.append(f"the closest pair is alike by {likeness.top[0].similarity:.3f}")
    if likeness.num_unread:
        parts.append(
            f"{likeness.num_unread} of the benchmark could not be read, nothing was compared with these"
        )
    return f"{'; '.join(parts)}."


def recheck_text(recheck: Rechecking) -> str:
    """How many pass again, and what must be known of that."""
    where = recheck.device or "a device that was not named"
    text = (
        f"{recheck.num_kept} of {recheck.num_tasks} kept tasks, drawn with seed {recheck.seed}, passed the "
        f"filter again from nothing on {where}"
    )
    return (
        f"{text}." if recheck.is_as_before else f"{text}, though not under the checks that they were kept by."
    )


def losses_text(narrowing: Narrowing) -> str:
    """'too fast 3, too slow 1'."""
    return ", ".join(f"{loss.reason} {loss.num}" for loss in narrowing.losses)


def composition_title(composition: Composition) -> str:
    return f"The {plural(composition.num_tasks, SETS[composition.step] + ' task')}"
