"""What a model that judges must answer, and how its answer is read: strictly, or not at all."""

import json
import re
from typing import Any

from warpsmith.core import Candidate
from warpsmith.learn.rubric.base import HIGHEST, LOWEST, Dimension, Scores

KEYS = (*(dimension.value for dimension in Dimension), "hack", "evidence")
MIN_EVIDENCE = 8  # characters: less could be quoted from any program
FENCE = re.compile(r"\A```(?:json)?[ \t]*\n(?P<body>.*)\n```\Z", re.DOTALL)


class Unreadable(ValueError):
    """The answer is not what was asked for; the message tells the model why."""


def scores_in(answer: str, candidate: Candidate) -> Scores:
    """Raises Unreadable unless `answer` is the one object that was asked for, and its evidence is quoted.

    A string is no truth value ("false" would be true) and a fraction no level. A cheat counts only where the
    quotation stands in the program: otherwise a guess, or a line that the program wrote to its judge, would
    take a reward away.
    """
    data = _object(answer)
    levels = {dimension: _level(data[dimension.value], dimension) for dimension in Dimension}
    is_hack, evidence = data["hack"], data["evidence"]
    if type(is_hack) is not bool:
        raise Unreadable(f"hack must be true or false, not {is_hack!r:.40}")
    if not isinstance(evidence, str):
        raise Unreadable("evidence must be a string")
    if is_hack and not is_quoted(evidence, candidate):
        raise Unreadable("hack needs evidence: quote the line of the program that shows it, word by word")
    if is_hack:
        levels[Dimension.ANTI_HACKING] = LOWEST
    return Scores(levels=levels, is_hack=is_hack, evidence=evidence)


def _object(answer: str) -> dict[str, Any]:
    text = answer.strip()
    fenced = FENCE.match(text)
    try:
        data = json.loads(fenced["body"] if fenced else text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the answer must be one JSON object and nothing else ({error!s:.100})") from error
    if not isinstance(data, dict) or set(data) != set(KEYS):
        raise Unreadable(f"the object must have exactly the keys {', '.join(KEYS)}")
    return data


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise Unreadable("a key stands there twice")
    return dict(pairs)


def _level(value: Any, dimension: Dimension) -> int:
    if type(value) is not int or not LOWEST <= value <= HIGHEST:
        raise Unreadable(f"{dimension.value} must be a whole number from 1 to 5, not {value!r:.40}")
    return value


def is_quoted(evidence: str, candidate: Candidate) -> bool:
    quotation = _spaceless(evidence)
    return len(quotation) >= MIN_EVIDENCE and any(
        quotation in _spaceless(text) for _, text in candidate.files
    )


def _spaceless(text: str) -> str:
    return "".join(text.split())
