"""A candidate's answer, as raw bytes in a file, held against a case."""

from typing import Any

import torch

from warpsmith.core import PrecisionClass
from warpsmith.judge.calls import BUFFERS, INPUT_GRADS, OUTPUT, PARAMETER_GRADS
from warpsmith.judge.fingerprint import has_same_bits
from warpsmith.judge.oracle.compare import Deviation, Target, deviation, settled
from warpsmith.judge.oracle.examination import Bound, Case
from warpsmith.judge.tensorfile import Entry, Foreign, TensorFile, leaves

Pair = tuple[str, Target, Entry]

PARTS = {
    INPUT_GRADS: "the gradient of input",
    PARAMETER_GRADS: "the gradient of",
    BUFFERS: "after forward the buffer",
}


def structure(expected: Any, claimed: Any, name: str, pairs: list[Pair]) -> str | None:
    """How `claimed` is built differently; tensors to be compared by value are appended to `pairs`."""
    match expected:
        case Target():
            return _tensor_difference(expected, claimed, name, pairs)
        case dict():
            return _dict_difference(expected, claimed, name, pairs)
        case tuple() | list():
            return _sequence_difference(expected, claimed, name, pairs)
        case _:
            is_equal = type(expected) is type(claimed) and _is_equal(expected, claimed)
            return None if is_equal else f"{name} is {_kind(claimed)}, and must be {expected!r}"


def structure_of_parts(expected: dict[str, Any], claimed: Any, pairs: list[Pair]) -> str | None:
    """The same of an answer with buffers or gradients beside the output (see `calls`)."""
    if not isinstance(claimed, dict) or list(claimed) != list(expected):
        return f"the answer is {_kind(claimed)}, and must be {_kind(expected)}"
    difference = structure(expected[OUTPUT], claimed[OUTPUT], "the output", pairs)
    for part, name in PARTS.items():
        if difference is None and part in expected:
            difference = _part_difference(expected[part], claimed[part], name, pairs)
    return difference


def _part_difference(expected: Any, claimed: Any, name: str, pairs: list[Pair]) -> str | None:
    wanted, given = (
        dict(enumerate(tree)) if isinstance(tree, list) else tree for tree in (expected, claimed)
    )
    if not isinstance(given, dict) or list(given) != list(wanted):
        names = ", ".join(map(str, given)) if isinstance(given, dict) else _kind(given)
        return f"{name} is there for {names or 'nothing'}, and must be for {', '.join(map(str, wanted))}"
    found = (structure(item, given[key], f"{name} {key}", pairs) for key, item in wanted.items())
    return next((difference for difference in found if difference), None)


def values(
    file: TensorFile, pairs: list[Pair], bounds: tuple[Bound, ...]
) -> list[tuple[Bound, Deviation, Pair]]:
    """The deviation of each tensor."""
    result = []
    for pair, bound in zip(pairs, bounds, strict=True):
        answer = settled(pair[1], file.read(pair[2]).to(pair[1].value.device))
        result.append((bound, deviation(pair[1], answer, bound.allowed), pair))
    return result


def coarsest(found: list[tuple[Bound, Deviation, Pair]]) -> PrecisionClass:
    """The finest arithmetic that explains the errors of every output."""
    classes = [bound.explains(pair[1], deviation.rms) for bound, deviation, pair in found]
    return max(classes, key=list(PrecisionClass).index)


def value_message(found: Deviation, pair: Pair, file: TensorFile, case: int) -> str:
    """What a coder needs to find the fault: where, how many, and the worst pair of values."""
    name, goal, entry = pair
    share = 100 * found.num_wrong / max(entry.num_elements, 1)
    answer = file.read(entry).reshape(-1)[found.worst].item()
    wanted = goal.value.reshape(-1)[found.worst].item()
    if goal.nonfinite is not None:
        reference = goal.nonfinite.reshape(-1)[found.worst].item()
        wanted = wanted if reference - reference == 0 else reference
    lines = [
        f"{name} for input set {case}: {found.num_wrong} of {entry.num_elements} elements off ({share:.2g}%)",
        f"worst at {_index(found.worst, goal.shape)}: {_number(answer)} instead of {_number(wanted)}",
        f"first wrong at {_index(found.first, goal.shape)}, last at {_index(found.last, goal.shape)}",
    ]
    if found.num_nan:
        lines.append(
            f"{found.num_nan} of them are NaN, which is what memory that was never written holds here"
        )
    return "; ".join(lines)


