"""Which of torch's operators a candidate runs: a candidate's arithmetic must be in its own kernels.

What counts is what ran, from Python, from C++ through the dispatcher, or inside a torch.autograd.Function;
the program's text does not matter. Operators on another thread are not heard: gate `symbols` sees to that.
"""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import torch
from torch.overrides import TorchFunctionMode

from warpsmith.judge.kinds import FREE, LIBRARY, Kind
from warpsmith.judge.names import names
from warpsmith.judge.operators import Operator, OperatorListener, Run, name_of
from warpsmith.judge.protocol import Computed

MAX_REPORTED = 8
MAX_NUMBERS = 64  # that a program may read to decide what to launch; more would be a computation in Python


# Namespaces of torch's own. What a candidate registered in another runs its own code, whose calls of torch
# are heard one by one, or seen among its build's symbols.
TORCHS = names(
    "aten prim prims quantized _quantized mkl mkldnn mkldnn_prepacked onednn inductor rngprims debugprims "
    "c10d _c10d_functional c10d_functional _c10d_functional_autograd sparse profiler static_runtime xnnpack "
    "prepacked metal vulkan torchvision image nvprims cuda symm_mem _dtensor fsdp flash_attention"
)
# They hand a tensor's elements to code that no operator tells of.
LEAVING = names("tolist numpy __array__ __dlpack__ __reduce_ex__")


class OperatorWatch:
    """A context. Notes every operator that is not free, with the candidate's line that called it.

    `computed` holds arithmetic, `libraries` the names of products and convolutions. Autograd's own operators
    are not noted: what they derive from was heard in the forward pass. Nor, if one `needs_line`, are those
    that no line of the candidate's called: the judge's own, around a backward pass.
    """

    def __init__(self, candidate: Path, *, needs_line: bool = False) -> None:
        self._candidate = str(candidate)
        self._needs_line = needs_line
        self._num_numbers = 0
        self._watches = (_Listener(self._heard), _LeavingWatch(self._note))
        self._stack = ExitStack()
        self.computed: dict[str, Computed] = {}
        self.libraries: dict[str, None] = {}

    def __enter__(self) -> Self:
        for watch in self._watches:
            self._stack.enter_context(watch)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def _heard(self, run: Run) -> None:
        name = name_of(run.operator)
        if name == "_local_scalar_dense":
            self._num_numbers += 1
            if self._num_numbers > MAX_NUMBERS:
                self._note("Tensor.item, again and again")
        kind = kind_of(run.operator)
        if kind is Kind.LIBRARY:
            self.libraries[name] = None
        elif kind is Kind.COMPUTE:
            self._note(str(run.operator))

    def _note(self, name: str) -> None:
        if name in self.computed or len(self.computed) >= MAX_REPORTED:
            return
        where = self._where(sys._getframe())
        if where is None and (self._needs_line or torch._C._current_autograd_node() is not None):
            return
        self.computed[name] = Computed(operator=name, where=where or "model_new.py")

    def _where(self, frame: FrameType | None) -> str | None:
        while frame is not None:
            path = frame.f_code.co_filename
            if path.startswith(self._candidate):
                return f"{path.removeprefix(self._candidate).lstrip('/')}:{frame.f_lineno}"
            frame = frame.f_back
        return None


class _Listener(OperatorListener):
    """Tells of each operator."""

    def __init__(self, tell: Callable[[Run], None]) -> None:
        OperatorListener.__init__(self)
        self._tell = tell

    def heard(self, run: Run) -> None:
        self._tell(run)


class _LeavingWatch(TorchFunctionMode):
    """Notes where many of a tensor's elements become Python's or numpy's: no operator tells of that."""

    def __init__(self, note: Callable[[str], None]) -> None:
        TorchFunctionMode.__init__(self)
        self._note = note

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in LEAVING and args and isinstance(args[0], torch.Tensor) and args[0].numel() > MAX_NUMBERS:
            self._note(f"Tensor.{name}")
        return func(*args, **(kwargs or {}))


def kind_of(operator: Operator) -> Kind:
    """What an operator does. A candidate's own, of C++ and in a namespace of its own, is free."""
    name = name_of(operator)
    if operator.is_view or name in FREE or operator.namespace in ("prim", "prims"):
        return Kind.FREE
    if operator.namespace not in TORCHS:
        return Kind.COMPUTE if _is_python(operator) else Kind.FREE
    return Kind.LIBRARY if name in LIBRARY and operator.namespace == "aten" else Kind.COMPUTE


def _is_python(operator: Operator) -> bool:
    """Whether Python code stands behind an operator: what that calls of torch is not heard."""
    key = f"{operator.namespace}/{name_of(operator)}"
    return any(known.startswith((f"{key}/", f"{key}.")) for known in torch.library._impls)
