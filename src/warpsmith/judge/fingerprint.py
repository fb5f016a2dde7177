"""Whether a tensor is still bit for bit what it was, without keeping a copy."""

from collections.abc import Iterable, Mapping

import torch

CHUNK = 1 << 24
# Words that a tensor's elements are viewed as, by their size in bytes.
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

Fingerprint = tuple[int, int]


def words_of(tensor: torch.Tensor) -> torch.Tensor:
    """All elements in order, as one row of integers with the same bits."""
    flat = tensor.detach().contiguous().view(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).view(-1)
    return flat.view(WORDS[flat.element_size()])


def fingerprint(tensor: torch.Tensor) -> Fingerprint:
    """Two sums over all bits, one weighted by position. Finds accidents, not forgers."""
    plain = weighted = 0
    for index, chunk in enumerate(words_of(tensor).split(CHUNK)):
        words = chunk.to(torch.int64)
        first = index * CHUNK + 1
        weights = torch.arange(first, first + words.numel(), device=words.device)
        plain += int(words.sum())
        weighted += int((words * (2 * weights + 1)).sum())
    return plain, weighted


def fingerprints(tensors: Iterable[torch.Tensor]) -> tuple[Fingerprint, ...]:
    return tuple(fingerprint(tensor) for tensor in tensors)


def changed_names(before: Mapping[str, Fingerprint], tensors: Mapping[str, torch.Tensor]) -> tuple[str, ...]:
    """The names whose tensor has another fingerprint than `before`, or is gone."""
    return tuple(
        name for name, known in before.items() if name not in tensors or fingerprint(tensors[name]) != known
    )


def has_same_bits(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    """Exact equality, in which NaN equals itself and the two zeros differ."""
    return torch.equal(words_of(tensor), words_of(other))