def changed_input(file: TensorFile, case: Case, names: tuple[str, ...]) -> str | None:
    """Which input is not bit for bit what it was."""
    kept = list(leaves(case.inputs))
    if len(kept) != len(file.entries):
        return "the inputs' file was rewritten"
    for index, (tensor, entry) in enumerate(zip(kept, file.entries, strict=True)):
        now = file.read(entry).to(tensor.device)
        if now.dtype != tensor.dtype or now.shape != tensor.shape or not has_same_bits(now, tensor):
            name = f" ({names[index]})" if len(names) == len(kept) else ""
            return f"tensor {index} of the inputs{name} was written to; forward must leave inputs as they are"
    return None


def _dict_difference(expected: dict[str, Any], claimed: Any, name: str, pairs: list[Pair]) -> str | None:
    if not isinstance(claimed, dict) or claimed.keys() != expected.keys():
        return f"{name} is {_kind(claimed)}, and must be {_kind(expected)}"
    found = (structure(item, claimed[key], f"{name}[{key!r}]", pairs) for key, item in expected.items())
    return next((difference for difference in found if difference), None)


def _sequence_difference(
    expected: tuple[Any, ...] | list[Any], claimed: Any, name: str, pairs: list[Pair]
) -> str | None:
    if type(claimed) is not type(expected) or len(claimed) != len(expected):
        return f"{name} is {_kind(claimed)}, and must be {_kind(expected)}"
    items = enumerate(zip(expected, claimed, strict=True))
    found = (structure(wanted, item, f"{name}[{i}]", pairs) for i, (wanted, item) in items)
    return next((difference for difference in found if difference), None)


def _tensor_difference(expected: Target, claimed: Any, name: str, pairs: list[Pair]) -> str | None:
    if not isinstance(claimed, Entry):
        return f"{name} is {_kind(claimed)}, and must be a tensor"
    pairs.append((name, expected, claimed))
    dtype, wanted = (str(kind).removeprefix("torch.") for kind in (claimed.dtype, expected.dtype))
    if claimed.dtype != expected.dtype:
        return f"{name} has dtype {dtype}, and must have {wanted}"
    if claimed.shape != expected.shape:
        return f"{name} has shape {list(claimed.shape)}, and must have {list(expected.shape)}"
    if claimed.device != expected.device:
        return f"{name} is on {claimed.device}, and must be on {expected.device}"
    return None


def _kind(value: object) -> str:
    match value:
        case Entry():
            return "a tensor"
        case Foreign():
            return f"a {value.type_name} (only plain tensors count)"
        case tuple() | list():
            return f"a {type(value).__name__} of {len(value)}"
        case dict():
            return f"a dict of {', '.join(map(str, value)) or 'nothing'}"
        case _:
            return repr(value)


def _is_equal(expected: object, claimed: object) -> bool:
    if isinstance(expected, float) and isinstance(claimed, float):
        return (
            torch.isclose(torch.tensor(claimed), torch.tensor(expected), rtol=1e-5, equal_nan=True).item()
            is True
        )
    return expected == claimed


def _number(value: float | complex) -> str:
    return f"{value:.9g}" if type(value) is float else str(value)


def _index(flat: int, shape: tuple[int, ...]) -> str:
    index: list[int] = []
    for size in reversed(shape):
        flat, at = divmod(flat, size)
        index.insert(0, at)
    return str(index)
