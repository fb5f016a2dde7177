"""What a candidate's Python may not contain. Few rules, and hard ones: each can be read off the syntax tree.

They keep honest programs honest and make a mistake cheap to see. They are no wall: what a program does when
it runs is seen by the sandbox, by the watch on torch's operators (gate `forward`) and by the clock.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from warpsmith.core import Candidate, Rejected
from warpsmith.core.candidate import MODULE
from warpsmith.judge.names import names
from warpsmith.judge.trial import Trial

IMPORTS = names(
    "__future__ abc collections cuda_extension dataclasses enum functools itertools math numbers "
    "operator torch typing typing_extensions warnings weakref contextlib copy"
)
# Not `input`, which torch calls its arguments: there is nothing on standard input to read.
BUILTINS = names("open exec eval compile __import__ globals locals vars breakpoint")
DUNDERS = names("__init__ __name__ __class__ __doc__ __len__ __post_init__ __annotations__")

# What of torch may be named outside a constructor; of torch.nn all but what follows below.
DTYPES = names(
    "half float double bfloat16 bool short int long uint8 int8 int16 int32 int64 uint16 uint32 uint64 "
    "float16 float32 float64 float8_e4m3fn float8_e5m2 complex64 complex128"
)
TORCH = DTYPES | names(
    "nn empty empty_like empty_strided zeros zeros_like ones ones_like full full_like arange tensor "
    "as_tensor Tensor Size device dtype finfo iinfo no_grad inference_mode is_tensor strided "
    "contiguous_format channels_last preserve_format cuda.current_device cuda.current_stream "
    "cuda.get_device_properties cuda.get_device_capability cuda.CUDAGraph cuda.graph "
    "cuda.is_current_stream_capturing"
)
# What even a constructor may not use: other ways into compiled code, and switches that others feel.
TORCH_NEVER = names(
    "ops compile jit library utils backends classes hub load save multiprocessing distributed fx "
    "export overrides autograd _C _ops _dynamo _inductor set_default_dtype set_default_device "
    "set_float32_matmul_precision set_num_threads use_deterministic_algorithms manual_seed "
    "nn.functional cuda.Stream cuda.stream"
)
# Tensor methods that compute. Names that Python's own types share (add, index, sort, ...) are left to the
# watch.
METHODS = names(
    "matmul mm bmm addmm addmv mv baddbmm dot inner outer einsum softmax log_softmax sum mean prod "
    "cumsum cumprod logsumexp var std norm amax amin argmax argmin topk sigmoid tanh relu relu_ gelu "
    "exp exp_ expm1 log log1p log2 sqrt rsqrt erf sin cos pow square clamp clamp_ masked_fill "
    "masked_fill_ gather scatter scatter_ scatter_add_ index_select index_add_ add_ sub_ mul_ div_ "
    "addcmul addcmul_ addcdiv lerp maximum minimum"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A breach: its line, and what to do instead."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file of the candidate's, parsed. `imported` says what an imported name stands for."""

    path: str
    tree: ast.Module
    imported: dict[str, str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A name to be told by, and how to find breaches."""

    name: str
    find: Callable[[Source], Iterator[Finding]]


def check(trial: Trial) -> Rejected | None:
    return breach(trial.candidate)


def breach(candidate: Candidate) -> Rejected | None:
    """The first breach of a rule in the candidate's Python files."""
    files = [(path, text) for path, text in candidate.files if path.endswith(".py")]
    if MODULE not in dict(files):
        return Rejected(rule="model", where=MODULE, message=f"there is no {MODULE}")
    found = (_breach_in(path, text) for path, text in files)
    return next((rejected for rejected in found if rejected is not None), None)


def _breach_in(path: str, text: str) -> Rejected | None:
    try:
        source = Source(path=path, tree=ast.parse(text), imported={})
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        said = getattr(error, "msg", None) or str(error)
        return Rejected(rule="syntax", where=f"{path}:{line}", message=f"this is not Python: {said}")
    source.imported.update(_imported_names(source.tree))
    for rule in RULES:
        finding = next(rule.find(source), None)
        if finding is not None:
            return Rejected(rule=rule.name, where=f"{path}:{finding.line}", message=finding.message)
    return None


# --- the rules ---


def _no_model(source: Source) -> Iterator[Finding]:
    defined = {node.name for node in source.tree.body if isinstance(node, ast.ClassDef)}
    if source.path == MODULE and "ModelNew" not in defined:
        yield Finding(1, f"{MODULE} must define class ModelNew(torch.nn.Module) at its top level")


def _foreign_import(source: Source) -> Iterator[Finding]:
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for module in _imported_modules(node):
            if module.partition(".")[0] not in IMPORTS:
                allowed = ", ".join(sorted(IMPORTS))
                yield Finding(node.lineno, f"`{module}` may not be imported; allowed: {allowed}")


def _forbidden_builtin(source: Source) -> Iterator[Finding]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and node.id in BUILTINS | {"__builtins__"}:
            yield Finding(node.lineno, f"`{node.id}` may not be used: a program deals with its tensors alone")


def _hidden_attribute(source: Source) -> Iterator[Finding]:
    for node in (node for node in ast.walk(source.tree) if isinstance(node, ast.expr)):
        if isinstance(node, ast.Call) and _is_hidden(node):
            message = "getattr and setattr need a name that is written out, or `self` as their object"
            yield Finding(node.lineno, message)
        _, name = _attribute(node) or (node, "")
        if name.startswith("__") and name.endswith("__") and name not in DUNDERS:
            allowed = ", ".join(sorted(DUNDERS))
            yield Finding(node.lineno, f"`{name}` may not be used; allowed: {allowed}")


def _torch_function(source: Source) -> Iterator[Finding]:
    for node, is_in_constructor in _uses(source.tree):
        name = _dotted(node, source.imported) or ""
        path = name.removeprefix("torch.")
        if path == name:
            continue
        if _is_among(path, TORCH_NEVER):
            message = f"`{name}` may not be used; write a kernel and call it through cuda_extension"
            yield Finding(node.lineno, message)
        elif not is_in_constructor and not _is_among(path, TORCH):
            message = (
                f"`{name}` may not be used outside __init__: there torch only makes tensors (torch.empty, "
                "torch.empty_like, torch.zeros, ...) and views them; arithmetic belongs into your kernels"
            )
            yield Finding(node.lineno, message)


def _torch_method(source: Source) -> Iterator[Finding]:
    for node, is_in_constructor in _uses(source.tree):
        if is_in_constructor or not isinstance(node, ast.Call):
            continue
        owner, method = _attribute(node.func) or (node, "")
        is_own = isinstance(owner, ast.Name) and owner.id == "self"
        if method in METHODS and not is_own and _dotted(node.func, source.imported) is None:
            message = (
                f"`.{method}()` computes in torch; views (view, reshape, transpose, expand, ...) and "
                "contiguous are allowed, arithmetic belongs into your kernels"
            )
            yield Finding(node.lineno, message)


def _matmul_operator(source: Source) -> Iterator[Finding]:
    for node, is_in_constructor in _uses(source.tree):
        is_matmul = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
        if is_matmul and not is_in_constructor:
            yield Finding(node.lineno, "`@` computes in torch; call your kernel through cuda_extension")


# Beside these, "syntax" is told above, "torch-compute" by the gate `forward` and "channel" by `guest_client`.
RULES = (
    Rule("model", _no_model),
    Rule("import", _foreign_import),
    Rule("builtin", _forbidden_builtin),
    Rule("hidden", _hidden_attribute),
    Rule("torch-function", _torch_function),
    Rule("torch-method", _torch_method),
    Rule("matmul", _matmul_operator),
)


# --- reading a tree ---


def _imported_modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return ["." * node.level + (node.module or "")]
    return [alias.name for alias in node.names]


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """Local name -> dotted name, for every import anywhere in the file."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _uses(tree: ast.Module) -> Iterator[tuple[ast.expr, bool]]:
    """Every expression but annotations, an attribute chain as a whole; and whether a constructor runs it.

    What a constructor computes cannot depend on inputs, so there torch may serve to make parameters and
    buffers.
    """
    todo: list[tuple[ast.AST, bool]] = [(tree, False)]
    while todo:
        node, is_in_constructor = todo.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            is_in_constructor = isinstance(node, ast.FunctionDef) and node.name == "__init__"
        if isinstance(node, ast.expr):
            yield node, is_in_constructor
        todo.extend((child, is_in_constructor) for child in _parts(node))


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    while isinstance(node, ast.Attribute):  # the inner attributes of a chain are no use of their own
        node = node.value
        if not isinstance(node, ast.Attribute | ast.Name):
            yield node
            return
    annotations = [getattr(node, field, None) for field in ("annotation", "returns")]
    yield from (child for child in ast.iter_child_nodes(node) if child not in annotations)


def _attribute(node: ast.AST) -> tuple[ast.expr, str] | None:
    """What an expression reaches into and the attribute's name, also through getattr or setattr."""
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    if isinstance(node, ast.Call) and _is_getattr(node) and len(node.args) > 1:
        name = node.args[1]
        return (node.args[0], str(name.value)) if isinstance(name, ast.Constant) else None
    return None


def _is_getattr(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr", "delattr")


def _is_hidden(node: ast.Call) -> bool:
    if not _is_getattr(node) or len(node.args) < 2:
        return False
    is_self = isinstance(node.args[0], ast.Name) and node.args[0].id == "self"
    return not (is_self or isinstance(node.args[1], ast.Constant))


def _dotted(node: ast.expr, imported: dict[str, str]) -> str | None:
    """The dotted name of an attribute chain that begins at an import; None for any other expression."""
    if isinstance(node, ast.Name):
        return imported.get(node.id)
    attribute = _attribute(node)
    if attribute is None:
        return None
    owner, name = attribute
    before = _dotted(owner, imported)
    return None if before is None else f"{before}.{name}"


def _is_among(path: str, known: frozenset[str]) -> bool:
    """Whether `path` or a part of it from the left is known."""
    parts = path.split(".")
    return any(".".join(parts[: end + 1]) in known for end in range(len(parts)))
