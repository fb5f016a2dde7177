"""torch's settings that decide how it computes: set alike in both processes, and looked at afterwards.

torch leaves TF32 on for convolutions and off for matrix products. A policy means one thing here: under
`reference` fp32 stays fp32 everywhere, so a convolution's reference is exact fp32 too; under `tf32` both may
round their operands.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from warpsmith.core import Precision

MIXED = "set through two of torch's interfaces at once"


def pin(precision: Precision, device: str) -> None:
    """Set what the policy asks for. `device` is "cuda" or "cpu"; a CPU has no TF32."""
    is_tf32 = precision is Precision.TF32 and device == "cuda"
    torch.set_default_dtype(torch.float32)
    torch.set_float32_matmul_precision("high" if is_tf32 else "highest")
    torch.backends.cuda.matmul.allow_tf32 = is_tf32
    torch.backends.cudnn.allow_tf32 = is_tf32
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = is_tf32
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = is_tf32
    torch.backends.cudnn.benchmark = False  # its choice of algorithm differs from run to run
    torch.backends.cudnn.deterministic = False


@contextmanager
def pinned(precision: Precision, device: str, *, then: Precision) -> Iterator[None]:
    """The policy `precision` inside, `then` afterwards."""
    pin(precision, device)
    try:
        yield
    finally:
        pin(then, device)


def snapshot() -> dict[str, str]:
    """What is set now, by torch's own names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of the older of its two interfaces
        return {name: _asked(ask) for name, ask in SETTINGS.items()}


def flipped(before: dict[str, str], precision: Precision = Precision.REFERENCE) -> tuple[str, ...]:
    """What is set otherwise than in `before`, each as a line: what it was and what it is.

    What a policy leaves open is not among it: under `tf32` a program may switch TF32 on or off for itself.
    """
    now, open_to_all = snapshot(), OPEN if precision is Precision.TF32 else ()
    return tuple(
        f"{name} was {was} and is {now[name]}"
        for name, was in before.items()
        if now[name] != was and name not in open_to_all
    )


def _asked(ask: Callable[[], object]) -> str:
    try:
        return str(ask())
    except RuntimeError:
        return MIXED


OPEN = (
    "float32_matmul_precision",
    "cuda.matmul.allow_tf32",
    "cuda.matmul.allow_fp16_reduced_precision_reduction",
    "cuda.matmul.allow_bf16_reduced_precision_reduction",
    "cudnn.allow_tf32",
)
SETTINGS: dict[str, Callable[[], object]] = {
    "default_dtype": torch.get_default_dtype,
    "float32_matmul_precision": torch.get_float32_matmul_precision,
    "cuda.matmul.allow_tf32": lambda: torch.backends.cuda.matmul.allow_tf32,
    "cuda.matmul.allow_fp16_reduced_precision_reduction": lambda: (
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
    ),
    "cuda.matmul.allow_bf16_reduced_precision_reduction": lambda: (
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    ),
    "cudnn.allow_tf32": lambda: torch.backends.cudnn.allow_tf32,
    "cudnn.enabled": lambda: torch.backends.cudnn.enabled,
    "cudnn.benchmark": lambda: torch.backends.cudnn.benchmark,
    "cudnn.deterministic": lambda: torch.backends.cudnn.deterministic,
    "deterministic_algorithms": torch.are_deterministic_algorithms_enabled,
    "num_threads": torch.get_num_threads,
}
