"""CUDA C++ as the host's compiler takes it: what headers and macros (`include/`) cannot do."""

from warpsmith.device.cpu.declarations import (
    namespace_scope,
    rewrite_attributes,
    rewrite_bounds,
    rewrite_linkage,
    rewrite_shared,
)
from warpsmith.device.cpu.launches import rewrite_launches
from warpsmith.device.cpu.tokens import Edits, Source
from warpsmith.device.cpu.torch_names import rewrite_torch_names


def translate(text: str) -> str:
    """`text` in plain C++. Every line keeps its number: a compiler's message points at the author's line."""
    source = Source(text)
    edits = Edits()
    is_namespace = namespace_scope(source)
    rewrite_launches(source, edits)
    rewrite_shared(source, edits, is_namespace)
    rewrite_linkage(source, edits, is_namespace)
    rewrite_bounds(source, edits)
    rewrite_attributes(source, edits)
    rewrite_torch_names(source, edits)
    return edits.apply(text)
