"""Tensors as they are told to the host: by name, shape and dtype."""

from collections.abc import Iterator

from warpsmith.judge.protocol import NamedTensor
from warpsmith.judge.tensorfile import is_plain


def named(tree: object, name: str = "") -> Iterator[NamedTensor]:
    """The plain tensors below `tree`, named by their keys and places: "1.mask"."""
    if is_plain(tree):
        yield NamedTensor(name=name, shape=tuple(tree.shape), dtype=str(tree.dtype).removeprefix("torch."))
    elif isinstance(tree, tuple | list | dict):
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, item in items:
            yield from named(item, f"{name}.{key}" if name else str(key))
