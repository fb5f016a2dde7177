"""The same reference, with the same weights, on inputs of another size."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warpsmith.judge.oracle.examination import Examination, examine
from warpsmith.judge.oracle.reference import Reference, TaskProblem
from warpsmith.judge.protocol import Open
from warpsmith.judge.tensorfile import leaves

OTHER_SEED = 1 << 20  # added to the task's


@dataclass(frozen=True, slots=True)
class OtherSize:
    """What is known of the reference there, and which of the sources it came from."""

    index: int
    examination: Examination


def other_size(
    reference: Reference, known: Examination, request: Open, sources: tuple[str, ...]
) -> OtherSize | None:
    """The first of `sources` that runs with the reference's weights and has inputs of another size."""
    module = sys.modules.get("reference")
    try:
        for index, source in enumerate(sources):
            path = request.source.with_name(f"resized-{index}.py")
            path.write_text(source)
            found = _examined(reference, path, request)
            if found is not None and _shapes(found.cases[0].inputs) != _shapes(known.cases[0].inputs):
                return OtherSize(index, found)
    finally:
        if module is not None:
            sys.modules["reference"] = module
    return None


def _examined(reference: Reference, source: Path, request: Open) -> Examination | None:
    try:
        other = Reference(source, request.device, request.seed, request.regime)
        other.take(reference)
        return examine(other, replace(request, num_inputs=1, seed=request.seed + OTHER_SEED))
    except (TaskProblem, RuntimeError):  # sizes that do not fit together, weights of another shape, memory
        return None


def _shapes(inputs: list[Any]) -> list[tuple[int, ...]]:
    return [tuple(tensor.shape) for tensor in leaves(inputs)]
