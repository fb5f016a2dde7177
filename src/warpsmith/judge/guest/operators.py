"""Which of torch's operators a candidate runs: a candidate's arithmetic must be in its own kernels."""

import sys
from pathlib import Path
from types import FrameType

from warpsmith.judge.names import names
from warpsmith.judge.operators import Operator, OperatorListener, Run, name_of
from warpsmith.judge.protocol import Computed

MAX_REPORTED = 8

# Views are free anyway. What is left makes memory, copies it or reads one number of it.
FREE = names(
    "empty empty_like empty_strided new_empty new_empty_strided zeros zeros_like new_zeros zero_ ones "
    "ones_like new_ones full full_like new_full fill_ arange scalar_tensor clone copy_ _to_copy "
    "_unsafe_view _reshape_alias resize_ set_ record_stream is_pinned _pin_memory pin_memory lift "
    "lift_fresh detach detach_ alias _local_scalar_dense"
)


class OperatorWatch(OperatorListener):
    """Notes every operator that computes, with the candidate's line that called it."""

    def __init__(self, candidate: Path) -> None:
        OperatorListener.__init__(self)
        self._candidate = str(candidate)
        self.computed: dict[str, Computed] = {}

    def heard(self, run: Run) -> None:
        if computes(run.operator) and len(self.computed) < MAX_REPORTED:
            name = str(run.operator)
            self.computed.setdefault(name, Computed(operator=name, where=self._where(sys._getframe())))

    def _where(self, frame: FrameType | None) -> str:
        while frame is not None:
            path = frame.f_code.co_filename
            if path.startswith(self._candidate):
                return f"{path.removeprefix(self._candidate).lstrip('/')}:{frame.f_lineno}"
            frame = frame.f_back
        return "model_new.py"


def computes(operator: Operator) -> bool:
    """Whether an operator does more than make, copy or view memory."""
    return not (operator.is_view or operator.namespace in ("prim", "prims") or name_of(operator) in FREE)
