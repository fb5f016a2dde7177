"""What a policy told of its work, read from its replies: the builtin's phrases, or a model that uses them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from warpsmith.bench.record import Technique, Told
from warpsmith.core import Message, Role, Verdict
from warpsmith.report.plain import one_line

PLANNED = re.compile(r"- (?P<name>\w+) \((?P<recipe>[\w -]+)\): (?P<operators>[^;]*); .*")
CHOSEN = re.compile(r"- (?P<name>\w+): (?P<variant>.+)")
SHORTCUT = re.compile(r"(?:- )?(?:By a s|S|s)hortcut: (?P<what>.+?)\.?")
DECLINED = re.compile(r"I decline this task: .*? covers (?P<operator>[^\s:]+)")
MAX_WORDS = 300


def told(messages: Iterable[Message]) -> Told:
    """All of it; a technique that was planned twice counts as it was planned last."""
    replies = [message.text for message in messages if message.role is Role.ASSISTANT]
    techniques: dict[str, Technique] = {}
    shortcuts: dict[str, None] = {}
    for line in _lines(replies):
        if planned := PLANNED.fullmatch(line):
            operators = tuple(part.strip() for part in planned["operators"].split(",") if part.strip())
            name = planned["name"]
            techniques[name] = Technique(name=name, recipe=planned["recipe"], operators=operators)
        elif (named := CHOSEN.fullmatch(line)) and named["name"] in techniques:
            techniques[named["name"]] = replace(techniques[named["name"]], variant=named["variant"])
        elif shortcut := SHORTCUT.fullmatch(line):
            shortcuts[shortcut["what"].strip()] = None
    last = replies[-1] if replies else ""
    declined = DECLINED.search(last)
    return Told(
        techniques=tuple(techniques.values()),
        shortcuts=tuple(shortcuts),
        declined="" if declined is None else declined["operator"],
        last_words=one_line(" ".join(last.split()), MAX_WORDS),
    )


def last_verdict(messages: Iterable[Message]) -> Verdict | None:
    """The one that a tool gave last."""
    verdicts = [message.verdict for message in messages if message.verdict is not None]
    return verdicts[-1] if verdicts else None


def _lines(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (line.strip() for line in text.splitlines())
