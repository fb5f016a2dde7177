"""What hides input sets that lie in memory which a guest can read, until the guest is to compute on them.

The bytes of each tensor are combined by exclusive or with a stream of random bits that a key gives. Whoever
has the key turns them back where they lie, in a few passes over them; whoever has not could as well have
noise. So nothing can be computed from a set before its key has come, though the set itself has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from warpsmith.judge.tensorfile import leaves

WORD_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Memory of one dtype: words of 8 bytes, or the bytes that are left."""

    source: torch.Tensor
    bits: torch.Tensor
    target: torch.Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tensor:
    """The random words that one tensor needs, and what they cover."""

    words: torch.Tensor
    parts: tuple[_Part, ...]


class Veil:
    """Lays a veil over sets of tensors, and takes it off: both are the same operation.

    All that can be looked up is looked up at construction: turning takes one launch for a tensor's random
    bits and one or two to cover it, so that a GPU which is kept busy meanwhile never waits for the CPU. With
    `sources` each set receives what lies in its source, veiled; it lies there in no other form at any time.
    A veil that `pretends` covers with zeros: it works as much, on the same tensors, and changes nothing.
    """

    def __init__(
        self,
        sets: Sequence[object],
        device: str = "cuda",
        *,
        sources: Sequence[object] | None = None,
        pretends: bool = False,
    ) -> None:
        self._generator = torch.Generator(device=device)
        pairs = [
            list(zip(leaves(source), leaves(target), strict=True))
            for source, target in zip(sets if sources is None else sources, sets, strict=True)
        ]
        memories = [
            [(_laid(source, target), flat(target).view(torch.uint8)) for source, target in pair]
            for pair in pairs
        ]
        most = max((len(target) for memory in memories for _, target in memory), default=0)
        stream = torch.empty(most // WORD_BYTES + 1, dtype=torch.int64, device=device)
        bits = torch.zeros_like(stream) if pretends else stream
        self._sets = [[_tensor(*memory, stream, bits) for memory in one] for one in memories]

    @property
    def num_tensors(self) -> int:
        """Of all sets together."""
        return sum(map(len, self._sets))

    def turn(self, key: int) -> None:
        """Every tensor, in place, on the current stream: the first set with `key`, the next with the next."""
        for index, tensors in enumerate(self._sets):
            self._generator.manual_seed(key + index)
            for tensor in tensors:
                tensor.words.random_(-(2**63), None, generator=self._generator)
                for part in tensor.parts:
                    torch.bitwise_xor(part.source, part.bits, out=part.target)


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """Its memory, whatever its strides; less than its elements where it is expanded."""
    tensor = tensor.detach()
    room = tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()
    return tensor.as_strided((min(tensor.numel(), room),), (1,))


def _laid(source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The bytes of `source` in the order in which they shall lie in `target`."""
    is_alike = source.stride() == target.stride()
    return flat(source if is_alike else torch.empty_like(target).copy_(source)).view(torch.uint8)


def _tensor(source: torch.Tensor, target: torch.Tensor, stream: torch.Tensor, bits: torch.Tensor) -> _Tensor:
    """How the bytes of `target` are covered by the first words of `bits`; those of `stream` are drawn."""
    num_words, num_rest = divmod(len(target), WORD_BYTES)
    words = slice(num_words + bool(num_rest))
    return _Tensor(words=stream[words], parts=tuple(_parts(source, bits[words], target)))


def _parts(source: torch.Tensor, words: torch.Tensor, target: torch.Tensor) -> Iterator[_Part]:
    done = 0
    if _is_aligned(source) and _is_aligned(target) and len(target) >= WORD_BYTES:
        done = len(target) // WORD_BYTES * WORD_BYTES
        yield _Part(
            source=source[:done].view(torch.int64),
            bits=words[: done // WORD_BYTES],
            target=target[:done].view(torch.int64),
        )
    if done < len(target):
        bits = words.view(torch.uint8)[done : len(target)]
        yield _Part(source=source[done:], bits=bits, target=target[done:])


def _is_aligned(memory: torch.Tensor) -> bool:
    return memory.storage_offset() % WORD_BYTES == 0 and memory.data_ptr() % WORD_BYTES == 0
