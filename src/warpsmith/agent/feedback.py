"""A verdict as text for whoever wrote the program: what came out, the evidence, and where to look next."""

import re

from warpsmith.core import (
    BuildFailed,
    Crashed,
    Implausible,
    KernelResources,
    NotRunnable,
    Passed,
    Provenance,
    Ratio,
    Rejected,
    TimedOut,
    Timing,
    Verdict,
    Wrong,
)
from warpsmith.toolchain import Build

GOAL = 0.05
"""How much faster than torch.compile a program shall be."""

LAUNCH_US = 3.0
"""About what one kernel launch costs; work below that is not worth tuning."""

MAX_LOG = 4_000

WRONG_HINTS = {
    "structure": "Return the same nesting, shapes, dtypes and device as Model.forward.",
    "values": "Check index arithmetic, the tail of rows that are no multiple of the block, a missing "
    "__syncthreads(), uninitialized sums, and arithmetic coarser than fp32.",
    "inputs changed": "forward must not touch its inputs: write into a new tensor (torch.empty_like).",
    "parameters changed": "forward must leave parameters and buffers as they are.",
    "weights": "ModelNew needs Model's parameter and buffer names and shapes: its state_dict is copied.",
}

LOG_HINTS = {  # the first that is found in the log -> what to do
    r"no launcher|No launcher": 'Export one: extern "C" void name(const float*, …, cudaStream_t stream).',
    r"undefined (symbol|reference)": 'A function is declared but not defined, or lacks extern "C".',
    r"identifier .* is undefined|was not declared": "Include its header, or declare it before its use.",
    r"No such file|could not open source file": "Quote a header by its path from the file that includes it.",
    r"has no attribute": 'Call a launcher by its extern "C" name; compile lists those found.',
    r"must be a contiguous tensor": "Make it contiguous in forward, or pass the tensor that is expected.",
    r"Error\(s\) in loading state_dict|Missing key|Unexpected key": WRONG_HINTS["weights"],
    r"too many resources|invalid configuration": "The block is too large for its registers or shared memory.",
    r"illegal memory access|out of bounds|misaligned": "Check every index, and the alignment of float4.",
}

TIME_HINT = (
    "Look for a loop without end, a __syncthreads() that not all threads reach, or far too large a grid."
)


def verdict_text(verdict: Verdict) -> str:
    """What the judge says, with evidence and one hint."""
    hint = None
    match verdict:
        case Passed():
            text = "\n".join(_passed_lines(verdict))
        case Wrong(what=what, message=message):
            text, hint = f"Wrong ({what}): {message}{_error_text(verdict)}", WRONG_HINTS.get(what)
        case BuildFailed(log=log) | Crashed(log=log):
            how = f"Crashed ({verdict.stage})" if isinstance(verdict, Crashed) else "Does not compile"
            text, hint = f"{how}:\n{_log(log)}", _log_hint(log)
        case TimedOut(stage=stage, limit_s=limit_s):
            text, hint = f"Timed out ({stage}): did not end within {limit_s:g} s.", TIME_HINT
        case Rejected(rule=rule, where=where, message=message):
            text = f"Rejected by the rule {rule} at {where}: {message}"
        case NotRunnable(device=device, reason=reason):
            text, hint = (
                f"Not runnable on {device}: {reason}",
                "To be judged here, a program must do without it.",
            )
        case Implausible(message=message):
            text = f"Right, but its time is refused: {message}"
    return text if hint is None else f"{text}\nhint: {hint}"


def build_text(build: Build) -> str:
    """A successful build: what can be called, and what it takes of the GPU."""
    how = "kept from before" if build.is_cached else f"{build.wall_s:.1f} s"
    launchers = [
        f"  cuda_extension.{launcher.name}({', '.join(parameter.name for parameter in launcher.parameters)})"
        for launcher in build.launchers
    ]
    warnings = [line for line in build.log.splitlines() if "warning" in line.lower()][:10]
    lines = [f"compiled ({how})", "launchers:" if launchers else "no launchers", *launchers]
    return "\n".join([*lines, *_resource_lines(build.resources), *warnings])


