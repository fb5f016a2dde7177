"""Textual similarity of two models: their source without its names and sizes, as tokens.

Normalised source: `Model` and what it uses of its file, in the order of first use, printed from the syntax
tree (so without comments and layout), without docstrings and annotations; names that the file binds are
numbered in order of appearance, every number is 0, and imported names are written in full.

Two measures rest on it. Its SHA-256 is the exact reference hash. The Jaccard coefficient of its shingles,
runs of SHINGLE words and arithmetic symbols but for FRAME_WORDS, is the token similarity: estimated for all
pairs by MinHash (Broder, "On the resemblance and containment of documents", 1997; by datasketch), and
computed exactly for those whose estimate is above the threshold less MARGIN.
"""

import ast
import hashlib
import re
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from datasketch import MinHash

from warpsmith.core import Task, TaskError
from warpsmith.tasks.synth.similarity.program import Definition, Program

SHINGLE = 5
PERMUTATIONS = 128
MARGIN = 0.11  # four standard deviations of the estimate at 0.9, sqrt(0.9 * 0.1 / 128) = 0.027

Signature = npt.NDArray[np.uint32]  # [PERMUTATIONS]

FRAME_WORDS = frozenset(
    {"class", "def", "self", "super", "__init__", "forward", "return", "torch", "nn", "Module"}
)
"""What every task has: left in, it would make tasks of a few operators alike that share none of them."""

_TOKEN = re.compile(r"\w+|[-+*/@%<>&|^~!]")


def normalised(task: Task) -> str:
    """The source of what the task's Model computes, without names and sizes. Raises TaskError."""
    program = Program.of(task)  # of its own: its trees are rewritten
    used = program.used()
    rename = _Rename(program, used)
    try:
        return "\n".join(ast.unparse(rename.visit(definition)) for definition in used)
    except RecursionError as error:
        raise TaskError(f"{task.task_id}: nested too deeply to compare") from error


def shingles(text: str) -> frozenset[int]:
    """The runs of SHINGLE tokens in `text`, hashed to 8 bytes; a shorter text is one run."""
    tokens = [word for word in _TOKEN.findall(text) if word not in FRAME_WORDS]
    runs = [tokens[at : at + SHINGLE] for at in range(max(1, len(tokens) - SHINGLE + 1))]
    return frozenset(_hash(" ".join(run)) for run in runs)


def signature(runs: frozenset[int]) -> Signature:
    """The MinHash of a set of hashes; the share of equal places estimates the Jaccard coefficient."""
    sketch = _empty_sketch().copy()
    sketch.update_batch(runs)
    return np.asarray(sketch.hashvalues, dtype=np.uint32)


@cache
def _empty_sketch() -> MinHash:
    """Drawing the permutations takes longer than using them."""
    return MinHash(num_perm=PERMUTATIONS, seed=1, hashfunc=_low_word, scheme="affine32")


def jaccard(left: frozenset[int], right: frozenset[int]) -> float:
    """What they share over what either has."""
    return len(left & right) / len(left | right)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "big")


def _low_word(value: int) -> int:
    return value & 0xFFFFFFFF


class _Rename(ast.NodeTransformer):
    """Numbers bound names in order of appearance."""

    def __init__(self, program: Program, used: tuple[Definition, ...]) -> None:
        self._program = program
        self._numbers: dict[str, str] = {}
        names, attributes = _bound(used)
        self._names = names | set(program.definitions) | set(program.constants) - set(program.imports)
        self._attributes = attributes
        self._texts = {
            name: value
            for name, value in program.constants.items()
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and name not in names
        }

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._texts:
            return self._texts[node.id]  # a text may choose what is computed, whatever it is called
        path = self._program.dotted(node)
        if node.id in self._names:
            return ast.Name(id=self._number(node.id), ctx=node.ctx)
        return ast.Name(id=path or node.id, ctx=node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        is_own = (
            isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr in self._attributes
        )
        name = self._number(f"self.{node.attr}") if is_own else node.attr
        return ast.Attribute(value=self.visit(node.value), attr=name, ctx=node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        is_number = isinstance(node.value, int | float | complex) and not isinstance(node.value, bool)
        return ast.Constant(value=0) if is_number else node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(arg=self._number(node.arg), annotation=None)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.Pass()
        return self.visit(ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node))

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return self.visit_FunctionDef(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        node.body, node.returns = _without_docstring(node.body), None
        node.name = self._number(node.name) if node.name in self._names else node.name
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        node.body = _without_docstring(node.body)
        node.name = self._number(node.name)
        return self.generic_visit(node)

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"v{len(self._numbers)}")


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest or [ast.Pass()]
        case _:
            return body


def _bound(used: tuple[Definition, ...]) -> tuple[set[str], set[str]]:
    """The names that functions bind, and the attributes that they give `self`."""
    names: set[str] = set()
    attributes: set[str] = set()
    for node in (node for definition in used for node in ast.walk(definition)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                attributes.add(name)
            case _:
                pass
    return names, attributes
