"""A module to a flat program of ATen operators: by `torch.export`, or by `make_fx` where that refuses.

The fall-back takes what export will not: modules that keep state on themselves, or return what is no pytree
of export's own kinds. Both give the same thing, a `Trace`.
"""

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import fx, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from warpsmith.policy.builtin.graph import Source
from warpsmith.policy.builtin.module import Reference
from warpsmith.policy.builtin.recurrent_calls import recurrent_calls_whole

# What tracing raises on a module that it cannot take; anything else is a bug of ours.
TRACING_ERRORS = (RuntimeError, ValueError, TypeError, AssertionError, KeyError, AttributeError)

# Composite operators that a recipe or `lowering` wants whole.
KEPT = (
    *("aten::linear", "aten::matmul", "aten::scaled_dot_product_attention", "aten::roll"),
    *("aten::upsample_nearest1d", "aten::upsample_nearest2d", "aten::upsample_nearest3d"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a placeholder of the program stands for. `position` is the argument's place among the leaves."""

    source: Source
    path: str = ""
    position: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The program, its placeholders, the tensors that no state_dict carries, and what it returns.

    `unread` names the operators of forward that nothing depends on; they are no part of the program.
    """

    graph: fx.Graph
    bindings: Mapping[str, Binding]
    constants: Mapping[str, torch.Tensor]
    output_spec: pytree.TreeSpec
    unread: tuple[str, ...] = ()


def trace(reference: Reference) -> Trace:
    """Raises one of TRACING_ERRORS if both tracers refuse, or if forward changes its state or arguments."""
    with quiet(), torch.no_grad(), recurrent_calls_whole():
        try:
            exported = torch.export.export(reference.model, reference.arguments, strict=False)
            unread = _unread(exported.graph)
            program = exported.run_decompositions({**_decompositions()})
        except TRACING_ERRORS as refusal:
            try:
                return _flattened(reference)
            except TRACING_ERRORS:
                raise refusal from None
        return _read_program(program, unread)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Torch's tracers warn about themselves; nothing a caller could act on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _unread(graph: fx.Graph) -> tuple[str, ...]:
    """Operators that compute something from tensors which then nobody takes."""
    return tuple(
        node.target._schema.name
        for node in graph.nodes
        if isinstance(node.target, torch._ops.OpOverload)
        and not node.users
        and node.all_input_nodes
        and node.target._schema.returns
        and not node.target._schema.is_mutable
        and not node.target.is_view
    )


@functools.cache
def _decompositions() -> "dict[torch._ops.OpOverload[..., Any], Callable[..., Any]]":
    """The rules that take composite operators apart, but for those that are kept whole."""
    table = torch.export.default_decompositions()
    return {target: table[target] for target in table if not _is_kept(target)}


def _read_program(program: ExportedProgram, unread: tuple[str, ...]) -> Trace:
    kinds = {InputKind.PARAMETER: Source.PARAMETER, InputKind.BUFFER: Source.BUFFER}
    bindings: dict[str, Binding] = {}
    position = 0
    for spec in program.graph_signature.input_specs:
        name = cast(str, getattr(spec.arg, "name", ""))
        if spec.kind is InputKind.USER_INPUT:
            bindings[name] = Binding(source=Source.INPUT, position=position)
            position += 1
        elif spec.kind in kinds and spec.persistent is not False:
            bindings[name] = Binding(source=kinds[spec.kind], path=spec.target or "")
        else:
            bindings[name] = Binding(source=Source.CONSTANT, path=spec.target or "")
    constants = {name: item for name, item in program.constants.items() if isinstance(item, torch.Tensor)}
    output_spec = program.call_spec.out_spec
    assert output_spec is not None
    return Trace(
        graph=_without_mutations(program),
        bindings=bindings,
        constants=constants,
        output_spec=output_spec,
        unread=unread,
    )


def _without_mutations(program: ExportedProgram) -> fx.Graph:
    """The program's graph. Raises ValueError if forward changes its state or arguments."""
    specs = program.graph_signature.output_specs
    changed = [spec.target for spec in specs if "MUTATION" in spec.kind.name]
    if changed:
        raise ValueError(f"forward changes {', '.join(str(name) for name in changed)} in place")
    graph: fx.Graph = program.graph
    return graph


def _flattened(reference: Reference) -> Trace:
    state: dict[str, torch.Tensor] = {
        **dict(reference.model.named_parameters()),
        **dict(reference.model.named_buffers()),
    }
    leaves, input_spec = pytree.tree_flatten(reference.arguments)
    tensors = [(k, leaf) for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    specs: list[pytree.TreeSpec] = []

    def flat(*operands: torch.Tensor) -> list[Any]:
        given = dict(zip(state, operands[: len(state)], strict=True))
        filled = list(leaves)
        for (k, _), tensor in zip(tensors, operands[len(state) :], strict=True):
            filled[k] = tensor
        arguments = pytree.tree_unflatten(filled, input_spec)
        results, spec = pytree.tree_flatten(torch.func.functional_call(reference.model, given, arguments))
        specs.append(spec)
        return results

    flattened = make_fx(torch.func.functionalize(flat), decomposition_table=_decompositions())
    module = flattened(*state.values(), *(leaf for _, leaf in tensors))
    names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    found = [*_state_bindings(reference.model, state), *_input_bindings([k for k, _ in tensors])]
    constants = {
        str(node.target): getattr(module, str(node.target))
        for node in module.graph.nodes
        if node.op == "get_attr"
    }
    return Trace(
        graph=module.graph,
        bindings=dict(zip(names, found, strict=True)),
        constants=constants
        | {path: state[path] for path in state if path not in reference.model.state_dict()},
        output_spec=specs[-1],
    )


def _state_bindings(model: nn.Module, state: Mapping[str, torch.Tensor]) -> list[Binding]:
    parameters, saved = dict(model.named_parameters()), model.state_dict()
    return [
        Binding(
            source=Source.PARAMETER
            if path in parameters
            else Source.BUFFER
            if path in saved
            else Source.CONSTANT,
            path=path,
        )
        for path in state
    ]


def _input_bindings(positions: list[int]) -> list[Binding]:
    return [Binding(source=Source.INPUT, position=position) for position in positions]


def _is_kept(target: object) -> bool:
    return isinstance(target, torch._ops.OpOverload) and target._schema.name in KEPT
