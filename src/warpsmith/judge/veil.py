"""What hides input sets that lie in memory which a guest can read, until the guest is to compute on them.

The bytes of each tensor are combined by exclusive or with a stream of random bits that a key gives. Whoever
has the key turns them back where they lie, in a few passes over them; whoever has not could as well have
noise. So nothing can be computed from a set before its key has come, though the set itself has.
"""

import torch

from warpsmith.judge.tensorfile import leaves

WORD_BYTES = 8


class Veil:
    """Lays a veil over tensors, and takes it off: both are the same operation."""

    def __init__(self, device: str = "cuda") -> None:
        self._generator = torch.Generator(device=device)
        self._stream = torch.empty(0, dtype=torch.int64, device=device)
        self._unread = torch.empty(0, dtype=torch.uint8, device=device)

    def turn(self, tree: object, key: int) -> None:
        """Every tensor of `tree`, in place; on the current stream."""
        self._generator.manual_seed(key)
        for tensor in leaves(tree):
            self._cover(flat(tensor).view(torch.uint8))

    def copy(self, source: object, target: object, key: int) -> None:
        """What `source` holds into `target`, veiled; it lies there in no other form at any time."""
        self._generator.manual_seed(key)
        for one, other in zip(leaves(source), leaves(target), strict=True):
            laid = one if one.stride() == other.stride() else torch.empty_like(other).copy_(one)
            self._cover(flat(other).view(torch.uint8), flat(laid).view(torch.uint8))

    def pretend(self, tree: object, key: int) -> None:
        """As much work as for a dense copy of every tensor; it changes nothing."""
        self._generator.manual_seed(key)
        for tensor in leaves(tree):
            num_bytes = tensor.numel() * tensor.element_size()
            if len(self._unread) < num_bytes:
                self._unread = torch.zeros(num_bytes, dtype=torch.uint8, device=self._stream.device)
            self._cover(self._unread[:num_bytes])

    def _cover(self, memory: torch.Tensor, source: torch.Tensor | None = None) -> None:
        """Bytes combined with the stream's next: in place, or what lies in `source`."""
        num_words, num_rest = divmod(len(memory), WORD_BYTES)
        if len(self._stream) <= num_words:
            self._stream = self._stream.new_empty(num_words + 1)
        bits = self._stream[: num_words + bool(num_rest)]
        bits.random_(-(2**63), None, generator=self._generator)
        source = memory if source is None else source
        if _is_aligned(memory) and _is_aligned(source):
            words = slice(0, num_words * WORD_BYTES)
            torch.bitwise_xor(
                source[words].view(torch.int64), bits[:num_words], out=memory[words].view(torch.int64)
            )
            rest = slice(num_words * WORD_BYTES, len(memory))
        else:
            rest = slice(0, len(memory))
        torch.bitwise_xor(source[rest], bits.view(torch.uint8)[rest], out=memory[rest])


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """Its memory, whatever its strides; less than its elements where it is expanded."""
    tensor = tensor.detach()
    room = tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()
    return tensor.as_strided((min(tensor.numel(), room),), (1,))


def _is_aligned(memory: torch.Tensor) -> bool:
    return memory.storage_offset() % WORD_BYTES == 0 and memory.data_ptr() % WORD_BYTES == 0