def _passed_lines(passed: Passed) -> list[str]:
    accuracy = passed.accuracy
    truth = "float64" if accuracy.has_truth else "the reference"
    lines = [
        f"Correct: largest error {accuracy.error:.3g} against {truth}; {accuracy.allowed:.3g} is allowed, "
        f"the reference itself has {accuracy.reference_error:.3g}."
    ]
    if passed.timing is not None:
        lines += _timing_lines(passed.timing)
    lines += _resource_lines(passed.resources)
    if passed.timing is not None:
        lines += [f"hint: {hint}" for hint in _speed_hints(passed)]
    return lines


def _timing_lines(timing: Timing) -> list[str]:
    is_measured = timing.provenance is Provenance.MEASURED
    how = f"Measured on {timing.gpu}" if is_measured else f"Modelled for {timing.gpu} (no GPU was used)"
    compiled = "failed" if timing.compile is None else f"{timing.compile.median_us:.1f} us"
    lines = [
        f"{how}: candidate {timing.candidate.median_us:.1f} us, eager {timing.eager.median_us:.1f} us, "
        f"torch.compile {compiled}.",
        f"eager / candidate = {_ratio(timing.against_eager, is_measured=is_measured)}",
    ]
    if timing.against_compile is not None:
        ratio = timing.against_compile
        reached = "reached" if ratio.low > 1 + GOAL else "not reached"
        lines.append(
            f"torch.compile / candidate = {_ratio(ratio, is_measured=is_measured)}; {1 + GOAL:g} is {reached}"
        )
    launches = "" if timing.num_launches is None else f"; {timing.num_launches} launches a call"
    return [
        *lines,
        f"floor {timing.floor_us:.1f} us, candidate at {timing.times_floor:.2f} times that{launches}",
    ]


def _ratio(ratio: Ratio, *, is_measured: bool) -> str:
    if not is_measured:
        return f"{ratio.centre:.3f} (modelled)"
    return f"{ratio.centre:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"


def _resource_lines(resources: tuple[KernelResources, ...]) -> list[str]:
    return [
        f"  kernel {r.kernel} ({r.arch}): {r.registers} registers, {r.spill_bytes} bytes spilled, "
        f"{r.shared_bytes} bytes shared"
        for r in resources
    ]


def _speed_hints(passed: Passed) -> list[str]:
    """At most one: the first that applies is the one that matters most."""
    timing = passed.timing
    if timing is None:
        return []
    launches = timing.num_launches or 1
    hints = (
        (
            any(r.spill_bytes for r in passed.resources),
            "registers spill: fewer values a thread, or smaller tiles",
        ),
        (
            timing.floor_us < LAUNCH_US and launches == 1,
            "one launch costs more than the work; little is left",
        ),
        (launches > 1 and timing.times_floor > 1.2, "fuse launches: each pass reads memory again"),
        (
            timing.times_floor > 1.5,
            "far from the floor: wider loads (float4), more bytes in flight, more blocks",
        ),
        (timing.times_floor <= 1.1, "at the floor: little is left to gain"),
    )
    return next(([text] for applies, text in hints if applies), [])


def _error_text(wrong: Wrong) -> str:
    if wrong.error is None or wrong.allowed is None:
        return ""
    return f"\nerror {wrong.error:.3g}, allowed {wrong.allowed:.3g}"


def _log(log: str) -> str:
    """The first errors matter most, and the last lines say how it ended."""
    text = log.strip() or "(no message)"
    if len(text) <= MAX_LOG:
        return text
    return f"{text[: MAX_LOG * 3 // 4]}\n[...]\n{text[-MAX_LOG // 4 :]}"


def _log_hint(log: str) -> str | None:
    return next((hint for pattern, hint in LOG_HINTS.items() if re.search(pattern, log)), None)
