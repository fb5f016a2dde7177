"""The README of a run folder: what the program replaces, how to use it, what it does, and the evidence."""

from collections.abc import Iterator

from warpsmith.agent.runs.ledger import LEDGER
from warpsmith.agent.runs.record import BLOBS, LOGS, TASK, TRAJECTORY, VERDICT, WORKSPACE
from warpsmith.core import Candidate, Cost, Passed, Provenance, Timing, Verdict
from warpsmith.core.candidate import MODULE
from warpsmith.report.figures import (
    NOTHING,
    bytes_text,
    error_text,
    floor_text,
    seconds_text,
    speedup_text,
    time_text,
    timing_text,
    usd_text,
)
from warpsmith.report.kernels import kernel_files
from warpsmith.report.markdown import code, escaped, fenced, quoted, table
from warpsmith.report.runs import Run
from warpsmith.report.verdicts import evidence_text, verdict_text
from warpsmith.toolchain.extension import LIBRARY
from warpsmith.toolchain.extension import MODULE as EXTENSION


def readme(run: Run, candidate: Candidate | None) -> str:
    """The whole text. `candidate` is the program in the folder; None if nothing was found."""
    verdict = run.verdict
    parts = _nothing_found(run) if candidate is None or verdict is None else _found(run, candidate, verdict)
    return "\n\n".join(parts) + "\n"


def _found(run: Run, candidate: Candidate, verdict: Verdict) -> Iterator[str]:
    yield f"# {escaped(run.started.task_id)}: {escaped(verdict_text(verdict))}"
    yield (
        f"{code(MODULE)} defines `ModelNew`, a replacement for `Model` in {code(TASK)} "
        f"({escaped(run.started.provenance)}{_scale(run)}): same constructor, same parameter names, "
        f"so that a `state_dict` of one loads into the other. It was written by warpsmith "
        f"({escaped(run.started.policy)} policy) and judged on {escaped(run.started.device)}."
    )
    yield from _times(verdict)
    yield from _use(run)
    yield from _kernels(candidate, verdict)
    yield from _evidence(verdict)
    yield from _again(run)
    yield from _files(has_program=True)


def _nothing_found(run: Run) -> Iterator[str]:
    yield f"# {escaped(run.started.task_id)}: nothing correct found"
    stop = "it was cut short" if run.outcome is None or run.outcome.stop is None else run.outcome.stop.value
    yield (
        f"No program that computes what `Model` in {code(TASK)} does was found (why it ended: {stop}). "
        f"What was tried, and what came of it, is in {code(TRAJECTORY)}; "
        f"`warpsmith runs show` on this folder prints it."
    )
    yield from _files(has_program=False)


def _scale(run: Run) -> str:
    return "" if run.started.scale == 1.0 else f", at scale {run.started.scale:g}"


def _times(verdict: Verdict) -> Iterator[str]:
    timing = verdict.timing if isinstance(verdict, Passed) else None
    if timing is None:
        return
    yield "## Times"
    rows = [
        (
            "eager PyTorch",
            timing_text(timing, timing.eager.median_us),
            speedup_text(timing, timing.against_eager),
        ),
        ("torch.compile", *_compile_cells(timing)),
        ("this program", timing_text(timing, timing.candidate.median_us), ""),
        ("speed of light (computed)", time_text(timing.floor_us), ""),
    ]
    yield table(("program", "time a call", "its time over ours"), rows)
    yield f"{_provenance(timing)} Time over the speed of light: {floor_text(timing)}."
    if timing.num_launches is not None:
        yield f"Kernels launched a call: {timing.num_launches}."


def _compile_cells(timing: Timing) -> tuple[str, str]:
    if timing.compile is None:
        return "does not work on this model", NOTHING
    return timing_text(timing, timing.compile.median_us), speedup_text(timing, timing.against_compile)


def _provenance(timing: Timing) -> str:
    if timing.provenance is Provenance.MODELLED:
        return (
            f"These times are **modelled**, not measured: bytes moved, launches and arithmetic against the "
            f"peaks of {escaped(timing.gpu)}. They are no promise of a speed-up; run `warpsmith verify` on a "
            f"GPU to measure one."
        )
    rounds = len(timing.candidate.samples_us)
    return (
        f"Measured on {escaped(timing.gpu)}: medians of {rounds} rounds in which the programs take turns, "
        f"with a cold L2 cache; ratios with their 95 % interval (bootstrap over rounds). All samples are in "
        f"{code(VERDICT)}."
    )


