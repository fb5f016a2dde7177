"""nn.LSTM, nn.GRU and nn.RNN as one operator each: torch's tracers would write out every step of theirs."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import torch

Tensor = torch.Tensor
OPERATORS = ("lstm", "gru", "rnn_tanh", "rnn_relu")

_SETTINGS = (
    "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, "
    "bool batch_first"
)


@contextlib.contextmanager
def recurrent_calls_whole() -> Iterator[None]:
    """Within, torch's recurrent modules call `torch.ops.warpsmith.lstm` and its like, which only trace.

    What calls them with packed sequences goes to torch's own, as ever.
    """
    _define()
    usual = {name: getattr(torch._VF, name) for name in OPERATORS}
    for name in OPERATORS:
        setattr(torch._VF, name, _stand_in(name, usual[name]))
    try:
        yield
    finally:
        for name in OPERATORS:
            delattr(torch._VF, name)


def _stand_in(name: str, usual: Callable[..., object]) -> Callable[..., object]:
    def call(*arguments: object) -> object:
        is_packed = not isinstance(arguments[3], bool)
        return usual(*arguments) if is_packed else getattr(torch.ops.warpsmith, name)(*arguments)

    return call


@functools.cache
def _define() -> None:
    for name in OPERATORS:
        states, results = (
            ("Tensor[] hx", "Tensor, Tensor, Tensor")
            if name == "lstm"
            else (
                "Tensor hx",
                "Tensor, Tensor",
            )
        )
        qualified = f"warpsmith::{name}"
        torch.library.define(qualified, f"(Tensor input, {states}, {_SETTINGS}) -> ({results})")
        torch.library.impl(qualified, "cpu", getattr(torch, name))
        torch.library.register_fake(qualified, _empty_results)


def _empty_results(
    source: Tensor, states: Tensor | Sequence[Tensor], _params: Sequence[Tensor], *settings: object
) -> tuple[Tensor, ...]:
    """[T, B, directions * hidden] (or [B, T, …]), and each state as it was given."""
    directions = 2 if cast(bool, settings[4]) else 1
    given = (states,) if isinstance(states, Tensor) else tuple(states)
    output = source.new_empty(*source.shape[:-1], directions * given[0].shape[-1])
    return (output, *(torch.empty_like(state) for state in given))
