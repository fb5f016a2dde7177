"""Recurrent nets: for each layer a product of all its inputs at once, and a node for the steps.

The node "recurrence" takes, a direction each, tuples of input products [steps, batch, gates * units], of
recurrent weights [gates * units, units] and biases (or None), then the states before the first step, each
[directions, batch, units] or None for zeros. It gives the outputs [steps, batch, directions * units] and each
state after the last step. `is_batch_first` swaps the first two axes of products and outputs.
"""

from dataclasses import dataclass

from warpsmith.policy.builtin import assemblies, views
from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.call import Call, Lowering
from warpsmith.policy.builtin.graph import Operand, View


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weights:
    """What one direction of a layer has learnt."""

    of_input: View
    of_state: View
    input_bias: View | None
    state_bias: View | None


def _recurrence(builder: Builder, call: Call) -> Operand:
    num_layers = call.integer("num_layers")
    directions = 2 if call.arguments["bidirectional"] else 1
    learnt = _learnt(call, num_layers * directions)
    source, last = call.view("input"), list[tuple[View, ...]]()
    for layer in range(num_layers):
        first = layer * directions
        states = tuple(_of_layer(builder, state, first, directions) for state in _states(call))
        source, *ends = _layer(builder, call, source, learnt[first : first + directions], states)
        last.append(tuple(ends))
    return source, *(_stacked(builder, ends) for ends in zip(*last, strict=True))


def _learnt(call: Call, count: int) -> list[_Weights]:
    flat = call.arguments["params"]
    assert isinstance(flat, tuple)
    size = 4 if call.arguments["has_biases"] else 2
    assert len(flat) == size * count, "a projected state"
    weights: list[_Weights] = []
    for start in range(0, len(flat), size):
        given = [view for view in flat[start : start + size] if isinstance(view, View)]
        of_input, of_state, input_bias, state_bias, *_ = (*given, None, None)
        assert of_input is not None
        assert of_state is not None
        weights.append(
            _Weights(of_input=of_input, of_state=of_state, input_bias=input_bias, state_bias=state_bias)
        )
    return weights


def _states(call: Call) -> tuple[Operand, ...]:
    given = call.arguments["hx"]
    return given if isinstance(given, tuple) else (given,)


def _of_layer(builder: Builder, state: Operand, first: int, directions: int) -> View | None:
    """A layer's part of a state given for all layers; None for zeros."""
    if isinstance(state, View):
        part = views.cut(state, 0, first, directions)
        return part if views.is_contiguous(part) else builder.in_order(part)
    assert state == 0, f"a state of {state!r}"
    return None


def _layer(
    builder: Builder, call: Call, source: View, learnt: list[_Weights], states: tuple[View | None, ...]
) -> tuple[View, ...]:
    source = builder.in_order(source)
    products = tuple(
        builder.node(
            "linear",
            (source, weights.of_input, weights.input_bias),
            (((*source.shape[:-1], weights.of_input.shape[0]), call.dtype),),
        )[0]
        for weights in learnt
    )
    units = learnt[0].of_state.shape[1]
    batch = source.shape[0 if call.arguments["batch_first"] else 1]
    output = (*source.shape[:-1], len(learnt) * units)
    end = (len(learnt), batch, units)
    return builder.node(
        "recurrence",
        (
            products,
            tuple(weights.of_state for weights in learnt),
            tuple(weights.state_bias for weights in learnt),
            states,
        ),
        ((output, call.dtype), *((end, call.dtype) for _ in states)),
        {"cell": call.op, "is_batch_first": bool(call.arguments["batch_first"])},
    )


def _stacked(builder: Builder, ends: tuple[View, ...]) -> Operand:
    """[layers * directions, batch, units]"""
    if len(ends) == 1:
        return ends[0]
    directions, *rest = ends[0].shape
    shape = (len(ends) * directions, *rest)
    call = Call(op="cat", arguments={"tensors": ends, "dim": 0}, results=((shape, ends[0].dtype),))
    return assemblies.LOWERINGS["cat"](builder, call)


LOWERINGS: dict[str, Lowering] = {
    "lstm": _recurrence,
    "gru": _recurrence,
    "rnn_tanh": _recurrence,
    "rnn_relu": _recurrence,
}
