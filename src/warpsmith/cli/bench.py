"""`warpsmith bench`: an agent over a whole suite, a table with intervals, and what two of them differ in."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import asking, choosing, options, spending
from warpsmith.cli.asking import Manner
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import MEANINGS, ExitCode
from warpsmith.cli.numbers import scale_of
from warpsmith.cli.spending import Caps
from warpsmith.cli.writers import BUILTIN, Prices, Writer, check_writes, probed, writer_of
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.bench.live import Board
    from warpsmith.bench.results import Results
    from warpsmith.bench.run import Order, Ran
    from warpsmith.core import Task

TASK_MINUTES = 15.0
AUDIT_S = 20.0
REFRESH_HZ = 4.0

EXAMPLES = (
    "warpsmith bench kernelbench --dir KernelBench --levels 1,2,3 --policy builtin",
    "warpsmith bench kernelbench --dir KernelBench --run runs/kb --max-minutes 60",
    "warpsmith bench store:synth/clean --policy openai:my-model --base-url http://localhost:8000/v1",
    "warpsmith bench kernelbench --dir KernelBench --tasks '*Softmax*' --device cpu --cap 'batch*=4'",
)
COMPARE_EXAMPLES = ("warpsmith bench compare runs/bench-a runs/bench-b",)


def run(
    *,
    suite: choosing.SuiteArgument,
    dir_: choosing.DirOption = None,
    levels: choosing.LevelsOption = None,
    tasks: choosing.TasksOption = None,
    limit: choosing.LimitOption = None,
    scale: options.ScaleOption = None,
    cap: choosing.CapOption = None,
    mode: choosing.ModeOption = "eval",
    policy: choosing.PolicyOption = BUILTIN,
    run_: choosing.RunOption = None,
    workers: choosing.WorkersOption = None,
    max_minutes: choosing.MaxMinutesOption = None,
    task_minutes: choosing.TaskMinutesOption = TASK_MINUTES,
    max_turns: spending.TurnsOption = None,
    max_usd: spending.UsdOption = None,
    audit_seconds: choosing.AuditOption = AUDIT_S,
    eval_results: choosing.EvalResultsOption = None,
    base_url: asking.BaseUrlOption = None,
    price: asking.PriceOption = None,
    temperature: asking.TemperatureOption = None,
    top_p: asking.TopPOption = None,
    max_reply_tokens: asking.ReplyTokensOption = None,
    seed: asking.SeedOption = None,
    style: asking.StyleOption = None,
    context_tokens: asking.ContextOption = None,
    device: options.DeviceOption = "auto",
    arch: options.ArchOption = None,
    gpu: options.GpuOption = None,
    sandbox: options.SandboxOption = "auto",
    dtype: options.DtypeOption = "own",
    precision: options.PrecisionOption = "reference",
    json: options.JsonOption = False,
) -> ExitCode:
    """Let an agent work on every task of a suite; end with a table that has intervals.

    Each task goes through the loop and the judge of warpsmith optimize. What a task came to is kept in the
    folder as soon as it is known: a bench that was killed goes on where it was, by the same command with
    --run. What fails for us is tried once more, alone, and then counted apart.

    The table says how many passed, how many are more than 5 % faster than eager and than torch.compile, the
    geometric means, and on how many the speed of light leaves no 5 %; all with and without the tasks that
    their audit calls degenerate. On the cpu device times are modelled, and no speed-up is made of them.

    --max-turns, --max-usd and --task-minutes are for each task.
    """
    from warpsmith.agent import Budget
    from warpsmith.agent.runs.spec import RunSpec
    from warpsmith.bench.run import Wish, order_of
    from warpsmith.bench.suite import Choice, Source, chosen, levels_of
    from warpsmith.device import select_device
    from warpsmith.judge import JudgeConfig
    from warpsmith.judge.clock.baselines import keeping_baselines
    from warpsmith.policy import PolicyConfig
    from warpsmith.tasks.caps import Cap
    from warpsmith.toolchain import default_store

    console = Console(is_json=json)
    source = Source.named(suite, dir_)
    choice = Choice(
        levels=() if levels is None else levels_of(levels),
        pattern=tasks,
        limit=limit,
        scale=scale_of(scale),
        caps=tuple(Cap.parsed(text) for text in cap or ()),
    )
    manner = Manner(
        base_url=base_url,
        temperature=temperature,
        top_p=top_p,
        max_reply_tokens=max_reply_tokens,
        seed=seed,
        style=style,
        context_tokens=context_tokens,
    )
    prices = Prices.of_models(tuple(price or ()), (policy,))
    caps = Caps(max_turns=max_turns, max_usd=max_usd, max_minutes=task_minutes)
    chosen_device = select_device(device, arch, gpu)
    judged = _judging(mode, dtype, precision)
    check_writes((policy,), judged)
    found = chosen(source, choice, chosen_device.kind)
    asked = manner.applied(PolicyConfig(gpu=chosen_device.gpu, precision=judged.precision))
    writer = _tried(console, writer_of(policy, asked, prices, needs_price=max_usd is not None))
    spec = RunSpec(
        policy=policy,
        policy_config=writer.config,
        device=chosen_device.kind,
        arch=arch,
        gpu=gpu,
        sandbox=sandbox,
        task=judged,
        budget=caps.applied(Budget()),
        judge=keeping_baselines(JudgeConfig(), default_store().baselines),
    )
    order = order_of(
        Wish(
            suite=source.kind,
            chosen=found,
            choice=choice,
            spec=spec,
            device=chosen_device,
            path=run_,
            num_workers=workers,
            max_s=_seconds(max_minutes),
            audit_s=audit_seconds,
        )
    )
    return _carry_out(console, order, eval_results)


def compare(
    before: Annotated[Path, typer.Argument(metavar="RUN_A", help="A bench's folder.")],
    after: Annotated[Path, typer.Argument(metavar="RUN_B", help="Another's.")],
    json: options.JsonOption = False,
) -> ExitCode:
    """Say what the second bench gained and lost against the first.

    Faster and slower: both passed, and the 95 % intervals of their ratios against eager do not meet. Benches
    of different modes or devices are not compared.
    """
    from warpsmith.bench.comparison import compare as compared
    from warpsmith.bench.folder import read
    from warpsmith.bench.results import comparison_data, side_of
    from warpsmith.bench.tables import comparison_tables

    console = Console(is_json=json)
    first, second = read(before), read(after)
    for damage in (*first.damaged, *second.damaged):
        console.warn(f"{damage}; it is left out")
    found = compared(side_of(first), side_of(second))
    console.say(*comparison_tables(found))
    console.document(
        {
            "command": "bench compare",
            "exit_code": 0,
            "meaning": MEANINGS[ExitCode.OK],
            **comparison_data(found),
        }
    )
    return ExitCode.OK


def _judging(mode: str, dtype: str, precision: str) -> "Task":
    """A task that stands for how all of them are judged."""
    from warpsmith.bench.suite import Mode
    from warpsmith.core import Task
    from warpsmith.tasks import judged_as

    if mode not in tuple(Mode):
        raise UsageError(f"unknown mode {mode!r:.80}; choose one of {', '.join(Mode)}")
    blank = Task(task_id="", source="", provenance="")
    return judged_as(blank, dtype=dtype, precision=precision, is_training=mode == Mode.TRAIN)


def _tried(console: Console, writer: Writer) -> Writer:
    """A policy that cannot be made is told now; one that would compute in this process, by the workers."""
    from warpsmith.agent.attempts.parallel import IN_PROCESS

    found = probed(console, writer)
    if found.spec.partition(":")[0] not in IN_PROCESS:
        found.policy()
    return found


def _seconds(minutes: float | None) -> float | None:
    if minutes is not None and not math.isfinite(minutes):
        raise UsageError(f"--max-minutes takes a number, not {minutes}: it would never bind")
    return None if minutes is None else 60 * minutes


def _carry_out(console: Console, order: "Order", eval_results: Path | None) -> ExitCode:
    """Watched, then summed up."""
    from warpsmith.bench.folder import done_in
    from warpsmith.bench.live import Board
    from warpsmith.bench.results import Results
    from warpsmith.bench.run import run_bench
    from warpsmith.sandbox import pick

    console.warn(pick(order.spec.sandbox).warning)
    for broken in order.plan.broken:
        console.note(f"  no task: {broken.where}: {broken.reason}")
    before = done_in(order.path)
    board = Board(
        num_tasks=len(order.items),
        num_before=sum(item.name.key in before for item in order.items),
        note=console.note,
    )
    console.note(f"{board.status} · {order.num_workers} workers · folder: {order.path}")
    with _drawn(console, board):
        ran = run_bench(order, board)
    return _conclude(console, ran, Results.of(ran.kept), eval_results)


@contextmanager
def _drawn(console: Console, board: "Board") -> Iterator[None]:
    """On a terminal a table in place, below the lines; else the lines alone."""
    if not console.is_live:
        yield
        return
    from rich.live import Live

    with Live(console=console.err, get_renderable=board.table, refresh_per_second=REFRESH_HZ, transient=True):
        yield


def _conclude(console: Console, ran: "Ran", results: "Results", eval_results: Path | None) -> ExitCode:
    from warpsmith.bench.results import write_eval_results
    from warpsmith.bench.tables import TotalsTable, notes

    kept, with_published = ran.kept, results.with_published
    page, document = results.write()
    written = () if eval_results is None else write_eval_results(eval_results, kept.records, kept.plan.device)
    for damage in kept.damaged:
        console.warn(f"{damage}; the task will be done again")
    console.say(TotalsTable(results.lines, with_published=with_published))
    console.say(*notes(kept.plan, results.lines, with_published=with_published))
    console.say(f"page: {page}", f"document: {document}", *(f"for KernelBench: {file}" for file in written))
    console.say(*_going_on(ran))
    code = _code(ran)
    meaning = MEANINGS[code] if code is not ExitCode.INTERRUPTED else "interrupted; what is done is kept"
    console.document({"command": "bench", "exit_code": int(code), "meaning": meaning, **results.data()})
    return code


def _going_on(ran: "Ran") -> tuple[str, ...]:
    ending = ran.ending
    if not ending.num_left:
        return ()
    why = "interrupted" if ending.is_interrupted else "out of time"
    return (
        f"{why}: {ending.num_left} tasks are left; the same command with --run {ran.kept.folder} goes on",
    )


def _code(ran: "Ran") -> ExitCode:
    """What the policy achieved is in the table; the code says whether the bench itself went well."""
    from warpsmith.bench.record import Fate

    if ran.ending.is_interrupted:
        return ExitCode.INTERRUPTED
    records = ran.kept.records
    is_ours = bool(records) and all(record.fate is Fate.OURS for record in records)
    return ExitCode.ENVIRONMENT if is_ours else ExitCode.OK
