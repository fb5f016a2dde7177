"""Takes a part out of a task: a task of its own, whose inputs are what the steps before give.

Nothing is executed. What the steps before compute is computed in the new task's get_inputs, by a model of its
own (`Before`): so the numbers that come in are what they are in the whole, in range and in distribution.
"""

import ast
import copy
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from warpsmith.core import Task
from warpsmith.tasks.synth.skills.file import MODEL, InitLine, TaskFile, needed, reads_of
from warpsmith.tasks.synth.skills.straight import Step, Straight, Uncut

MOST_STEPS = 8
"""More than that is no step of a plan, but most of the task."""

BEFORE = "Before"
WHOLE_INPUTS = "whole_inputs"
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
OWN = frozenset({MODEL, BEFORE, WHOLE_INPUTS, "get_inputs", "get_init_inputs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a task as a task. Whether it runs, and what its tensors are, is found by running it."""

    task: Task
    steps: range  # which of the whole's
    arguments: tuple[str, ...]  # of forward
    init_arguments: tuple[str, ...]
    init: tuple[str, ...]  # the lines of its __init__, without super()
    preamble: str  # what of the file these lines need: imports, constants, functions
    imports: frozenset[str]  # of the preamble, the packages


def pieces(task: Task, rng: random.Random | None = None) -> Iterator[Piece]:
    """Runs of up to MOST_STEPS steps that can be taken out; of a task of one step, that one.

    Short ones come first, or all in the order that `rng` draws. Raises Uncut if nothing can be taken out.
    """
    try:
        file = TaskFile.of(task)
    except RecursionError as error:
        raise Uncut("its expressions are nested too deeply") from error
    if any(name in OWN for node in file.rest for name in _bound(node)):
        raise Uncut("the file has definitions of names that its parts need")
    file.init_of({name for step in file.straight.steps for name in step.attributes})  # are all there
    num = len(file.straight.steps)
    longest = min(MOST_STEPS, max(1, num - 1))
    spans = [range(at, at + length) for length in range(1, longest + 1) for at in range(num - length + 1)]
    if rng is not None:
        rng.shuffle(spans)
    found = (_taken(task, file, span) for span in spans)
    return (piece for piece in found if piece is not None)


def _taken(task: Task, file: TaskFile, span: range) -> Piece | None:
    try:
        return _piece(task, file, span)
    except RecursionError:  # a long sum is a deep tree
        return None


def _piece(task: Task, file: TaskFile, span: range) -> Piece | None:
    """None if it has no input that is a local name, or gives more than one thing to the steps after it."""
    straight = file.straight
    steps = straight.steps[span.start : span.stop]
    given = _given(straight, steps, straight.steps[: span.start])
    if not given or _kept_after(straight, span) != {steps[-1].target}:
        return None
    before = straight.steps[: span.start]
    computed = [name for name in given if any(step.target == name for step in before)]
    model = _class(MODEL, file, given, steps, [steps[-1].target])
    whole = file.get_inputs
    parts: list[ast.stmt] = [model.node]
    if not computed:
        at = [straight.arguments.index(name) for name in given]
        whole = _returning(whole, [file.input_values[place] for place in at])
        parts += [_get_init(model, file), whole]
    else:
        first = _class(BEFORE, file, straight.arguments, _slice(before, computed), given)
        parts += [
            first.node,
            _get_init(model, file),
            _renamed(whole, WHOLE_INPUTS),
            *_get_inputs(first, file, given),
        ]
    names = {name for part in parts for name in reads_of(part)} | {"torch"}
    rest = needed(file.rest, names)
    text = _text([*_imports(rest, names), *rest, *parts])
    of_init = needed(file.rest, {name for line in model.lines for name in line.reads})
    return Piece(
        task=replace(task, source=text, task_id=f"{task.task_id}[{span.start}:{span.stop}]"),
        steps=span,
        arguments=tuple(given),
        init_arguments=model.arguments,
        init=tuple(ast.unparse(line.node) for line in model.lines),
        preamble=_text([*_imports(of_init, {"torch"}), *of_init]),
        imports=frozenset(package for node in of_init for package in _packages(node)),
    )


def _given(straight: Straight, steps: Sequence[Step], before: Sequence[Step]) -> list[str]:
    """The local names that `steps` read before they set them, in the order in which they are read."""
    local = {*straight.arguments, *(step.target for step in before)}
    own: set[str] = set()
    found: dict[str, None] = {}
    for step in steps:
        names = [node.id for node in ast.walk(step.value) if isinstance(node, ast.Name)]
        found |= dict.fromkeys(name for name in names if name in local and name not in own)
        own.add(step.target)
    return list(found)


def _kept_after(straight: Straight, span: range) -> set[str]:
    """What the steps after read of what those of `span` set; at the end, what is returned."""
    own = {step.target for step in straight.steps[span.start : span.stop]}
    if span.stop == len(straight.steps):
        return {straight.steps[-1].target}
    read: set[str] = set()
    for step in straight.steps[span.stop :]:
        read |= step.reads & own
        own -= {step.target}
    return read


def _slice(steps: Sequence[Step], names: Iterable[str]) -> list[Step]:
    """Those of `steps` that `names` need."""
    wanted, kept = set(names), []
    for step in reversed(steps):
        if step.target in wanted:
            kept.append(step)
            wanted = (wanted - {step.target}) | step.reads
    return kept[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Class:
    node: ast.ClassDef
    lines: tuple[InitLine, ...]
    arguments: tuple[str, ...]  # of __init__, as far as it needs them


def _class(
    name: str, file: TaskFile, given: Sequence[str], steps: Sequence[Step], returned: Sequence[str]
) -> _Class:
    lines = file.init_of({attribute for step in steps for attribute in step.attributes})
    read = {one for line in lines for one in line.reads}
    arguments = tuple(one for one in file.init_arguments if one in read)
    *early, last = steps
    body = [f"{step.target} = {ast.unparse(step.value)}" for step in early]
    if list(returned) == [last.target]:
        body.append(f"return {ast.unparse(last.value)}")
    else:
        body += [f"{last.target} = {ast.unparse(last.value)}", f"return {', '.join(returned)}"]
    text = [f"class {name}(torch.nn.Module):"]
    if lines:
        text += [f"    def __init__({', '.join(('self', *arguments))}):", "        super().__init__()"]
        text += [f"        {ast.unparse(line.node)}" for line in lines] + [""]
    text += [f"    def forward({', '.join(('self', *given))}):", *(f"        {line}" for line in body)]
    node = ast.parse("\n".join(text)).body[0]
    assert isinstance(node, ast.ClassDef)
    return _Class(node=node, lines=lines, arguments=arguments)


def _values(of: _Class, file: TaskFile) -> str:
    values = dict(zip(file.init_arguments, file.init_values, strict=True))
    return ", ".join(ast.unparse(values[name]) for name in of.arguments)


def _get_init(model: _Class, file: TaskFile) -> ast.stmt:
    return ast.parse(f"def get_init_inputs():\n    return [{_values(model, file)}]").body[0]


def _get_inputs(before: _Class, file: TaskFile, given: Sequence[str]) -> list[ast.stmt]:
    """As a launcher wants them: contiguous."""
    names = ", ".join(given)
    returned = ", ".join(f"{name}.contiguous()" for name in given)
    return ast.parse(
        f"def get_inputs():\n"
        f"    before = {BEFORE}({_values(before, file)}).eval()\n"
        f"    with torch.no_grad():\n"
        f"        {names} = before(*{WHOLE_INPUTS}())\n"
        f"    return [{returned}]"
    ).body


def _returning(function: ast.FunctionDef, values: Sequence[ast.expr]) -> ast.FunctionDef:
    changed = copy.deepcopy(function)
    changed.body[-1:] = ast.parse(f"return [{', '.join(map(ast.unparse, values))}]").body
    return changed


def _renamed(function: ast.FunctionDef, name: str) -> ast.FunctionDef:
    changed = copy.deepcopy(function)
    changed.name = name
    return changed


def _imports(rest: Sequence[ast.stmt], names: Iterable[str]) -> list[ast.stmt]:
    """`import torch`, if the parts name it and the file does not."""
    is_there = any("torch" in _bound(node) for node in rest)
    return [] if is_there or "torch" not in names else ast.parse("import torch").body


def _bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case _:
            return


def _packages(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Import(names=aliases):
            yield from (alias.name.partition(".")[0] for alias in aliases)
        case ast.ImportFrom(module=module):
            yield (module or ".").partition(".")[0]
        case _:
            return


def _text(nodes: Sequence[ast.stmt]) -> str:
    """As a person would set it: definitions apart, everything else together."""
    text = ast.unparse(ast.fix_missing_locations(nodes[0]))
    for above, node in pairwise(nodes):
        text += _gap(above, node) + ast.unparse(ast.fix_missing_locations(node))
    return text + "\n"


def _gap(above: ast.stmt, below: ast.stmt) -> str:
    if isinstance(above, DEFINITIONS) or isinstance(below, DEFINITIONS):
        return "\n\n\n"
    return "\n\n" if isinstance(above, IMPORTS) and not isinstance(below, IMPORTS) else "\n"
