"""What the crawl and its helper process say to each other: a line of JSON each."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from warpsmith.tasks.synth.seeds.outcome import Reason

READY = "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A task source to execute."""

    source: str
    edges: tuple[tuple[float, ...], ...]  # for each input, values that it must also stand
    must_trace: bool = True  # whether it has to answer on the meta device
    library: str = "torch"  # what it imports: the first import takes long

    def line(self) -> str:
        """As it is sent."""
        return json.dumps(asdict(self)) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """It executed, and its answer is a finite floating-point tensor."""

    shape: tuple[int, ...]
    sample: tuple[float, ...]  # some of its numbers on larger inputs, to tell operators apart
    is_local: bool  # an element of x bears on the element in its place alone
    is_causal: bool  # … or on those behind it too
    is_moved: bool  # all its numbers are x's own
    is_smaller: bool  # fewer elements than x
    is_traced: bool  # it has an answer on the meta device


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """It did not."""

    reason: Reason
    detail: str = ""
    is_tuple: bool = False  # several answers: the first one may do
    is_constructor: bool = False  # no call would help


Reply = Answered | Refused


def reply_line(reply: Reply) -> str:
    """As it is sent."""
    return json.dumps({"kind": type(reply).__name__, **asdict(reply)}) + "\n"


def reply_from(line: str) -> Reply:
    """Raises ValueError if `line` is none: the helper runs foreign code, which may write anything."""
    try:
        fields: dict[str, Any] = json.loads(line)
        kind = fields.pop("kind")
        if kind == "Refused":
            return Refused(**{**fields, "reason": Reason(fields["reason"])})
        if kind == "Answered":
            return Answered(**{**fields, "shape": tuple(fields["shape"]), "sample": tuple(fields["sample"])})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"the helper said {line!r:.200}") from error
    raise ValueError(f"the helper said {line!r:.200}")
