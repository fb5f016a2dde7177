"""Tensors that no state_dict carries, as the Python expression that makes them again."""

import torch

from warpsmith.policy.builtin.module import default_text

MAX_SPELLED = 64  # entries written out one by one


def constant_expression(tensor: torch.Tensor) -> str | None:
    """`torch.full(…)`, `torch.arange(…)`, a triangle of one value, or a short tensor's entries; else None."""
    for spelling in (_uniform, _range, _triangle, _spelled):
        expression = spelling(tensor)
        if expression is not None:
            return expression
    return None


def _dtype(tensor: torch.Tensor) -> str:
    return f"dtype={tensor.dtype}"


def _uniform(tensor: torch.Tensor) -> str | None:
    if not tensor.numel() or not bool((tensor == tensor.flatten()[0]).all()):
        return None
    return f"torch.full({tuple(tensor.shape)}, {default_text(tensor.flatten()[0].item())}, {_dtype(tensor)})"


def _range(tensor: torch.Tensor) -> str | None:
    if tensor.dim() != 1 or tensor.numel() < 2 or tensor.dtype is torch.bool:
        return None
    start, step = tensor[0].item(), (tensor[1] - tensor[0]).item()
    if not step:
        return None
    stop = start + step * tensor.numel() - (step / 2 if tensor.is_floating_point() else 0)
    if not torch.equal(torch.arange(start, stop, step, dtype=tensor.dtype), tensor):
        return None
    return f"torch.arange({start!r}, {stop!r}, {step!r}, {_dtype(tensor)})"


def _triangle(tensor: torch.Tensor) -> str | None:
    """Causal masks: one value below (or above) the diagonal, zero elsewhere."""
    if tensor.dim() != 2 or not bool((tensor != 0).any()):
        return None
    filled = tensor[tensor != 0][0].item()
    for name, cut in (("tril", torch.tril), ("triu", torch.triu)):
        for diagonal in (-1, 0, 1):
            full = torch.full(tuple(tensor.shape), filled, dtype=tensor.dtype)
            if torch.equal(cut(full, diagonal=diagonal), tensor):
                inner = f"torch.full({tuple(tensor.shape)}, {default_text(filled)}, {_dtype(tensor)})"
                return f"torch.{name}({inner}, diagonal={diagonal})"
    return None


def _spelled(tensor: torch.Tensor) -> str | None:
    if tensor.numel() > MAX_SPELLED or not bool(torch.isfinite(tensor).all()):
        return None
    return f"torch.tensor({tensor.tolist()!r}, {_dtype(tensor)})"
