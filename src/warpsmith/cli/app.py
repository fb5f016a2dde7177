"""All commands in one table, and how a command line becomes an exit code."""

import os
from collections.abc import Callable, Sequence

import typer
from typer.main import get_command

from warpsmith import __version__
from warpsmith.cli import (
    again,
    audit,
    bench,
    build,
    demonstrate,
    docs,
    doctor,
    evaluate,
    notes,
    optimize,
    profile,
    redteam,
    rollout,
    runs,
    skills,
    synth,
    tasks,
    train,
    verify,
)
from warpsmith.cli.console import Console
from warpsmith.cli.errors import HANDLED, report
from warpsmith.cli.exit_codes import ExitCode, epilog

NAME = "warpsmith"
COMPLETION = "_WARPSMITH_COMPLETE"  # set by the shell that asks for completions


def unwrapped(docstring: str) -> str:
    """Its paragraphs, a line each: the terminal's width decides where they break."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in docstring.split("\n\n"))


app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=epilog(),
    context_settings={"help_option_names": ["-h", "--help"]},
)
runs_app = typer.Typer(
    no_args_is_help=True,
    help="List earlier runs, show or compare them, or take one up again.",
    epilog=epilog(),
)
app.add_typer(runs_app, name="runs")
synth_app = typer.Typer(
    no_args_is_help=True,
    help="Make tasks: crawl, compose, filter, decontaminate, report; skills.",
    epilog=epilog(),
)
app.add_typer(synth_app, name="synth")
tasks_app = typer.Typer(no_args_is_help=True, help="Read and write sets of tasks.", epilog=epilog())
app.add_typer(tasks_app, name="tasks")
bench_app = typer.Typer(
    cls=bench.BenchGroup,
    no_args_is_help=True,
    help="Let an agent work on a whole suite of tasks, or compare two such benches.",
    epilog=epilog(bench.EXAMPLES),
)
app.add_typer(bench_app, name="bench")
docs_app = typer.Typer(
    no_args_is_help=True,
    help="Search notes on CUDA, your own documents, and what runs have taught.",
    epilog=epilog(),
)
app.add_typer(docs_app, name="docs")
eval_app = typer.Typer(
    cls=bench.BenchGroup,
    no_args_is_help=True,
    help="Say how good a policy is on a suite, or hold two checkpoints against each other.",
    epilog=epilog(evaluate.EXAMPLES),
)
app.add_typer(eval_app, name="eval")
train_app = typer.Typer(
    no_args_is_help=True,
    help="Train a policy: recipes, collect, sft, value, ppo, grpo, pipeline, curves, toy.",
    epilog=epilog(),
)
app.add_typer(train_app, name="train")

COMMANDS: tuple[tuple[typer.Typer, str, Callable[..., ExitCode], tuple[str, ...]], ...] = (
    (app, "optimize", optimize.optimize, optimize.EXAMPLES),
    (app, "verify", verify.verify, verify.EXAMPLES),
    (app, "build", build.build, build.EXAMPLES),
    (app, "audit", audit.audit, audit.EXAMPLES),
    (app, "profile", profile.profile, profile.EXAMPLES),
    (app, "doctor", doctor.doctor, doctor.EXAMPLES),
    (app, "redteam", redteam.redteam, redteam.EXAMPLES),
    (app, "demonstrate", demonstrate.demonstrate, demonstrate.EXAMPLES),
    (app, "rollout", rollout.rollout, rollout.EXAMPLES),
    (eval_app, "run", evaluate.evaluate, evaluate.EXAMPLES),
    (eval_app, "compare", evaluate.compare, evaluate.COMPARE_EXAMPLES),
    (runs_app, "list", runs.list_, runs.LIST_EXAMPLES),
    (runs_app, "show", runs.show, runs.SHOW_EXAMPLES),
    (runs_app, "diff", runs.diff, runs.DIFF_EXAMPLES),
    (runs_app, "resume", again.resume, again.RESUME_EXAMPLES),
    (runs_app, "fork", again.fork, again.FORK_EXAMPLES),
    (synth_app, "crawl", synth.crawl.crawl, synth.crawl.EXAMPLES),
    (synth_app, "compose", synth.compose.compose, synth.compose.EXAMPLES),
    (synth_app, "filter", synth.filter.filter_, synth.filter.EXAMPLES),
    (synth_app, "decontaminate", synth.decontaminate.decontaminate, synth.decontaminate.EXAMPLES),
    (synth_app, "report", synth.report.report, synth.report.EXAMPLES),
    (synth_app, "skills", skills.skills, skills.EXAMPLES),
    (tasks_app, "import", tasks.import_, tasks.IMPORT_EXAMPLES),
    (tasks_app, "export", tasks.export, tasks.EXPORT_EXAMPLES),
    (tasks_app, "sample", tasks.sample, tasks.SAMPLE_EXAMPLES),
    (bench_app, "run", bench.run, bench.EXAMPLES),
    (bench_app, "compare", bench.compare, bench.COMPARE_EXAMPLES),
    (docs_app, "add", docs.add, docs.ADD_EXAMPLES),
    (docs_app, "search", docs.search, docs.SEARCH_EXAMPLES),
    (docs_app, "list", docs.list_, docs.LIST_EXAMPLES),
    (docs_app, "remove", docs.remove, docs.REMOVE_EXAMPLES),
    (docs_app, "propose", notes.propose, notes.PROPOSE_EXAMPLES),
    (docs_app, "proposals", notes.proposals, notes.PROPOSALS_EXAMPLES),
    (docs_app, "accept", notes.accept, notes.ACCEPT_EXAMPLES),
    (docs_app, "reject", notes.reject, notes.REJECT_EXAMPLES),
    (train_app, "recipes", train.listing.recipes, train.listing.EXAMPLES),
    (train_app, "curves", train.curves.curves, train.curves.EXAMPLES),
    (train_app, "pipeline", train.staged.pipeline, train.staged.EXAMPLES),
    (train_app, "toy", train.toy.toy, train.toy.EXAMPLES),
    (train_app, "collect", train.recorded.collect, train.recorded.COLLECT_EXAMPLES),
    (train_app, "sft", train.recorded.sft, train.recorded.SFT_EXAMPLES),
    (train_app, "value", train.recorded.value, train.recorded.VALUE_EXAMPLES),
    (train_app, "ppo", train.acted.ppo, train.acted.PPO_EXAMPLES),
    (train_app, "grpo", train.acted.grpo, train.acted.GRPO_EXAMPLES),
)
for group, name, verb, examples in COMMANDS:
    group.command(name, help=unwrapped(verb.__doc__ or ""), epilog=epilog(examples))(verb)


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    """Turn a PyTorch module into a CUDA program that is proven correct and measured faster.

    Start with: warpsmith doctor, then warpsmith optimize TASK.
    """
    if show:
        print(f"{NAME} {__version__}")
        raise typer.Exit


def run(arguments: Sequence[str]) -> int:
    """Do what a command line says; every failure that has a remedy becomes a line and an exit code."""
    command = get_command(app)
    if COMPLETION in os.environ:
        command.main(prog_name=NAME)
    try:
        with command.make_context(NAME, list(arguments)) as context:
            return int(command.invoke(context) or 0)
    except typer.Exit as ended:
        return ended.exit_code
    except HANDLED as error:
        return report(error, Console(is_json="--json" in arguments))
