"""`warpsmith docs`: the user's documents into an index, and what is found there and in our own pages."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.agent.retrieval import Added

MAX_TOLD = 20  # files that were not read, each with its reason

ADD_EXAMPLES = (
    "warpsmith docs add ~/cutlass/media/docs",
    "warpsmith docs add parallel-thread-execution.html hopper.pdf",
)


def add(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="DIR|FILE…", help="Markdown, reStructuredText, HTML, PDF or plain text."),
    ],
    json: options.JsonOption = False,
) -> ExitCode:
    """Read documents into your index. They stay on this machine; a file that changed replaces what it was.

    A folder is read with all below it. A file that cannot be read is told and left out. The index lies in
    your data folder, or in the folder that WARPSMITH_DOCS names.
    """
    from warpsmith.agent.retrieval import default_library

    console = Console(is_json=json)
    library = default_library()
    with console.busy(f"reading into {library.index_path}"):
        added = library.add(paths)
    left_out = [f"{broken.source} is left out: {broken.reason}" for broken in added.broken[:MAX_TOLD]]
    if (rest := len(added.broken) - MAX_TOLD) > 0:
        left_out.append(f"{rest} more files are left out")
    if not added.num_read:
        raise UsageError(f"nothing could be read: {'; '.join(left_out)}")
    for line in left_out:
        console.warn(line)
    console.say(_told(added, library.index_path))
    console.document(
        {
            "command": "docs add",
            "exit_code": 0,
            "index": library.index_path,
            "new": added.new,
            "replaced": added.replaced,
            "unchanged": added.unchanged,
            "broken": added.broken,
        }
    )
    return ExitCode.OK


def _told(added: "Added", index: Path) -> str:
    counts = f"{len(added.new)} new, {len(added.replaced)} replaced, {len(added.unchanged)} unchanged"
    return f"{counts}, {len(added.broken)} left out: {index}"


SEARCH_EXAMPLES = (
    'warpsmith docs search "tensor memory accelerator swizzle"',
    "warpsmith docs search spills to local memory --n 3 --json",
)


def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="Words, or the name of a function.")],
    n: Annotated[int, typer.Option("--n", min=1, max=100, help="Excerpts at most.")] = 5,
    json: options.JsonOption = False,
) -> ExitCode:
    """Search warpsmith's pages on symptoms and techniques, and the documents that you added."""
    from warpsmith.agent.retrieval import default_library
    from warpsmith.agent.retrieval.query import expression

    console = Console(is_json=json)
    words = " ".join(query)
    if not expression(words):
        raise UsageError(
            f"there is no word to look for in {words!r:.100}; name a symptom, technique or function"
        )
    found = default_library().search(words, n)
    for number, excerpt in enumerate(found, 1):
        console.say(f"{number}. {excerpt.heading or excerpt.source}", f"   {excerpt.source}")
        console.say(f"   {excerpt.snippet}", "")
    if not found:
        console.say("nothing found; try other words")
    console.document({"command": "docs search", "exit_code": 0, "query": words, "excerpts": found})
    return ExitCode.OK


LIST_EXAMPLES = ("warpsmith docs list", "warpsmith docs list --json")


def list_(json: options.JsonOption = False) -> ExitCode:
    """List the documents of your index, and warpsmith's own pages."""
    from warpsmith.agent.retrieval import default_library, page_names

    console = Console(is_json=json)
    library = default_library()
    documents = [(one, Path(one.source).exists()) for one in library.documents()]
    for one, is_there in documents:
        gone = "" if is_there else "  (gone: warpsmith docs remove drops it)"
        console.say(f"{one.num_chunks:6d}  {one.added_at[:10]}  {one.source}{gone}")
    pages = page_names()
    accepted = library.notes.accepted()
    console.say(
        f"{len(documents)} documents in {library.index_path}; {len(pages)} pages of warpsmith's own; "
        f"{len(accepted)} notes of runs"
    )
    console.document(
        {
            "command": "docs list",
            "exit_code": 0,
            "index": library.index_path,
            "documents": [
                {
                    "source": one.source,
                    "added_at": one.added_at,
                    "num_chunks": one.num_chunks,
                    "is_there": there,
                }
                for one, there in documents
            ],
            "pages": pages,
            "notes": [note.note_id for note in accepted],
        }
    )
    return ExitCode.OK


REMOVE_EXAMPLES = ("warpsmith docs remove old.pdf", "warpsmith docs remove ~/cutlass/media/docs")


def remove(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="DIR|FILE…", help="What was added, whether it still exists or not."),
    ],
    json: options.JsonOption = False,
) -> ExitCode:
    """Drop documents from your index. The files stay as they are."""
    from warpsmith.agent.retrieval import default_library

    console = Console(is_json=json)
    library = default_library()
    removed = library.remove(paths)
    console.say(f"{len(removed)} documents dropped: {library.index_path}")
    console.document(
        {"command": "docs remove", "exit_code": 0, "index": library.index_path, "removed": removed}
    )
    return ExitCode.OK
