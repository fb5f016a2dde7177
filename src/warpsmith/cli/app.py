"""All commands in one table, and how a command line becomes an exit code.

The verbs of a group are imported when that group is asked for: `warpsmith --help` tells groups, not verbs.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import typer
from typer.core import TyperGroup
from typer.main import get_command

from warpsmith import __version__
from warpsmith.cli import audit, build, demonstrate, doctor, optimize, profile, redteam, rollout, verify
from warpsmith.cli.console import Console
from warpsmith.cli.errors import HANDLED, report
from warpsmith.cli.exit_codes import ExitCode, epilog
from warpsmith.cli.suite_group import SuiteGroup

NAME = "warpsmith"
COMPLETION = "_WARPSMITH_COMPLETE"  # set by the shell that asks for completions

Verbs = tuple[tuple[str, Callable[..., ExitCode], tuple[str, ...]], ...]  # name, function, examples

VERBS: Verbs = (
    ("optimize", optimize.optimize, optimize.EXAMPLES),
    ("verify", verify.verify, verify.EXAMPLES),
    ("build", build.build, build.EXAMPLES),
    ("audit", audit.audit, audit.EXAMPLES),
    ("profile", profile.profile, profile.EXAMPLES),
    ("doctor", doctor.doctor, doctor.EXAMPLES),
    ("redteam", redteam.redteam, redteam.EXAMPLES),
    ("demonstrate", demonstrate.demonstrate, demonstrate.EXAMPLES),
    ("rollout", rollout.rollout, rollout.EXAMPLES),
)


def _of_runs() -> Verbs:
    from warpsmith.cli import again, runs

    return (
        ("list", runs.list_, runs.LIST_EXAMPLES),
        ("show", runs.show, runs.SHOW_EXAMPLES),
        ("diff", runs.diff, runs.DIFF_EXAMPLES),
        ("resume", again.resume, again.RESUME_EXAMPLES),
        ("fork", again.fork, again.FORK_EXAMPLES),
    )


def _of_synth() -> Verbs:
    from warpsmith.cli import skills, synth

    return (
        ("crawl", synth.crawl.crawl, synth.crawl.EXAMPLES),
        ("compose", synth.compose.compose, synth.compose.EXAMPLES),
        ("filter", synth.filter.filter_, synth.filter.EXAMPLES),
        ("decontaminate", synth.decontaminate.decontaminate, synth.decontaminate.EXAMPLES),
        ("report", synth.report.report, synth.report.EXAMPLES),
        ("skills", skills.skills, skills.EXAMPLES),
    )


def _of_tasks() -> Verbs:
    from warpsmith.cli import tasks

    return (
        ("import", tasks.import_, tasks.IMPORT_EXAMPLES),
        ("export", tasks.export, tasks.EXPORT_EXAMPLES),
        ("sample", tasks.sample, tasks.SAMPLE_EXAMPLES),
    )


def _of_bench() -> Verbs:
    from warpsmith.cli import bench

    return (
        ("run", bench.run, bench.EXAMPLES),
        ("compare", bench.compare, bench.COMPARE_EXAMPLES),
    )


def _of_docs() -> Verbs:
    from warpsmith.cli import docs, notes

    return (
        ("add", docs.add, docs.ADD_EXAMPLES),
        ("search", docs.search, docs.SEARCH_EXAMPLES),
        ("list", docs.list_, docs.LIST_EXAMPLES),
        ("remove", docs.remove, docs.REMOVE_EXAMPLES),
        ("propose", notes.propose, notes.PROPOSE_EXAMPLES),
        ("proposals", notes.proposals, notes.PROPOSALS_EXAMPLES),
        ("accept", notes.accept, notes.ACCEPT_EXAMPLES),
        ("reject", notes.reject, notes.REJECT_EXAMPLES),
    )


def _of_eval() -> Verbs:
    from warpsmith.cli import evaluate

    return (
        ("run", evaluate.evaluate, evaluate.EXAMPLES),
        ("compare", evaluate.compare, evaluate.COMPARE_EXAMPLES),
    )


def _of_train() -> Verbs:
    from warpsmith.cli import train

    return (
        ("recipes", train.listing.recipes, train.listing.EXAMPLES),
        ("curves", train.curves.curves, train.curves.EXAMPLES),
        ("pipeline", train.staged.pipeline, train.staged.EXAMPLES),
        ("toy", train.toy.toy, train.toy.EXAMPLES),
        ("collect", train.recorded.collect, train.recorded.COLLECT_EXAMPLES),
        ("sft", train.recorded.sft, train.recorded.SFT_EXAMPLES),
        ("value", train.recorded.value, train.recorded.VALUE_EXAMPLES),
        ("ppo", train.acted.ppo, train.acted.PPO_EXAMPLES),
        ("grpo", train.acted.grpo, train.acted.GRPO_EXAMPLES),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Verbs with a first word in common."""

    help: str
    verbs: Callable[[], Verbs]
    kind: type[TyperGroup] = TyperGroup