def _use(run: Run) -> Iterator[str]:
    is_cuda = run.started.environment.get("device") == "cuda"
    to_device = ".cuda()" if is_cuda else ""
    inputs = "*(x.cuda() for x in get_inputs())" if is_cuda else "*get_inputs()"
    arch = run.started.environment.get("arch", "the architecture in verdict.json")
    built = f"an NVIDIA GPU ({arch})" if is_cuda else "the CPU stand-in, not for a GPU"
    example = (
        "import torch\n"
        "from model_new import ModelNew\n"
        "from task import Model, get_init_inputs, get_inputs\n\n"
        f"reference = Model(*get_init_inputs()){to_device}.eval()\n"
        f"model = ModelNew(*get_init_inputs()){to_device}.eval()\n"
        "model.load_state_dict(reference.state_dict())\n"
        "with torch.no_grad():\n"
        f"    output = model({inputs})"
    )
    yield "## Use"
    yield "With this folder as the current one, or on `PYTHONPATH`:"
    yield fenced(example, "python")
    yield (
        f"{code(MODULE)} imports {code(EXTENSION)}, which loads {code(LIBRARY)}; both lie beside it and are "
        f"generated from `kernels/`. They were built for {escaped(built)}. "
        f"After a change, or for another machine, build them again:"
    )
    yield fenced(
        "warpsmith build .                      # for this machine's GPU; without one, for the CPU\n"
        "warpsmith build . --device cuda         # for a GPU; --arch sm_80 for another one than yours",
        "sh",
    )
    yield "The program computes the forward pass; it has no backward."


def _kernels(candidate: Candidate, verdict: Verdict) -> Iterator[str]:
    files = kernel_files(candidate)
    if files:
        yield "## What each kernel does"
    for file in files:
        names = ", ".join(code(name) for name in file.kernels) or "no kernel of its own: library calls"
        yield f"### {code(file.path)}\n\n{names}"
        yield quoted(file.summary) if file.summary else "Its author left no comment."
    if isinstance(verdict, Passed) and verdict.resources:
        yield "What the compiler reports:"
        header = ("kernel", "arch", "registers", "spills", "shared memory", "stack")
        rows = [
            (
                code(kernel.kernel),
                kernel.arch,
                str(kernel.registers),
                *map(bytes_text, (kernel.spill_bytes, kernel.shared_bytes, kernel.stack_bytes)),
            )
            for kernel in verdict.resources
        ]
        yield table(header, rows)


def _evidence(verdict: Verdict) -> Iterator[str]:
    yield "## Is it right"
    if not isinstance(verdict, Passed):
        yield f"The verdict is {escaped(verdict_text(verdict))}:"
        yield fenced(evidence_text(verdict))
        return
    accuracy = verdict.accuracy
    truth = (
        "the same computation in float64"
        if accuracy.has_truth
        else "the reference (no float64 truth could be had)"
    )
    rows = [
        ("this program", error_text(accuracy.error)),
        ("the reference itself", error_text(accuracy.reference_error)),
        ("allowed", error_text(accuracy.allowed)),
    ]
    yield (
        f"Run on inputs made from secret seeds, in a process of its own, and compared with {truth}. "
        f"An element's error is its distance from the truth over (|truth| + the root mean square of its row):"
    )
    yield table(("", "largest error"), rows)


def _again(run: Run) -> Iterator[str]:
    device = run.started.environment.get("device", "auto")
    yield "## Check it again"
    yield fenced(f"warpsmith verify {TASK} . --device {device}", "sh")
    yield "Everything that the verdict depends on:"
    facts = dict(run.started.environment)
    if run.outcome is not None:
        facts |= {
            "task digest": run.outcome.task_digest,
            "program digest": run.outcome.candidate_digest or NOTHING,
        }
        facts |= _spent(run.outcome.cost)
    if run.forked is not None:
        facts |= {"forked from": f"{run.forked.parent}, after turn {run.forked.turn}"}
    yield table(("what", "value"), [(escaped(name), escaped(str(value))) for name, value in facts.items()])


def _spent(cost: Cost) -> dict[str, str]:
    """What was not spent is not named."""
    facts = {"time spent": seconds_text(cost.wall_s)}
    if cost.prompt_tokens or cost.completion_tokens:
        facts["tokens"] = f"{cost.prompt_tokens:,} read, {cost.completion_tokens:,} written"
    return facts | ({"USD": usd_text(cost.usd)} if cost.usd else {})


def _files(*, has_program: bool) -> Iterator[str]:
    program = [
        (code(MODULE), "the module, with `ModelNew`"),
        (code("kernels/"), "its CUDA sources"),
        (f"{code(EXTENSION)}, {code(LIBRARY)}", "generated by `warpsmith build`; need not be committed"),
    ]
    record = [
        (code(TASK), "the reference, exactly as it was judged"),
        (code(VERDICT), "the verdict with all samples"),
        (code(TRAJECTORY), "every message, tool call and result, a line each"),
        (code(LEDGER), "what was spent, a line a turn"),
        (code(f"{LOGS}/"), "what compilers and failed programs said"),
        (code(f"{WORKSPACE}/"), "where the policy worked, as it left it"),
        (code(f"{BLOBS}/"), "its texts after each turn: `warpsmith runs fork` goes on from any of them"),
    ]
    yield "## Files"
    yield table(("file", "what it is"), [*(program if has_program else ()), *record])
