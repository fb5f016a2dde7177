"""What a command's exit code means, and which one an outcome earns."""

from enum import IntEnum

from warpsmith.core import Implausible, NotRunnable, Passed, Solution, StopReason, Verdict


class ExitCode(IntEnum):
    """The same for every command, and stable."""

    OK = 0
    BUG = 1
    USAGE = 2
    NOT_CORRECT = 3
    NOT_FASTER = 4
    BUDGET_SPENT = 5
    ENVIRONMENT = 6
    INTERRUPTED = 130


MEANINGS: dict[ExitCode, str] = {
    ExitCode.OK: "correct and faster (or: did what was asked)",
    ExitCode.BUG: "audit, redteam or train found something; else a bug of warpsmith's own",
    ExitCode.USAGE: "wrong usage, or a task that cannot be judged",
    ExitCode.NOT_CORRECT: "not correct",
    ExitCode.NOT_FASTER: "correct but not faster",
    ExitCode.BUDGET_SPENT: "budget spent without a correct program",
    ExitCode.ENVIRONMENT: "this machine lacks something (see: warpsmith doctor)",
    ExitCode.INTERRUPTED: "interrupted before anything correct was found",
}

FASTER = (
    "Faster: the whole 95 % interval of the measured ratio against the better of eager and torch.compile "
    "lies above 1. On the cpu device times are modelled, not measured: there it means below eager's and "
    "not above torch.compile's, which is modelled as perfect fusion; the text says modelled."
)


def epilog(examples: tuple[str, ...] = ()) -> str:
    """The end of a command's help: examples, and what its exit codes mean."""
    lines = ["Examples:", *(f"  {example}" for example in examples), ""] if examples else []
    lines += ["Exit codes:", *(f"{code.value:>5}  {meaning}" for code, meaning in MEANINGS.items())]
    return "\n".join([*lines, "", FASTER])


def judged(verdict: Verdict) -> ExitCode:
    """The code that a verdict earns. A program that passed without being timed is correct: 0."""
    match verdict:
        case Passed(timing=timing):
            return ExitCode.OK if timing is None or timing.is_fast else ExitCode.NOT_FASTER
        case Implausible():
            return ExitCode.NOT_FASTER
        case NotRunnable():
            return ExitCode.ENVIRONMENT
        case _:
            return ExitCode.NOT_CORRECT


def optimized(best: Solution | None, stop: StopReason) -> ExitCode:
    """The code that a whole run earns: what was found counts before why it ended."""
    if best is not None:
        if isinstance(best.verdict, Passed) and best.verdict.timing is None:
            return ExitCode.NOT_FASTER  # interrupted before it could be timed
        if (code := judged(best.verdict)) is not ExitCode.NOT_CORRECT:
            return code
    if stop is StopReason.INTERRUPTED:
        return ExitCode.INTERRUPTED
    return ExitCode.NOT_CORRECT if stop is StopReason.FINISHED else ExitCode.BUDGET_SPENT
