"""The pages that come with the package, and the index of them: made at first use, in memory."""

from collections.abc import Iterable
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from warpsmith.agent.memory.nouns import Note
from warpsmith.agent.memory.page import ORIGIN as NOTE
from warpsmith.agent.memory.page import note_text
from warpsmith.agent.retrieval.chunks import chunks
from warpsmith.agent.retrieval.index import Excerpt, Index
from warpsmith.agent.retrieval.readers.markdown import read_markdown

ORIGIN = "warpsmith:"  # begins the source of a page of ours: no path does


@cache
def page_names() -> tuple[str, ...]:
    """The pages' names, sorted."""
    return tuple(
        sorted(page.name.removesuffix(".md") for page in _folder().iterdir() if page.name[-3:] == ".md")
    )


def page_text(name: str) -> str:
    return _folder().joinpath(f"{name}.md").read_text(encoding="utf-8")


def shipped(query: str, n: int, notes: Iterable[Note] = ()) -> tuple[Excerpt, ...]:
    """At most `n` excerpts of our own pages and of `notes`, the best first."""
    with own_index(notes) as index:
        return index.search(query, n)


def own_index(notes: Iterable[Note] = ()) -> Index:
    """Our pages and some notes as if they were pages, for one thread; it must be closed."""
    index = Index(None)
    for note in notes:
        cut = chunks(read_markdown(note_text(note).encode()))
        index.put(f"{NOTE}{note.note_id}", " ".join(note.operators), "", cut)
    for name in page_names():
        cut = chunks(read_markdown(page_text(name).encode()))
        index.put(f"{ORIGIN}{name}", name.replace("-", " "), "", cut)
    return index


def _folder() -> Traversable:
    return resources.files("warpsmith.agent.retrieval") / "pages"
