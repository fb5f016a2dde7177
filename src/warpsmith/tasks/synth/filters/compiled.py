"""torch.compile in two steps: compile on CPU cores, which others may do meanwhile, then run on the device."""

from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo

from warpsmith.judge.calls import Caller
from warpsmith.judge.oracle.reference import Reference


class _NotYet(BaseException):
    """Comes out of compiled code that is not to run yet; no model's `except Exception` catches it."""


class CompiledModel:
    """A reference's model under torch.compile. What that raises comes out as it is."""

    def __init__(self, reference: Reference, backend: str) -> None:
        torch._dynamo.reset()
        reference.caller.restore()  # what is begun with here is what each call begins with
        self._may_run = False
        self._compile = torch._dynamo.lookup_backend(backend)
        model = torch.compile(reference.model, backend=self._gated)
        self.caller = Caller(model, reference.regime)  # type: ignore[arg-type]  # it is a module, as that was

    def compile(self, inputs: list[Any]) -> None:
        """Compile up to the first graph's end, and run nothing of it."""
        try:
            self.caller.whole(inputs)
        except _NotYet:
            pass
        finally:
            self._may_run = True

    @property
    def num_graph_breaks(self) -> int:
        return sum(torch._dynamo.utils.counters["graph_break"].values())

    def _gated(self, graph: torch.fx.GraphModule, examples: list[Any], **options: Any) -> Callable[..., Any]:
        compiled = self._compile(graph, examples, **options)

        def run(*arguments: Any) -> Any:
            if not self._may_run:
                raise _NotYet
            return compiled(*arguments)

        return run