GROUPS = {
    "runs": Group(help="List earlier runs, show or compare them, or take one up again.", verbs=_of_runs),
    "synth": Group(
        help="Make tasks: crawl, compose, filter, decontaminate, report; skills.", verbs=_of_synth
    ),
    "tasks": Group(help="Read and write sets of tasks.", verbs=_of_tasks),
    "bench": Group(
        help="Let an agent work on a whole suite of tasks, or compare two such benches.",
        verbs=_of_bench,
        kind=SuiteGroup,
    ),
    "docs": Group(
        help="Search notes on CUDA, your own documents, and what runs have taught.", verbs=_of_docs
    ),
    "eval": Group(
        help="Say how good a policy is on a suite, or hold two checkpoints against each other.",
        verbs=_of_eval,
        kind=SuiteGroup,
    ),
    "train": Group(
        help="Train a policy: recipes, collect, sft, value, ppo, grpo, pipeline, curves, toy.",
        verbs=_of_train,
    ),
}


def unwrapped(docstring: str) -> str:
    """Its paragraphs, a line each: the terminal's width decides where they break."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in docstring.split("\n\n"))


def version(
    show: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    """Turn a PyTorch module into a CUDA program that is proven correct and measured faster.

    Start with: warpsmith doctor, then warpsmith optimize TASK.
    """
    if show:
        print(f"{NAME} {__version__}")
        raise typer.Exit


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """All commands, but of groups only the verbs that a command line, or a shell's completion, asks for."""
    app = typer.Typer(
        name=NAME,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        epilog=epilog(),
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(version)
    _take(app, VERBS)
    for name, group in GROUPS.items():
        is_asked = name in arguments or COMPLETION in os.environ
        verbs = group.verbs() if is_asked else ()
        # What may be left out after a group's name stands for its first verb, whose examples are the group's.
        examples = verbs[0][2] if verbs and group.kind is SuiteGroup else ()
        part = typer.Typer(cls=group.kind, no_args_is_help=True, help=group.help, epilog=epilog(examples))
        _take(part, verbs)
        app.add_typer(part, name=name)
    return app


def _take(app: typer.Typer, verbs: Verbs) -> None:
    for name, verb, examples in verbs:
        app.command(name, help=unwrapped(verb.__doc__ or ""), epilog=epilog(examples))(verb)


def run(arguments: Sequence[str]) -> int:
    """Do what a command line says; every failure that has a remedy becomes a line and an exit code."""
    command = get_command(app_for(arguments))
    if COMPLETION in os.environ:
        command.main(prog_name=NAME)
    try:
        with command.make_context(NAME, list(arguments)) as context:
            return int(command.invoke(context) or 0)
    except typer.Exit as ended:
        return ended.exit_code
    except HANDLED as error:
        return report(error, Console(is_json="--json" in arguments))
