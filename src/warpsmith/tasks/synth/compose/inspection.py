"""What a task's text tells about itself without being executed: faults, operators, structure."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpsmith.core import TaskError, UsageError
from warpsmith.tasks.file import check_format
from warpsmith.tasks.scale import with_scale
from warpsmith.tasks.source import parse
from warpsmith.tasks.synth.base import Kind, Seed

ALLOWED = frozenset({"torch", "math", "typing", "collections", "__future__"})
FORBIDDEN = frozenset(
    (
        *("open", "exec", "eval", "compile", "globals", "locals", "vars", "setattr", "delattr", "print"),
        *("os", "sys", "subprocess", "builtins", "importlib", "hub", "load", "save", "load_inline"),
        *("seed", "manual_seed", "set_rng_state", "set_default_device", "set_default_dtype"),
        *("cuda", "cpu", "cpp_extension", "breakpoint", "set_num_threads"),
    )
)
"""Names that no task needs: they reach outside it, or tie it to a device or to one run."""

RANDOM = re.compile(
    r"(rand|randn|randint|randperm|normal|bernoulli|multinomial|dropout\w*|Dropout\w*)(_like|_)?"
)


RANDOM_MODULES = ("Dropout", "AlphaDropout", "FeatureAlphaDropout", "RReLU", "FractionalMaxPool")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is known of a text."""

    operators: tuple[str, ...]  # in order, as one would import them
    kinds: tuple[Kind, ...]
    structure: str  # equal for texts that differ in numbers, comments and layout alone


def wrong_with(source: str) -> str | None:
    """Why `source` cannot be a task, as far as its text tells; None if nothing is wrong."""
    try:
        check_format(source, "the file")
        with_scale(source, "the file", None, "cuda")
    except (TaskError, UsageError) as error:
        return str(error)
    tree = parse(source, "the file")
    return next(_faults(tree), None)


def _faults(tree: ast.Module) -> Iterator[str]:
    model = _model(tree)
    forward = _forward(model) if model is not None else None
    if model is None or forward is None:
        yield "Model is no class with a method forward"
        return
    for statement in tree.body:
        if not _is_definition(statement):
            yield f"line {statement.lineno} does something; a file imports, defines and assigns constants"
    for node in ast.walk(tree):
        yield from _foreign_imports(node)
        yield from _forbidden(_name(node))
    yield from _randomness(model, forward)


def _forbidden(name: str) -> Iterator[str]:
    if name in FORBIDDEN or (name.startswith("__") and name != "__init__"):
        yield f"{name} is not allowed"


def _randomness(model: ast.ClassDef, forward: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(forward):
        if isinstance(node, ast.Call) and RANDOM.fullmatch(_name(node.func)):
            yield f"forward is not deterministic: it calls {_name(node.func)}"
    for node in ast.walk(model):
        if _name(node).startswith(RANDOM_MODULES):
            yield f"{_name(node)} is random"


def _is_definition(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(
        statement, ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign
    )


def _foreign_imports(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            modules = [alias.name for alias in names]
        case ast.ImportFrom(module=module, level=level):
            modules = [module or "" if level == 0 else "."]
        case _:
            return
    for module in modules:
        if module.partition(".")[0] not in ALLOWED:
            yield f"it imports {module}; torch, math and typing are allowed"


def _name(node: ast.AST) -> str:
    """The last part of a name or an attribute; "" for what is neither."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _model(tree: ast.Module) -> ast.ClassDef | None:
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model"]
    return found[-1] if found else None


def _forward(model: ast.ClassDef) -> ast.FunctionDef | None:
    functions = [f for f in model.body if isinstance(f, ast.FunctionDef) and f.name == "forward"]
    return functions[-1] if functions else None


def inspected(source: str, seeds: Sequence[Seed]) -> Report:
    """The operators that Model uses, as `seeds` name them, and its structure; `source` has no fault."""
    model = _model(parse(source, "the file"))
    assert model is not None
    known: dict[str, Seed] = {}
    for seed in seeds:
        for name in (seed.provenance.name, *getattr(seed, "aliases", ())):
            known.setdefault(_spelled(name), seed)
    calls = [node for node in ast.walk(model) if isinstance(node, ast.Call)]
    calls.sort(key=lambda call: (call.func.end_lineno or 0, call.func.end_col_offset or 0))
    used = [known[name] for name in (_spelled(ast.unparse(call.func)) for call in calls) if name in known]
    return Report(
        operators=tuple(seed.provenance.name for seed in used),
        kinds=tuple(seed.kind for seed in used),
        structure=_structure(model),
    )


def _spelled(name: str) -> str:
    """However it is imported: nn.ReLU, torch.nn.ReLU; F.relu, torch.nn.functional.relu, torch.relu."""
    short = name.removeprefix("torch.").removeprefix("nn.").removeprefix("functional.")
    return short.removeprefix("F.")


def _structure(model: ast.ClassDef) -> str:
    """The class without docstrings and numbers."""
    text = ast.unparse(_without_docstrings(model))
    return re.sub(r"(?<![\w.])\d+(?![\w.])", "#", text)


def _without_docstrings(model: ast.ClassDef) -> ast.ClassDef:
    for node in ast.walk(model):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return model
