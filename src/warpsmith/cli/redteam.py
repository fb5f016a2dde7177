"""`warpsmith redteam`: does this installation catch every cheat and pass every honest program?"""

from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from warpsmith.redteam import Bench, Case, Outcome

EXAMPLES = (
    "warpsmith redteam",
    "warpsmith redteam --only 'cache-*' --device cpu",
    "warpsmith redteam --runs 3 --markdown README.md",
    "warpsmith redteam --case my_cheat.md --json",
)


def redteam(
    *,
    only: Annotated[
        str | None,
        typer.Option(
            "--only", metavar="PATTERN", help="Only cases of such a name: a part of it, or 'cache-*'."
        ),
    ] = None,
    case: Annotated[
        list[Path] | None,
        typer.Option("--case", metavar="FILE", help="This case instead of the corpus; may be given again."),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, help="How often the cases are judged.")] = 1,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="FILE",
            help="Put the table into this file, between its two marker comments.",
        ),
    ] = None,
    device: options.DeviceOption = "auto",
    arch: options.ArchOption = None,
    gpu: options.GpuOption = None,
    sandbox: options.SandboxOption = "auto",
    json: options.JsonOption = False,
) -> ExitCode:
    """Try every known cheat and every honest control against this installation.

    The corpus holds programs that try to get a verdict they have not earned, and honest ones that look odd.
    Each cheat must be caught by a gate that its file names, each honest one must pass. Exit code 1 if not.
    What this device cannot run, or was not written for it, is counted apart.
    """
    from warpsmith.device import select_device
    from warpsmith.redteam import Bench, corpus, read_case
    from warpsmith.report.redteam import family_table, replace_table
    from warpsmith.sandbox import pick
    from warpsmith.toolchain import Toolchain, default_store

    console = Console(is_json=json)
    cases = _chosen(tuple(read_case(path) for path in case) if case else corpus(), only)
    page = "" if markdown is None else _page(markdown)
    chosen, picked = select_device(device, arch, gpu), pick(sandbox)
    console.warn(picked.warning)
    bench = Bench(device=chosen, sandbox=picked, toolchain=Toolchain(chosen, default_store(), picked))
    outcomes = _judged(console, cases * runs, bench)
    if markdown is not None:
        table = family_table(outcomes, f"{chosen.name}, {picked.name}")
        markdown.write_text(replace_table(page, table), encoding="utf-8")
    return _conclude(
        console, outcomes, {"device": chosen.kind, "device_name": chosen.name, "sandbox": picked.name}
    )


def _page(path: Path) -> str:
    """The text that the table goes into. Raises UsageError now, not after a long run, if it cannot."""
    from warpsmith.core import UsageError
    from warpsmith.report.redteam import replace_table

    try:
        page = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    replace_table(page, "")
    return page


def _chosen(cases: "tuple[Case, ...]", only: str | None) -> "tuple[Case, ...]":
    from warpsmith.core import UsageError

    if only is None:
        return cases
    found = tuple(case for case in cases if only in case.name or fnmatch(case.name, only))
    if not found:
        raise UsageError(f"no case is named like {only!r}; their names are those of the corpus' files")
    return found


def _judged(console: Console, cases: "tuple[Case, ...]", bench: "Bench") -> "list[Outcome]":
    from warpsmith.redteam import outcomes
    from warpsmith.report.redteam import state_text

    found: list[Outcome] = []
    for outcome in outcomes(cases, bench):
        found.append(outcome)
        line = f"{len(found):>4}/{len(cases)}  {outcome.case.name}: {state_text(outcome)}"
        console.note(f"{line} ({outcome.wall_s:.1f} s)")
    return found


def _conclude(console: Console, outcomes: "list[Outcome]", facts: dict[str, str]) -> ExitCode:
    from warpsmith.report.redteam import Summary, evidence, outcome_data, outcomes_table

    summary = Summary.of(outcomes)
    code = ExitCode.BUG if summary.num_unexpected else ExitCode.OK
    unexpected = [evidence(outcome) for outcome in outcomes if not outcome.is_as_expected]
    console.say(outcomes_table(outcomes), *unexpected, summary.text)
    console.document(
        {
            "command": "redteam",
            "exit_code": int(code),
            "meaning": summary.text,
            **facts,
            "summary": summary,
            "outcomes": [outcome_data(outcome) for outcome in outcomes],
        }
    )
    return code
