"""How much of a GPU's memory a task takes while it is judged, as far as its text tells: nothing is executed.

The judge holds n input sets with the reference's answers and their float64 truth while it looks at a task,
n (I + 3 A) + 2 T bytes (`tasks.synth.compose.room`); later it lends memory beside them. Sizes of inputs stand
in get_inputs. An answer is taken to be as large as its inputs; a task with a larger one may be refused for
lack of memory, and is then tried again, alone.
"""

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from warpsmith.core.syntax import parsed
from warpsmith.judge import JudgeConfig

BASE_BYTES = 6 << 30  # contexts of three processes, their libraries, what torch.compile tries out
HELD_SHARE = 0.9  # of a GPU's memory; the rest is what allocators cannot use
LENT = 5  # input sets' worth: two answers, and the three sets without which tensors travel by files
MOST_LENT = 34  # two answers and the most sets that the judge makes
MOST_LENT_SHARE = 0.45  # of a GPU's memory, to a task that has it alone
FEWEST_INPUTS = 3  # input sets that a verdict may rest on
MAX_BITS = 64  # of a number that is believed
ITEM_BYTES = {"float64": 8, "double": 8, "int64": 8, "long": 8, "half": 2, "float16": 2, "bfloat16": 2}
LONG = ("randint", "arange", "randperm")  # make 64-bit integers
MAKERS = ("rand", "randn", "zeros", "ones", "empty", *LONG)

Sizes = Mapping[str, int | tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A judge for one task on a GPU, and the bytes that the task is predicted to take there."""

    judge: JudgeConfig
    memory_bytes: int


def fitted(judge: JudgeConfig, source: str, memory_bytes: int) -> Fitted:
    """`judge`, lending enough for the tensors of `source` to travel in a GPU's memory; `memory_bytes` is all.

    A task of which the judge's input sets do not fit is judged on fewer, FEWEST_INPUTS at least.
    """
    inputs, room = input_bytes(source), int(HELD_SHARE * memory_bytes)
    shared = int(judge.lend_share * memory_bytes)
    lent = max(min(MOST_LENT * inputs, shared), min(LENT * inputs, int(MOST_LENT_SHARE * memory_bytes)))
    counts = range(judge.num_inputs, FEWEST_INPUTS - 1, -1)
    takes = {num: _taken_bytes(inputs, num, lent) for num in (*counts, min(FEWEST_INPUTS, judge.num_inputs))}
    num_inputs = next((num for num in counts if takes[num] <= room), min(takes))
    share = max(judge.lend_share, 1.01 * lent / memory_bytes)
    return Fitted(
        judge=replace(judge, num_inputs=num_inputs, lend_share=min(share, MOST_LENT_SHARE)),
        memory_bytes=takes[num_inputs],
    )


def _taken_bytes(inputs: int, num_inputs: int, lent: int) -> int:
    """While the task is looked at, or later, with a guest that computes."""
    looked_at = 4 * num_inputs * inputs + 4 * inputs
    later = num_inputs * 2 * inputs + lent + 4 * inputs
    return BASE_BYTES + max(looked_at, later)


def input_bytes(source: str) -> int:
    """What get_inputs makes, as far as sizes are numbers or names of numbers; 0 if that is not told."""
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    known: dict[str, int | tuple[int, ...]] = {}
    _read_constants(tree.body, known)
    maker = next(
        (item for item in tree.body if isinstance(item, ast.FunctionDef) and item.name == "get_inputs"), None
    )
    if maker is None:
        return 0
    _read_constants(maker.body, known)
    return sum(_made_bytes(call, known) for call in ast.walk(maker) if isinstance(call, ast.Call))


def _read_constants(body: list[ast.stmt], known: dict[str, int | tuple[int, ...]]) -> None:
    for statement in body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                _bind(target, statement.value, known)


def _bind(target: ast.expr, value: ast.expr, known: dict[str, int | tuple[int, ...]]) -> None:
    if isinstance(target, ast.Name):
        number = _number(value, known)
        several = _several([value], known) if isinstance(value, ast.Tuple | ast.List) else None
        if number is not None:
            known[target.id] = number
        elif several is not None:
            known[target.id] = several
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, item in zip(target.elts, value.elts, strict=False):
            _bind(one, item, known)


def _number(node: ast.expr, known: Sizes) -> int | None:
    """An integer, or sums, differences, products and quotients of them."""
    match node:
        case ast.Constant(value=int() as value):
            return int(value)
        case ast.Name(id=name):
            found = known.get(name)
            return found if isinstance(found, int) else None
        case ast.BinOp(left=left, op=operator, right=right):
            first, second = _number(left, known), _number(right, known)
            return None if first is None or second is None else _combined(operator, first, second)
        case _:
            return None


def _combined(operator: ast.operator, first: int, second: int) -> int | None:
    if first.bit_length() + second.bit_length() > MAX_BITS:
        return None
    match operator:
        case ast.Add():
            return first + second
        case ast.Sub():
            return first - second
        case ast.Mult():
            return first * second
        case ast.FloorDiv() if second:
            return first // second
        case _:
            return None


def _several(nodes: list[ast.expr], known: Sizes) -> tuple[int, ...] | None:
    """Sizes given one by one, as a tuple, or as a starred name of one; None if one of them is not known."""
    found: list[int] = []
    for node in nodes:
        inner = node.value if isinstance(node, ast.Starred) else node
        if isinstance(inner, ast.Tuple | ast.List):
            several = _several(inner.elts, known)
        elif isinstance(inner, ast.Name) and isinstance(named := known.get(inner.id), tuple):
            several = named
        else:
            number = _number(inner, known)
            several = None if number is None else (number,)
        if several is None:
            return None
        found += several
    return tuple(found)


def _made_bytes(call: ast.Call, known: Sizes) -> int:
    """Of a tensor that torch.rand and its like make; 0 for any other call."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="torch"), attr=maker) if maker in MAKERS:
            sizes = _several(_size_nodes(call, maker), known)
        case _:
            return 0
    if not sizes or any(size < 0 for size in sizes):
        return 0
    return math.prod(sizes) * _item_bytes(call, maker)


def _size_nodes(call: ast.Call, maker: str) -> list[ast.expr]:
    named = [keyword.value for keyword in call.keywords if keyword.arg == "size"]
    if named:
        return named
    # randint(low, high, size) or randint(high, size): the size is a tuple, and comes last.
    return call.args[-1:] if maker == "randint" else call.args


def _item_bytes(call: ast.Call, maker: str) -> int:
    for keyword in call.keywords:
        if keyword.arg == "dtype" and isinstance(keyword.value, ast.Attribute):
            return ITEM_BYTES.get(keyword.value.attr, 4)
    return 8 if maker in LONG else 4
