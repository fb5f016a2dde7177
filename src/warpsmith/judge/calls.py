"""One call of a model, as a task asks for it: eval or train mode, with gradients or without.

Reference and candidate go through the same lines. In eval mode and without gradients an answer is what
forward returns. Else it is a dict: `output`, and after it `buffers` in train mode, `input_grads` and
`parameter_grads` with gradients. Gradients are those of the outputs' inner product with cotangents, which
come as the last of the inputs given: one for each floating output, drawn in secret and anew for each set.
"""

from dataclasses import dataclass, field
from typing import Any

import torch

from warpsmith.core import Dtype
from warpsmith.judge.protocol import Regime
from warpsmith.judge.tensorfile import changed, leaves

TORCH_DTYPES = {
    Dtype.OWN: None,
    Dtype.FP32: torch.float32,
    Dtype.FP16: torch.float16,
    Dtype.BF16: torch.bfloat16,
}

OUTPUT, BUFFERS, INPUT_GRADS, PARAMETER_GRADS = "output", "buffers", "input_grads", "parameter_grads"


class Caller:
    """Calls one model. In train mode each call begins with the buffers that it was made with."""

    def __init__(self, model: torch.nn.Module, regime: Regime) -> None:
        self.model = model.train(regime.is_training)
        self.regime = regime
        self._buffers = _copied(self.buffers()) if regime.is_training else {}

    def begin(self, given: list[Any]) -> "Call":
        """A call on `given`, not yet run."""
        self.restore()
        if not self.regime.has_backward:
            return Call(caller=self, inputs=given)
        *inputs, cotangents = given
        return Call(caller=self, inputs=list(changed(inputs, _differentiable)), cotangents=cotangents)

    def restore(self) -> None:
        """In train mode, give the buffers the values that they began with."""
        if self.regime.is_training:
            _copy(self.buffers(), self._buffers)

    def whole(self, given: list[Any]) -> Any:
        """The answer to one call."""
        call = self.begin(given)
        call.run()
        return call.answer()

    def timed(self, given: list[Any]) -> Any:
        """The same with nothing of ours around forward where nothing else is asked for."""
        regime = self.regime
        return self.whole(given) if regime.is_training or regime.has_backward else self.model(*given)

    def buffers(self) -> dict[str, torch.Tensor]:
        """What forward may change in train mode, and must not in eval mode."""
        kept = self.model.state_dict(keep_vars=True)
        parameters = dict(self.model.named_parameters(remove_duplicate=False))
        return {name: tensor for name, tensor in sorted(kept.items()) if name not in parameters}

    def parameters(self) -> dict[str, torch.nn.Parameter]:
        """Those that have gradients."""
        found = sorted(self.model.named_parameters())
        return {name: parameter for name, parameter in found if parameter.requires_grad}


@dataclass(slots=True, kw_only=True)
class Call:
    """`run` is the model's own work; `answer` what is made of it."""

    caller: Caller
    inputs: list[Any]
    cotangents: list[torch.Tensor | None] = field(default_factory=list)
    outputs: Any = None

    def run(self) -> Any:
        """What forward returns."""
        with torch.set_grad_enabled(self.caller.regime.has_backward):
            self.outputs = self.caller.model(*self.inputs)
        return self.outputs

    def work(self) -> Any:
        """All that the model itself does: forward, and backward if that is asked for."""
        outputs = self.run()
        return (outputs, self.gradients()) if self.caller.regime.has_backward else outputs

    def answer(self) -> Any:
        """What is compared. Raises RuntimeError if gradients are asked for and the outputs have none."""
        regime = self.caller.regime
        if not (regime.is_training or regime.has_backward):
            return self.outputs
        tree: dict[str, Any] = {OUTPUT: self.outputs}
        if regime.has_backward:
            inputs, parameters = self.gradients()
            tree |= {INPUT_GRADS: inputs, PARAMETER_GRADS: parameters}
            tree[OUTPUT] = changed(self.outputs, _without_graph)
        if regime.is_training:
            tree[BUFFERS] = _copied(self.caller.buffers())
        return tree

    def gradients(self) -> tuple[list[torch.Tensor], dict[str, torch.Tensor]]:
        """Of each floating input and of each parameter by name; zeros where nothing depends on it."""
        pairs = [
            (output, cotangent)
            for output, cotangent in zip(floating(self.outputs), self.cotangents, strict=False)
            if cotangent is not None and output.requires_grad and output.shape == cotangent.shape
        ]
        if not pairs:
            raise RuntimeError(
                "no output of forward has a gradient; write a torch.autograd.Function with a backward"
            )
        inputs, parameters = floating(self.inputs), self.caller.parameters()
        outputs, cotangents = zip(*pairs, strict=True)
        found = torch.autograd.grad(
            outputs, [*inputs, *parameters.values()], cotangents, allow_unused=True, materialize_grads=True
        )
        given = len(inputs)
        return list(found[:given]), dict(zip(parameters, found[given:], strict=True))


def _copied(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    copies = {name: torch.empty_like(tensor) for name, tensor in tensors.items()}
    _copy(copies, tensors)
    return copies


def _copy(targets: dict[str, torch.Tensor], sources: dict[str, torch.Tensor]) -> None:
    """One launch for all tensors of a dtype: a model has hundreds of small buffers, and this is timed."""
    for dtype in {tensor.dtype for tensor in targets.values()}:
        names = [name for name, tensor in targets.items() if tensor.dtype is dtype]
        torch._foreach_copy_([targets[name] for name in names], [sources[name] for name in names])


def floating(tree: Any) -> list[torch.Tensor]:
    """The tensors of `tree` that can have gradients, in order."""
    return [tensor for tensor in leaves(tree) if tensor.is_floating_point() or tensor.is_complex()]


def cast_model(model: torch.nn.Module, dtype: Dtype) -> torch.nn.Module:
    """`model` with its floating parameters and buffers in `dtype`; integers and complex numbers are kept."""
    return model if dtype is Dtype.OWN else model._apply(lambda tensor: cast(tensor, dtype))


def cast(tensor: torch.Tensor, dtype: Dtype) -> torch.Tensor:
    """A floating tensor in `dtype`; any other as it is."""
    wanted = TORCH_DTYPES[dtype]
    return tensor if wanted is None or not tensor.is_floating_point() else tensor.to(wanted)


def _differentiable(tensor: torch.Tensor) -> torch.Tensor:
    alias = tensor.detach()
    return alias.requires_grad_() if alias.is_floating_point() or alias.is_complex() else alias


def _without_graph(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach()
