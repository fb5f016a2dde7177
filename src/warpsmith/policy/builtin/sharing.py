"""Kernels that are the same but for names: a network's layers of one shape are compiled once.

And what is then still too many files for a candidate, in fewer of them.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warpsmith.policy.builtin.recipes.base import Group, Part
from warpsmith.policy.builtin.recipes.text import LOCAL_WORDS

MAX_SOURCES = 48  # compiled side by side; a candidate may have a few more files, for its headers
COMMENT = re.compile(r"//[^\n]*")
NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?P<is_called>\s*\()?")
LAUNCHER = re.compile(r"\bcuda_extension\.(\w+)")
INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeleton:
    """A source without comments in which the group's own names are numbers, and those names in order.

    Sources of one skeleton are one program: a one-to-one renaming turns the one into the other.
    """

    text: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, source: str, group: Group) -> "Skeleton":
        values = {value.name for node in group.nodes for value in node.outputs} | {
            view.value.name for node in group.nodes for view in node.views
        }
        numbers: dict[str, int] = {}

        def numbered(match: re.Match[str]) -> str:
            call = match["is_called"] or ""
            name = match[0].removesuffix(call)
            # What is called is a function: the group's own, or one that has a meaning elsewhere.
            if not _is_rooted(name, {group.name} if call else values | {group.name}):
                return match[0]
            return f"${numbers.setdefault(name, len(numbers))}{call}"

        text = NAME.sub(numbered, COMMENT.sub("", source))
        return cls(text=" ".join(text.split()), names=tuple(numbers))


def _is_rooted(name: str, roots: set[str]) -> bool:
    """Whether `name` is one of `roots`, or one with something after an underscore."""
    if name in LOCAL_WORDS:
        return False
    ends = [place for place, letter in enumerate(name) if letter == "_"]
    return any(name[:end] in roots for end in (*ends, len(name)))


def with_shared_kernels(groups: Sequence[Group], parts: Sequence[Part]) -> tuple[Part, ...]:
    """`parts`, where one whose kernel stands in an earlier one's file calls it there."""
    first: dict[str, tuple[Part, Skeleton]] = {}
    found: list[Part] = []
    for group, part in zip(groups, parts, strict=True):
        skeleton = Skeleton.of(part.source, group)
        kept, known = first.setdefault(skeleton.text, (part, skeleton))
        names = dict(zip(skeleton.names, known.names, strict=True))
        found.append(part if kept is part else _calling(part, kept, names))
    return tuple(found)


def _calling(part: Part, kept: Part, names: Mapping[str, str]) -> Part:
    def renamed(lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            LAUNCHER.sub(lambda match: f"cuda_extension.{names.get(match[1], match[1])}", line)
            for line in lines
        )

    return replace(
        part, file=kept.file, source=kept.source, forward=renamed(part.forward), setup=renamed(part.setup)
    )


def with_few_files(parts: Sequence[Part]) -> tuple[Part, ...]:
    """`parts`, several sources to a file where there are more than MAX_SOURCES."""
    sources = {part.file: part.source for part in parts if part.file is not None}
    if len(sources) <= MAX_SOURCES:
        return tuple(parts)
    paths = list(sources)
    size = math.ceil(len(paths) / MAX_SOURCES)
    places: dict[str, tuple[str, str]] = {}
    for start in range(0, len(paths), size):
        taken = paths[start : start + size]
        path = f"kernels/kernels_{start // size + 1}.cu"
        places |= dict.fromkeys(taken, (path, _bundle([sources[one] for one in taken])))
    return tuple(
        part if part.file is None else replace(part, file=places[part.file][0], source=places[part.file][1])
        for part in parts
    )


def _bundle(sources: Sequence[str]) -> str:
    """Sources as one, each in a namespace of its own; their headers are read once."""
    includes = dict.fromkeys(line for source in sources for line in INCLUDE.findall(source))
    bodies = [
        f"namespace part_{number} {{\n\n{INCLUDE.sub('', source).strip()}\n\n}}  // namespace part_{number}\n"
        for number, source in enumerate(sources, start=1)
    ]
    return "\n".join(["".join(includes), *bodies])
