"""Look something up."""

from typing import Any

from warpsmith.agent.retrieval import Excerpt, default_library, shipped
from warpsmith.agent.tools.base import Answer, Context, parameters
from warpsmith.agent.workspace.folder import Refused
from warpsmith.core import InfraError, ToolSpec

MAX_EXCERPTS = 5
USUAL_EXCERPTS = 3


class Docs:
    """Whole chunks, with where they are from: a policy has no other way to open a page."""

    spec = ToolSpec(
        name="docs",
        description="Search notes on CUDA symptoms and techniques, with examples, notes of earlier runs, and "
        "the user's documents.",
        parameters=parameters(
            {"query": "string: what a profile or verdict shows, a technique, or the name of a function"},
            {"n": f"integer: excerpts at most, from 1 to {MAX_EXCERPTS}; {USUAL_EXCERPTS} unless given"},
        ),
    )

    def call(self, arguments: dict[str, Any], _context: Context) -> Answer:
        query, n = arguments["query"], arguments.get("n", USUAL_EXCERPTS)
        if not 1 <= n <= MAX_EXCERPTS:
            raise Refused(f"n must be from 1 to {MAX_EXCERPTS}, not {n}")
        note = ""
        try:
            found = default_library().search(query, n)
        except InfraError as error:  # our own pages are there all the same
            found = shipped(query, n)
            note = f"\nnote: the user's documents could not be searched: {error}"
        if not found:
            return Answer(text=f"nothing found for {query!r:.200}; try other words{note}")
        return Answer(text="\n\n".join(_shown(excerpt) for excerpt in found) + note)


def _shown(excerpt: Excerpt) -> str:
    return f"[{excerpt.source}] {excerpt.heading}\n{excerpt.text}"
