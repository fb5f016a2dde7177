"""`warpsmith docs propose|proposals|accept|reject`: what runs have taught, until a person lets it be told."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.core import Task

MAX_TOLD = 20  # runs that gave no note, each with its reason

PROPOSE_EXAMPLES = (
    "warpsmith docs propose runs --against kernelbench=KernelBench",
    "warpsmith docs propose runs/2030-01-31-rmsnorm_gelu-1 --model openai:gpt-5.2",
)


def propose(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Runs, or folders of them.")],
    *,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SUITE=PATH",
            help="No note of a task that is alike to one of this benchmark: kernelbench, ops6k or jsonl. "
            "Repeatable.",
        ),
    ] = None,
    margin: Annotated[
        float, typer.Option(min=0.0, help="How much faster than eager a program must be to be worth a note.")
    ] = 0.05,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="KIND[:NAME]", help="Who puts each lesson into words; figures stay the record's."
        ),
    ] = None,
    json: options.JsonOption = False,
) -> ExitCode:
    """Distil good runs into notes, proposed for you to accept: what was tried, what it gave, the evidence.

    By rules, from a run's own record. A run without a right and faster program gives none; neither does one
    that says what a note says already. Nobody is told a note before `warpsmith docs accept`.
    """
    from warpsmith.agent.memory.distilling import Distilling, distilled
    from warpsmith.agent.memory.notes import Kept
    from warpsmith.agent.memory.page import title_line
    from warpsmith.agent.memory.proposing import proposing
    from warpsmith.agent.memory.wording import worded
    from warpsmith.agent.retrieval import default_library
    from warpsmith.agent.skills import run_folders
    from warpsmith.policy import PolicyConfig, make_policy
    from warpsmith.tasks.synth.skills import Left

    console = Console(is_json=json)
    held = _benchmark_tasks(console, against or [])
    policy = None if model is None else make_policy(model, PolicyConfig())
    notes = default_library().notes
    folders = dict.fromkeys(folder for place in runs for folder in run_folders(place))
    with console.busy(f"reading {len(folders)} runs"):
        found = list(distilled(folders, Distilling(margin=margin)))
        known = [one.note for one in notes.all() if isinstance(one, Kept)]
        pairs = [one for one in found if not isinstance(one, Left)]
        proposed = proposing(pairs, known, held)
        new = [note if policy is None else worded(note, policy) for note in proposed.new]
        notes.put(new)
    left = [*(one for one in found if isinstance(one, Left)), *proposed.left]
    console.say(*(f"  no note: {one.where}: {one.why}" for one in left[:MAX_TOLD]))
    console.say(*(f"{note.note_id}  {title_line(note)}" for note in new))
    console.say(f"{len(new)} notes of {len(folders)} runs are proposed; read them: warpsmith docs proposals")
    document = {"command": "docs propose", "exit_code": 0, "proposed": new, "left": left}
    console.document({**document, "num_runs": len(folders), "num_held_back": len(held)})
    return ExitCode.OK


def _benchmark_tasks(console: Console, against: list[str]) -> "list[Task]":
    """Raises UsageError for a suite that there is not, or a path that is none of it."""
    from warpsmith.tasks.suites import imported, suite

    held: list[Task] = []
    for text in against:
        name, _, path = text.partition("=")
        if not path:
            raise UsageError(f"--against takes SUITE=PATH, such as kernelbench=KernelBench, not {text!r:.80}")
        held += [made.task for made in imported(suite(name), Path(path)).made]
    if not against:
        console.warn("nothing is compared with a benchmark; name one: --against kernelbench=DIR")
    return held


PROPOSALS_EXAMPLES = (
    "warpsmith docs proposals",
    "warpsmith docs proposals 3f2a",
    "warpsmith docs proposals --json",
)


def proposals(
    note_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="Print this one whole, in whatever state.")
    ] = None,
    json: options.JsonOption = False,
) -> ExitCode:
    """List the notes that wait to be accepted, and how many were; or read one."""
    from warpsmith.agent.memory.notes import Kept
    from warpsmith.agent.memory.nouns import State
    from warpsmith.agent.memory.page import note_text, title_line
    from warpsmith.agent.retrieval import default_library

    console = Console(is_json=json)
    notes = default_library().notes
    every = notes.all() if note_id is None else (notes.find(note_id),)
    kept = [one for one in every if isinstance(one, Kept)]
    for unread in (one for one in every if not isinstance(one, Kept)):
        console.warn(f"{unread.path} is no note, and is left out: {unread.reason}")
    if note_id is not None:
        console.say(f"{kept[0].state}:", "", note_text(kept[0].note))
    else:
        waiting = [one.note for one in kept if one.state is State.PROPOSED]
        console.say(*(f"{note.note_id}  {title_line(note)}" for note in waiting))
        console.say(", ".join(f"{sum(one.state is state for one in kept)} {state}" for state in State))
    document = [{"id": one.note.note_id, "state": one.state, "note": one.note} for one in kept]
    console.document({"command": "docs proposals", "exit_code": 0, "notes": document})
    return ExitCode.OK


IdsArgument = Annotated[list[str], typer.Argument(metavar="ID…", help="Ids of notes, or beginnings of them.")]
ACCEPT_EXAMPLES = ("warpsmith docs accept 3f2a1b9c0d4e",)


def accept(note_ids: IdsArgument, json: options.JsonOption = False) -> ExitCode:
    """Accept notes: from now on they are found like warpsmith's own pages, with their source beside them."""
    return _moved("accept", note_ids, is_json=json)


REJECT_EXAMPLES = ("warpsmith docs reject 3f2a1b9c0d4e",)


def reject(note_ids: IdsArgument, json: options.JsonOption = False) -> ExitCode:
    """Reject notes, also accepted ones: nobody is told them, and they are not proposed again."""
    return _moved("reject", note_ids, is_json=json)


def _moved(verb: str, note_ids: list[str], *, is_json: bool) -> ExitCode:
    from warpsmith.agent.memory.nouns import State
    from warpsmith.agent.memory.page import title_line
    from warpsmith.agent.retrieval import default_library

    console = Console(is_json=is_json)
    state = {"accept": State.ACCEPTED, "reject": State.REJECTED}[verb]
    moved = default_library().notes.move(note_ids, state)
    console.say(*(f"{one.note.note_id}  {state}: {title_line(one.note)}" for one in moved))
    ids = [one.note.note_id for one in moved]
    console.document({"command": f"docs {verb}", "exit_code": 0, "state": state, "notes": ids})
    return ExitCode.OK
