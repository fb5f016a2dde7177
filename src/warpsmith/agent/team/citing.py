"""Who looked what up, and who named it afterwards: a fold over a run's events, for one voice or several.

An answer of the tool `docs` begins each excerpt with its source in brackets: a page of ours, a note, or the
path of a document of the user's. A source is cited once its name stands in what the same member says later.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from warpsmith.agent.events import Event, Said
from warpsmith.core import Message, Role

TOOL = "docs"
SOURCE = re.compile(r"^\[((?:warpsmith:|note:|/)[^\]\n]{1,400})\] ", re.MULTILINE)
"""A document's own text could hold such a line: then the member was shown it all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """One source that one member was shown."""

    by: str  # empty: there is one voice
    source: str
    query: str  # of the first search that found it
    turn: int  # the reply that asked so, from 1
    cited_in: int | None = None  # the first reply that names it; None: nobody did


@dataclass(slots=True)
class _Desk:
    found: dict[tuple[str, str], Citation] = field(default_factory=dict)  # by member and source
    asked: dict[str, str] = field(default_factory=dict)  # the last reply's searches: call -> query
    by: str = ""
    turn: int = 0

    def replied(self, event: Said) -> None:
        self.turn, self.by = self.turn + 1, event.by
        self.asked = {
            call.call_id: str(call.arguments.get("query", ""))
            for call in event.message.tool_calls
            if call.tool == TOOL
        }
        for key, one in self.found.items():
            is_named = one.by == self.by and one.cited_in is None and _is_in(one.source, event.message)
            if is_named:
                self.found[key] = replace(one, cited_in=self.turn)

    def answered(self, message: Message) -> None:
        query = self.asked.get(message.call_id or "")
        if query is None:
            return
        for source in SOURCE.findall(message.text):
            self.found.setdefault(
                (self.by, source), Citation(by=self.by, source=source, query=query, turn=self.turn)
            )


def citations(events: Iterable[Event]) -> tuple[Citation, ...]:
    """All that was shown, in the order in which it was; give events that count (`in_effect`)."""
    desk = _Desk()
    for event in events:
        match event:
            case Said(message=Message(role=Role.ASSISTANT)):
                desk.replied(event)
            case Said(message=Message(role=Role.TOOL) as message):
                desk.answered(message)
            case _:
                pass
    return tuple(desk.found.values())


def citation_text(citation: Citation) -> str:
    """A line for a reader."""
    who = citation.by or "the policy"
    used = "not cited" if citation.cited_in is None else f"cited in turn {citation.cited_in}"
    return f"{who}, turn {citation.turn}: {citation.source}, {used}"


def _is_in(source: str, message: Message) -> bool:
    """Whether a reply's words name it; so do programs that it writes, in a comment."""
    texts = (message.text, *(str(one) for call in message.tool_calls for one in call.arguments.values()))
    return any(source in text for text in texts)
