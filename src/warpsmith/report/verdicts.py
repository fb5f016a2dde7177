"""A verdict in words: one short phrase for a table's cell, and the evidence for whoever must act on it."""

from warpsmith.core import (
    BuildFailed,
    Coverage,
    Crashed,
    Implausible,
    NotRunnable,
    OffShape,
    Passed,
    PrecisionClass,
    Provenance,
    Rejected,
    Speed,
    TimedOut,
    Timing,
    Verdict,
    Wrong,
)
from warpsmith.report.figures import (
    error_text,
    floor_text,
    ratio_text,
    seconds_text,
    speedup_text,
    time_text,
)
from warpsmith.report.plain import last_lines, printable

COARSER: dict[PrecisionClass | None, str] = {
    PrecisionClass.TF32: " in tf32",
    PrecisionClass.HALF: " in half precision",
}
EXPLAINED = {
    PrecisionClass.FP32: "its errors are those of fp32",
    PrecisionClass.TF32: "its errors are those of tf32: operands rounded to 10 bits",
    PrecisionClass.HALF: "its errors are those of half precision",
}


def verdict_text(verdict: Verdict) -> str:
    """What a table says of it: 'correct, faster', 'wrong values', 'timed out (forward)'."""
    match verdict:
        case Passed(timing=timing):
            correct = f"correct{COARSER.get(verdict.precision, '')}"
            text = correct if timing is None else f"{correct}, {speed_text(timing)}"
        case Implausible():
            text = "correct, time refused"
        case Wrong(what=what):
            text = f"wrong: {what}"
        case Rejected(rule=rule):
            text = f"rejected: {rule}"
        case BuildFailed():
            text = "does not compile"
        case Crashed(stage=stage) | TimedOut(stage=stage):
            text = f"{'crashed' if isinstance(verdict, Crashed) else 'timed out'} ({stage})"
        case NotRunnable(device=device):
            text = f"not runnable on {device}"
    return printable(text)


def speed_text(timing: Timing) -> str:
    """'faster', 'slower', 'cannot tell' against the better baseline; a modelled one says so."""
    speed = timing.speed
    if timing.provenance is Provenance.MEASURED:
        return speed.value
    return {
        Speed.FASTER: "modelled faster",
        Speed.SLOWER: "modelled slower",
        Speed.CANNOT_TELL: "modelled level",
    }[speed]


def evidence_text(verdict: Verdict) -> str:
    """Why, in as many lines as it takes; text of the candidate's is made printable."""
    match verdict:
        case Passed():
            text = _passed_text(verdict)
        case Implausible(message=message):
            text = message
        case Wrong():
            text = _wrong_text(verdict)
        case Rejected(rule=rule, where=where, message=message):
            text = f"{where}: {message} (rule {rule})"
        case BuildFailed(log=log) | Crashed(log=log):
            text = last_lines(log) or "it left no message"
        case TimedOut(stage=stage, limit_s=limit_s):
            text = f"{stage} did not end within {seconds_text(limit_s)}"
        case NotRunnable(device=device, reason=reason):
            text = f"{reason}; this says nothing about the program, another device than {device} may run it"
    return printable(text)


def _passed_text(passed: Passed) -> str:
    accuracy = passed.accuracy
    against = "float64" if accuracy.has_truth else "the reference (no float64 truth)"
    text = (
        f"largest error {error_text(accuracy.error)} against {against}; the reference's own is "
        f"{error_text(accuracy.reference_error)}, {error_text(accuracy.allowed)} is allowed"
    )
    if passed.precision is not None:
        text += f"; {EXPLAINED[passed.precision]}"
    lines = [text, *map(_off_shape_line, passed.off_shapes)]
    lines += [] if passed.timing is None else timing_lines(passed.timing)
    lines += [] if passed.coverage is None else [_coverage_line(passed.coverage)]
    if passed.gates:
        lines.append(f"gates passed: {', '.join(passed.gates)}")
    if passed.sanitized is not None:
        lines.append(f"compute-sanitizer found nothing ({', '.join(passed.sanitized.tools)})")
    return "\n".join([*lines, *passed.advice])


def _off_shape_line(label: OffShape) -> str:
    if label.is_right:
        return f"at another size ({label.message}) it is right too"
    return f"shape-specialised: at another size it is not right ({label.message})"


def _coverage_line(coverage: Coverage) -> str:
    """Whose kernels did the work."""
    share = "" if coverage.own_share is None else f", {coverage.own_share:.0%} of the device's time"
    libraries = f", beside {', '.join(coverage.library_kernels)}" if coverage.library_kernels else ""
    count = len(coverage.own_kernels)
    return f"track {coverage.track}: {count} own kernel{'' if count == 1 else 's'}{share}{libraries}"


def timing_lines(timing: Timing) -> list[str]:
    """How fast, and how that is known."""
    floor = f"time over the floor {floor_text(timing)}"
    if timing.provenance is Provenance.MODELLED:
        return [f"times are modelled for {timing.gpu}, not measured; {floor}"]
    speed = speedup_text(timing, timing.best_baseline)
    lines = [f"measured on {timing.gpu}: {speed} against the better baseline; {floor}"]
    if timing.trouble:
        lines.append(f"nothing can be said of the speed: {timing.trouble}")
    if timing.null is not None:
        lines.append(
            f"null control {ratio_text(timing.null)}: this run cannot tell a difference of less than "
            f"{timing.smallest_effect:.1%} from none"
        )
    if timing.host_us is not None:
        lines.append(
            f"{time_text(timing.host_us)} a call by the judge's own clock, "
            f"{time_text(timing.candidate.median_us)} by the program's; {timing.num_verified} outputs of "
            f"timed calls compared, {timing.num_input_sets} input sets"
        )
    if timing.sm_mhz:
        lines.append(f"multiprocessors at {min(timing.sm_mhz)} to {max(timing.sm_mhz)} MHz")
    return lines


def _wrong_text(wrong: Wrong) -> str:
    if wrong.error is None or wrong.allowed is None:
        return wrong.message
    return f"{wrong.message} (error {error_text(wrong.error)}, allowed {error_text(wrong.allowed)})"
