"""How a task draws its tensors, as text."""

from warpsmith.tasks.synth.base import Argument, Domain, Kind, Shape
from warpsmith.tasks.synth.seeds.example import POSITIVE_DEFINITE, VALUES

HELPERS = (POSITIVE_DEFINITE.strip() + "\n",)
"""Functions that the texts call."""


def tensor_text(argument: Argument, shape: str, bound: str, factor: float = 1.0) -> str:
    """An expression for a tensor; `shape` and `bound` are texts, as the reader is to see them."""
    text = VALUES[argument.domain].format(shape=shape or "()", bound=bound)
    return f"{factor:g} * {text}" if factor != 1.0 and argument.domain is Domain.NORMAL else text


def factor_of(kind: Kind, argument: Argument, given: Shape) -> float:
    """What a normal weight is multiplied by, so that a product of long vectors stays near one."""
    if kind is Kind.CONVOLUTION and len(argument.shape) > 2:
        num_added = 1
        for size in argument.shape[1:]:
            num_added *= size
    elif kind is Kind.GEMM and given[-1] in argument.shape[-2:]:
        num_added = given[-1]
    else:
        return 1.0
    return float(f"{num_added**-0.5:.1g}")
