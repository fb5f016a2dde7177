"""What can be said of a program from its text and its verdict, without anybody's opinion."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from warpsmith.core import Candidate, Passed
from warpsmith.judge.gates.rules import native

FUNCTION = re.compile(
    r"__(?P<kind>global|device)__(?:(?:__launch_bounds__\s*\([^()]*\)|[^;{}()]){0,200}?)"
    r"\b(?!__launch_bounds__)(?P<name>\w+)\s*\([^;{}]{0,2000}\{"
)
MAX_FUNCTIONS = 256  # of a program; a longer one is read up to there
MAX_TEXT = 100_000  # characters of a file ...
MAX_BODY = 16_000  # ... and of a function
ONE_BLOCK = re.compile(r"<<<\s*1\s*,")
LAUNCH = re.compile(r"<<<")
BRACES = re.compile(r"[{}]")
WORD = re.compile(r"\w+")

STRONG = {  # a technique -> how its use looks
    "wide loads": r"\b(?:float[24]|u?int[24]|double2|half2|__half2|__nv_bfloat162|longlong2)\b"
    r"|\breinterpret_cast\s*<\s*(?:const\s+)?\w+\s*<",  # to a vector of one's own making
    "shared memory": r"__shared__",
    "warp operations": r"__shfl_\w+|__ballot_sync|__reduce_\w+_sync|__match_\w+_sync|\btiled_partition\b",
    "tensor cores": r"\bwmma::|\bmma\.sync|\bwgmma\.",
    "asynchronous copies": r"cp\.async|\bmemcpy_async\b|__pipeline_memcpy",
}
SMALL = {
    "read-only loads": r"__ldg\b|ld\.global\.nc",
    "unrolling": r"#\s*pragma\s+unroll",
    "launch bounds": r"__launch_bounds__",
    "no aliases": r"__restrict__",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Of the kernels that ran, where that is known; else of all that the text defines.

    A technique is found by its spelling, comments aside, in the kernel or in what it calls. Code that is
    never reached within a kernel looks the same.
    """

    kernels: tuple[str, ...]
    idle_kernels: tuple[str, ...]  # defined, and not seen to run
    strong: tuple[str, ...]
    small: tuple[str, ...]
    is_one_block: bool  # every launch in the text is of a single block
    library_kernels: tuple[str, ...]  # that ran: products and convolutions, which are heavy
    spill_bytes: int
    num_launches: int | None
    own_share: float | None  # of the device's time; else of the kernels and operators of a call; else unknown
    is_timed: bool  # `own_share` is of the device's time
    times_floor: float | None
    advice: tuple[str, ...]  # the judge's, of a program that passed


def facts_of(candidate: Candidate, passed: Passed | None) -> Facts:
    functions = _functions(candidate)
    defined = tuple(name for name, (kind, _) in functions.items() if kind == "global")
    run = () if passed is None or passed.coverage is None else passed.coverage.own_kernels
    words = {word for name in run for word in WORD.findall(name)}
    kernels = tuple(name for name in defined if not run or name in words)
    text = "\n".join(_reached(kernels, functions))
    timing = None if passed is None else passed.timing
    coverage = None if passed is None else passed.coverage
    return Facts(
        kernels=kernels,
        idle_kernels=tuple(name for name in defined if name not in kernels),
        strong=_used(STRONG, text),
        small=_used(SMALL, text),
        is_one_block=_is_one_block(candidate),
        library_kernels=() if coverage is None else coverage.library_kernels,
        spill_bytes=0 if passed is None else sum(kernel.spill_bytes for kernel in passed.resources),
        num_launches=None if timing is None else timing.num_launches,
        own_share=None if passed is None else _own_share(passed),
        is_timed=coverage is not None and coverage.own_share is not None,
        times_floor=None if timing is None or timing.floor_us <= 0 else timing.times_floor,
        advice=() if passed is None else passed.advice,
    )


def _used(techniques: Mapping[str, str], text: str) -> tuple[str, ...]:
    return tuple(name for name, pattern in techniques.items() if re.search(pattern, text))


def _is_one_block(candidate: Candidate) -> bool:
    texts = [part.text[:MAX_TEXT] for part in native.parts(candidate)]
    num_launches, num_small = (
        sum(len(pattern.findall(text)) for text in texts) for pattern in (LAUNCH, ONE_BLOCK)
    )
    return num_launches > 0 and num_launches == num_small


def _own_share(passed: Passed) -> float | None:
    coverage = passed.coverage
    if coverage is None or coverage.own_share is not None:
        return None if coverage is None else coverage.own_share
    total = len(coverage.own_kernels) + len(coverage.library_kernels)
    return len(coverage.own_kernels) / total if total else None


def _functions(candidate: Candidate) -> dict[str, tuple[str, str]]:
    """Name -> (kind, text with its body) of every function that runs on the device."""
    found: dict[str, tuple[str, str]] = {}
    for part in native.parts(candidate):
        text = part.text[:MAX_TEXT]
        for match in islice(FUNCTION.finditer(text), MAX_FUNCTIONS):
            body = _body(text, match.end() - 1)
            _, before = found.get(match["name"], ("", ""))  # overloads are one
            found[match["name"]] = (match["kind"], f"{before}\n{match[0]}{body}"[:MAX_TEXT])
    return found


def _body(text: str, start: int) -> str:
    depth, end = 0, start + MAX_BODY
    for brace in BRACES.finditer(text, start, end):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[start + 1 : brace.end()]
    return text[start + 1 : end]


def _reached(kernels: tuple[str, ...], functions: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """The texts of `kernels` and of all functions that they call."""
    waiting, seen = list(kernels), set(kernels)
    while waiting:
        text = functions[waiting.pop()][1]
        yield text
        called = {word for word in WORD.findall(text) if word in functions} - seen
        seen |= called
        waiting += sorted(called)
