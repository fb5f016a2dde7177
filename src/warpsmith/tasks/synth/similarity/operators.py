"""What an operator is called, whatever way it is written: `nn.ReLU()(x)` and `x.relu_()` are `relu`."""

import re

SYNONYMS = {
    "mm": "matmul",
    "bmm": "matmul",
    "mv": "matmul",
    "dot": "matmul",
    "multiply": "mul",
    "subtract": "sub",
    "divide": "div",
    "truedivide": "div",
    "negative": "neg",
    "absolute": "abs",
    "swish": "silu",
    "view": "reshape",
    "concat": "cat",
    "concatenate": "cat",
    "permute": "transpose",
    "t": "transpose",
    "mt": "transpose",
    "swapaxes": "transpose",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "amax": "max",
    "amin": "min",
    "scaleddotproductattention": "sdpa",
    "square": "pow",
    "crossentropyloss": "crossentropy",
    "kldivloss": "kldiv",
    "bceloss": "binarycrossentropy",
    "bcewithlogitsloss": "binarycrossentropywithlogits",
    "batchnorm1d": "batchnorm",
    "batchnorm2d": "batchnorm",
    "batchnorm3d": "batchnorm",
    "instancenorm1d": "instancenorm",
    "instancenorm2d": "instancenorm",
    "instancenorm3d": "instancenorm",
}
"""The same arithmetic under another name; what is not here is told apart."""

SYMBOLS = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "div",
    "MatMult": "matmul",
    "Pow": "pow",
    "FloorDiv": "floordivide",
    "Mod": "remainder",
    "USub": "neg",
    "Invert": "bitwisenot",
    "Not": "logicalnot",
    "BitAnd": "bitwiseand",
    "BitOr": "bitwiseor",
    "BitXor": "bitwisexor",
    "Lt": "lt",
    "LtE": "le",
    "Gt": "gt",
    "GtE": "ge",
    "Eq": "eq",
    "NotEq": "ne",
}
"""Python's symbols, by the name of their node, as torch calls the same operation."""

SIZES = frozenset({"size", "shape", "dim", "ndim", "numel", "dtype", "device", "item", "stride", "nelement"})
"""What a tensor tells of itself that is no tensor."""

PASSED_ON = frozenset({"contiguous", "detach", "clone", "requires_grad_", "data", "cuda", "cpu", "__call__"})
"""Methods and attributes of a tensor whose answer has the same values."""

SETTINGS = frozenset({"device", "dtype", "name", "memory_format"})
"""Arguments whose text says where and how, not what is computed."""

WITH_INDICES = frozenset({"max", "min", "median", "mode", "cummax", "cummin"})
"""Reductions that give their values and where these stood."""

OWN_PARAMETERS = frozenset(
    {
        "linear",
        "bilinear",
        "embedding",
        "embeddingbag",
        "prelu",
        "batchnorm",
        "instancenorm",
        "layernorm",
        "groupnorm",
        "rmsnorm",
        *(f"conv{kind}{rank}d" for kind in ("", "transpose") for rank in (1, 2, 3)),
    }
)
"""Operators that hold their parameters as modules and are given them as functions."""

CHAINS = frozenset({"sequential"})
LISTS = frozenset({"modulelist", "parameterlist", "moduledict", "parameterdict", "ordereddict"})
LEAVES = frozenset({"parameter", "buffer"})


def operator(name: str) -> str:
    """The one name of `name` or of its last part: lower case, no underscores, synonyms replaced."""
    plain = name.rpartition(".")[2].strip("_").lower().replace("_", "")
    return SYNONYMS.get(plain, plain)


def equation(text: str) -> str:
    """An einsum equation with its letters numbered in order of appearance."""
    letters: dict[str, str] = {}
    return re.sub(
        r"[A-Za-z]", lambda found: letters.setdefault(found[0], f"<{len(letters)}>"), text.replace(" ", "")
    )
