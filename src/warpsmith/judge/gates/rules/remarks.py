"""What a reader of a candidate's Python should look at: no reason to refuse it."""

import ast
from collections.abc import Iterator

from warpsmith.judge.gates.rules.source import Finding, Source, attribute, is_reacher
from warpsmith.judge.kinds import Kind, kind_from_cpp
from warpsmith.judge.names import names

FUNCTIONS = ("torch.nn.functional.", "torch.special.", "torch.fft.", "torch.linalg.")
COMPUTING = names(
    "softmax log_softmax sum mean prod cumsum cumprod logsumexp var std norm amax amin argmax argmin topk "
    "sigmoid tanh relu relu_ gelu silu exp exp_ expm1 log log1p log2 sqrt rsqrt erf sin cos pow square clamp "
    "clamp_ masked_fill masked_fill_ gather scatter scatter_ scatter_add_ index_select index_add_ add_ "
    "sub_ mul_ div_ addcmul addcmul_ addcdiv lerp maximum minimum layer_norm batch_norm dropout"
)
SETTINGS = ("os.makedirs", "torch.set_float32_matmul_precision", "torch.set_num_threads")
PREPARING = ("__init__", "reset_parameters", "_init_weights")


def remarks(source: Source) -> Iterator[Finding]:
    yield from _torch_text(source)
    yield from _odd_nodes(source)
    for node, name in source.uses():
        if name in SETTINGS or name.startswith("torch.backends."):
            yield Finding(getattr(node, "lineno", 1), f"uses {name}")


def _odd_nodes(source: Source) -> Iterator[Finding]:
    for node in source.nodes:
        if isinstance(node, ast.Try) and "forward" in source.functions_around(node):
            yield Finding(node.lineno, "forward handles exceptions; what it then does was not judged")
        if isinstance(node, ast.Call) and is_reacher(node) and not isinstance(node.args[1], ast.Constant):
            is_self = isinstance(node.args[0], ast.Name) and node.args[0].id == "self"
            if not is_self and source.dotted(node.args[0]) is None:
                yield Finding(node.lineno, "reaches for an attribute by a name that is computed")


def _torch_text(source: Source) -> Iterator[Finding]:
    """Arithmetic of torch's that stands in the text: where the program passes, it did not run."""
    shared = {
        node.id
        for node in source.nodes
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and not any(True for _ in source.functions_around(node))
    }
    for node in source.nodes:
        if not isinstance(node, ast.Call) or set(source.functions_around(node)) & set(PREPARING):
            continue
        if not any(True for _ in source.functions_around(node)):
            continue
        name = source.dotted(node.func) or ""
        reached = attribute(node.func)
        is_function = name.startswith("torch.") and name.rpartition(".")[2] in COMPUTING
        is_function |= name.startswith(FUNCTIONS) and kind_from_cpp(name.rpartition(".")[2]) is Kind.COMPUTE
        is_method = not name and reached is not None and reached[1] in COMPUTING
        is_method &= reached is not None and not _is_one_of(reached[0], shared | {"self"})
        if is_function or is_method:
            shown = name or f".{reached[1] if reached else ''}()"
            yield Finding(
                node.lineno, f"`{shown}` would compute in torch; it ran in no call but the first, if at all"
            )


def _is_one_of(node: ast.expr, known: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in known
