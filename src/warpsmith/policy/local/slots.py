"""Keys and values of many rows, each at fixed places in memory, and the attention that reads them there.

A row's token `t` lies in slot `t`, whatever its neighbours are: no row is filled up on the left, and what a
row reads does not depend on who stands beside it. What lies behind a row's last token is never attended to
before it has been overwritten.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

ATTENTION = "warpsmith_slots"
KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
UNKNOWN = ("sliding_window", "softcap", "s_aux", "position_bias")


class Slots:
    """What a transformers model takes for its cache; `at` says where the next pass writes and reads.

    A layer's memory is taken when it is first written to.
    """

    is_compileable = False  # what transformers asks of a cache; a graph is captured around it instead

    def __init__(self, num_rows: int, num_slots: int) -> None:
        self.num_rows = num_rows
        self.num_slots = num_slots
        self._kept: dict[int, tuple[Tensor, Tensor]] = {}  # by layer, [R, heads, slots, D] each
        self._rows = self._positions = torch.zeros(0, dtype=torch.long)
        self._num_read = 0
        self._first: int | None = None

    def at(self, rows: Tensor, positions: Tensor, num_read: int, first: int | None = None) -> None:
        """Write `rows` [B] at `positions` [B, T], and read slots below `num_read`; 0: what is new alone.

        `first`: the rows are the first so many, which are read in place and not copied.
        """
        self._rows, self._positions, self._num_read, self._first = rows, positions, num_read, first

    def update(self, key: Tensor, value: Tensor, layer: int, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Keys and values to attend to, of new ones [B, heads, T, D]; transformers calls it in each layer."""
        if layer not in self._kept:
            self._kept[layer] = (self._made(key), self._made(value))
        for kept, new in zip(self._kept[layer], (key, value), strict=True):
            kept[self._rows[:, None], :, self._positions] = new.transpose(1, 2).to(kept.dtype)
        if self._num_read == 0:
            return key, value
        keys, values = (self._read(kept) for kept in self._kept[layer])
        return keys, values

    def get_seq_length(self, _layer: int = 0) -> int:
        """Positions are always told to the model, so that it has no use for this."""
        return 0

    def copy(self, sources: Tensor, targets: Tensor, num_slots: int) -> None:
        """What rows `sources` hold in their first slots, to rows `targets`; the two have no row in common."""
        for kept in self._tensors():
            kept[targets, :, :num_slots] = kept[sources, :, :num_slots]

    @property
    def bytes_per_slot(self) -> float:
        """Of one row, over all layers."""
        total = sum(kept.numel() * kept.element_size() for kept in self._tensors())
        return total / (self.num_rows * self.num_slots)

    def _tensors(self) -> Iterator[Tensor]:
        for pair in self._kept.values():
            yield from pair

    def _made(self, like: Tensor) -> Tensor:
        """In the precision that attention computes in: autocast would else copy all of it at each step."""
        kind, shape = like.device.type, (self.num_rows, like.shape[1], self.num_slots, like.shape[3])
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else like.dtype
        return torch.zeros(shape, dtype=dtype, device=like.device)

    def _read(self, kept: Tensor) -> Tensor:
        read = kept[:, :, : self._num_read]
        return read[self._rows] if self._first is None else read[: self._first]


@contextmanager
def attending(model: Any) -> Iterator[None]:
    """Let `model` attend by `attention` in this block. Not for two threads at once."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, attention)
    config = model.config
    before = config._attn_implementation
    config._attn_implementation = ATTENTION
    try:
        yield
    finally:
        config._attn_implementation = before


def attention(
    _module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,  # noqa: ARG001 - transformers passes it; nothing is dropped in evaluation
    **others: Any,
) -> tuple[Tensor, None]:
    """[B, T, heads, D] for a query of [B, heads, T, D], and keys and values of fewer heads.

    Without a mask, causal. For one new token the query heads that share keys stand side by side as if they
    were positions: keys are read once, where repeating them for each head would write and read them 7 times
    over in a model of 14 heads over 2.

    Raises NotImplementedError for what a layer may want besides: windows, sinks, caps.
    """
    unknown = [name for name in UNKNOWN if others.get(name) is not None]
    if unknown:
        raise NotImplementedError(f"attention with {', '.join(unknown)}")
    batch, heads, length, width = query.shape
    shared = heads // key.shape[1]
    if length == 1 and attention_mask is not None:
        query = query.reshape(batch, key.shape[1], shared, width)
    else:
        key, value = (tensor.repeat_interleave(shared, dim=1) for tensor in (key, value))
    # cuDNN would plan anew for each shape, and must not while a graph is captured.
    with sdpa_kernel(KERNELS) if query.is_cuda else nullcontext():
        is_causal = attention_mask is None and length > 1
        out = scaled_dot_product_attention(
            query, key, value, attn_mask=attention_mask, is_causal=is_causal, scale=scaling
        )
    return out.reshape(batch, heads, length, -1).transpose(1, 2).contiguous(), None
