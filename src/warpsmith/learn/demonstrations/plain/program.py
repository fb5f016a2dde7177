"""Kernels and the module that calls them, as a candidate."""

from warpsmith.core.candidate import MODULE, Candidate
from warpsmith.learn.demonstrations.plain.kernels import (
    block_reduction,
    gather,
    gathering,
    scalar_map,
    serial_reduction,
    vector_map,
)
from warpsmith.learn.demonstrations.plain.rows import rows_kernel
from warpsmith.learn.demonstrations.plain.steps import Manner, Step, checked, steps_of
from warpsmith.policy.builtin.graph import Graph, Source, Value, View
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Declined
from warpsmith.policy.builtin.recipes.fusion import is_pointwise, outside_inputs

FILE = "kernels/forward.cu"
NAME = "forward"


def plain_program(graph: Graph, manner: Manner) -> Candidate:
    """Raises Declined for a graph that can't be written so, or on which `manner` makes no difference."""
    checked(graph)
    output = _output(graph)
    if manner is Manner.ROWS:
        source = rows_kernel(NAME, graph, output.value)
        if source is None:
            raise Declined("forward", "does not go by rows")
        inputs = outside_inputs(graph.nodes)
        steps: tuple[Step, ...] = (Step(nodes=graph.nodes, inputs=inputs, outputs=(output.value,)),)
        sources, names = [source], [NAME]
    else:
        steps = steps_of(graph, is_fused=manner is not Manner.UNFUSED)
        names = [NAME] if len(steps) == 1 else [f"{NAME}_{number}" for number in range(1, len(steps) + 1)]
        sources = [_source(name, step, manner) for name, step in zip(names, steps, strict=True)]
    ops = [node.op for node in graph.nodes if not is_pointwise(node)]
    helpers = {} if manner is Manner.UNFUSED else {gather(op): gathering(op) for op in ops}
    kernels = "\n\n".join([_headers(graph), *helpers.values(), *sources]) + "\n"
    return Candidate.of({FILE: kernels, MODULE: _module(graph, output, list(zip(names, steps, strict=True)))})


def _source(name: str, step: Step, manner: Manner) -> str:
    if step.is_reduction:
        return (serial_reduction if manner is Manner.UNFUSED else block_reduction)(name, step)
    if not step.inputs:
        raise Declined("forward", "a kernel would read nothing, and could not tell on which device it is")
    if manner is Manner.VECTOR:
        vector = vector_map(name, step)
        if vector is None:
            raise Declined("forward", "its operands can't be read by four")
        return vector
    return scalar_map(name, step)


def _output(graph: Graph) -> View:
    """Raises Declined unless one tensor is returned, as a kernel has written it."""
    match graph.outputs:
        case [View() as view] if graph.output_structure == "{0}" and view.is_in_order:
            if graph.producer(view.value) is not None:
                return view
        case _:
            pass
    raise Declined("forward", "returns more than one tensor that a kernel made")


def _headers(graph: Graph) -> str:
    values = tuple(view.value for node in graph.nodes for view in node.views)
    return text.headers(values + tuple(value for node in graph.nodes for value in node.outputs))


def _module(graph: Graph, output: View, calls: list[tuple[str, Step]]) -> str:
    surface = graph.surface
    constructor = f"self, {surface.constructor}" if surface.constructor else "self"
    arguments = ["self"] + [
        argument.name if argument.default is None else f"{argument.name}={argument.default}"
        for argument in surface.arguments
    ]
    lines = [
        "import cuda_extension",
        "import torch",
        "from torch import nn",
        "",
        "",
        "class ModelNew(nn.Module):",
        f"    def __init__({constructor}):",
        "        super().__init__()",
        *(f"        {line}" for line in _state(graph)),
        "",
        f"    def forward({', '.join(arguments)}):",
    ]
    for name, step in calls:
        lines += [f"        {text.allocation(value, step.inputs)}" for value in step.outputs]
        lines.append(f"        {text.call(name, step.inputs, step.outputs, ())}")
    shape = output.shape
    whole = output.value.name if shape == output.value.shape else f"{output.value.name}.view({shape})"
    return "\n".join([*lines, f"        return {whole}"]) + "\n"


def _state(graph: Graph) -> list[str]:
    """Parameters and buffers by the reference's names: their values are copied into them."""
    lines: dict[str, None] = {}
    for value in graph.surface.state:
        *owners, _ = (value.path or "").split(".")
        if any(owner.isdigit() for owner in owners):
            raise Declined("__init__", "has numbered modules")
        for depth in range(1, len(owners) + 1):
            lines[f"self.{'.'.join(owners[:depth])} = nn.Module()"] = None
        lines[_held(value, owners)] = None
    used = {view.value for node in graph.nodes for view in node.views}
    if any(constant.value in used for constant in graph.surface.constants):
        raise Declined("__init__", "makes a tensor that is no parameter")
    return list(lines)


def _held(value: Value, owners: list[str]) -> str:
    if value.dtype != "float32":
        raise Declined("__init__", f"holds a {value.dtype} tensor")
    shape = str(value.shape[0]) if len(value.shape) == 1 else str(value.shape)
    name = (value.path or "").rpartition(".")[2]
    if value.source is Source.BUFFER:
        return f'{".".join(["self", *owners])}.register_buffer("{name}", torch.empty({shape}))'
    return f"self.{value.path} = nn.Parameter(torch.empty({shape}))"
