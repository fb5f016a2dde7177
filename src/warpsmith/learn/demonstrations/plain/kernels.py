"""The CUDA of one step: a kernel and its launcher."""

import math

from warpsmith.learn.demonstrations.plain.steps import Step
from warpsmith.policy.builtin.graph import Node, Shape, Value
from warpsmith.policy.builtin.operators import Term, literal
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.text import Read

THREADS = 256
START = {"sum": "0.0f", "mean": "0.0f", "amax": "-INFINITY", "amin": "INFINITY"}
JOINED = {"sum": "{0} + {1}", "mean": "{0} + {1}", "amax": "fmaxf({0}, {1})", "amin": "fminf({0}, {1})"}


def scalar_map(name: str, step: Step) -> str:
    """A thread an element."""
    size = step.nodes[0].output.numel
    lines = [
        "int i = blockIdx.x * blockDim.x + threadIdx.x;",
        f"if (i >= {size}) return;",
        *body(step.nodes, "i"),
        *(f"{text.out_name(value)}[i] = {text.stored(value)};" for value in step.outputs),
    ]
    return kernel(name, step, lines, blocks=blocks_for(size))


def vector_map(name: str, step: Step) -> str | None:
    """Four elements a thread, by one load of each operand; None where they don't lie side by side."""
    size = step.nodes[0].output.numel
    reads = outer_reads(step.nodes)
    values = {value for node in step.nodes for value in (*node.outputs, *(v.value for v in node.views))}
    is_plain = all(value.dtype in ("float32", "bool") for value in values)
    are_floats = all(value.dtype == "float32" for value in (*step.inputs, *step.outputs))
    if not (is_plain and are_floats and len(step.outputs) == 1 and size % 4 == 0):
        return None
    if not reads or not all(read.view.is_in_order and read.view.numel == size for read in reads):
        return None
    (output,) = step.outputs
    formals = [f"float {read.name}" for read in reads]
    element = text.function(
        f"__device__ float {name}_at",
        formals,
        [*computed(step.nodes, reads), f"return {text.c_name(output)};"],
    )
    loads = [f"float4 {read.name} = ((const float4*){read.pointer})[i];" for read in reads]
    parts = [", ".join(f"{name}_at({', '.join(f'{read.name}.{lane}' for read in reads)})" for lane in "xyzw")]
    lines = [
        "int i = blockIdx.x * blockDim.x + threadIdx.x;",
        f"if (i >= {size // 4}) return;",
        *loads,
        f"((float4*){text.out_name(output)})[i] = make_float4({parts[0]});",
    ]
    return f"{element}\n\n{kernel(name, step, lines, blocks=blocks_for(size // 4))}"


def serial_reduction(name: str, step: Step) -> str:
    """A thread a result, which reads all that it is made of."""
    (node,) = step.nodes
    size, length = node.output.numel, reduced_size(node)
    result = text.c_name(node.output)
    lines = [
        "int o = blockIdx.x * blockDim.x + threadIdx.x;",
        f"if (o >= {size}) return;",
        f"float {result} = {START[node.op]};",
        f"for (int k = 0; k < {length}; ++k) {{",
        f"    {result} = {joined(node.op, result, _element(node))};",
        "}",
        *ended(node, result),
        f"{text.out_name(node.output)}[o] = {result};",
    ]
    return kernel(name, step, lines, blocks=blocks_for(size))


def block_reduction(name: str, step: Step) -> str:
    """A block a result."""
    (node,) = step.nodes
    result = text.c_name(node.output)
    lines = [
        "int o = blockIdx.x;",
        f"float {result} = {START[node.op]};",
        f"for (int k = threadIdx.x; k < {reduced_size(node)}; k += {THREADS}) {{",
        f"    {result} = {joined(node.op, result, _element(node))};",
        "}",
        f"{result} = {gather(node.op)}({result});",
        *ended(node, result),
        f"if (threadIdx.x == 0) {text.out_name(node.output)}[o] = {result};",
    ]
    return kernel(name, step, lines, blocks=str(node.output.numel))


def gathering(op: str) -> str:
    """A device function by which all threads of a block learn what they have together."""
    here, other = "shared[threadIdx.x]", "shared[threadIdx.x + half]"
    return f"""\
__device__ float {gather(op)}(float value) {{
    __shared__ float shared[{THREADS}];
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int half = {THREADS // 2}; half > 0; half /= 2) {{
        if (threadIdx.x < half) {here} = {joined(op, here, other)};
        __syncthreads();
    }}
    value = shared[0];
    __syncthreads();
    return value;
}}"""


def gather(op: str) -> str:
    """The name of that function."""
    return {"amax": "block_max", "amin": "block_min"}.get(op, "block_sum")


def joined(op: str, one: str, other: str) -> str:
    """Two partial results as one."""
    return JOINED[op].format(one, other)


def ended(node: Node, result: str) -> list[str]:
    """What is left to do once all is joined."""
    if node.op != "mean":
        return []
    return [f"{result} = {result} / {literal(float(reduced_size(node)), 'float')};"]


def reduced_size(node: Node) -> int:
    """How many elements make one result."""
    return math.prod(node.views[0].shape[axis] for axis in axes_of(node))


def axes_of(node: Node) -> tuple[int, ...]:
    """Which axes of its view a reduction takes away, in order."""
    axes = node.attributes["axes"]
    assert isinstance(axes, tuple)
    return tuple(sorted(axis for axis in axes if isinstance(axis, int)))


def _element(node: Node) -> str:
    """Element k of result o."""
    (view,) = node.views
    away = axes_of(node)
    kept = [axis for axis in range(len(view.shape)) if axis not in away]

    def place(variable: str, axes: list[int] | tuple[int, ...]) -> str:
        sizes: Shape = tuple(view.shape[axis] for axis in axes)
        return text.index_text(variable, sizes, tuple(view.strides[axis] for axis in axes))

    parts = [place("o", kept), place("k", away), str(view.offset)]
    return f"{text.c_name(view.value)}[{' + '.join(part for part in parts if part != '0') or '0'}]"


def outer_reads(nodes: tuple[Node, ...]) -> tuple[Read, ...]:
    """What the nodes read and do not make."""
    made = {value for node in nodes for value in node.outputs}
    return text.distinct_reads(tuple(view for node in nodes for view in node.views if view.value not in made))


def body(nodes: tuple[Node, ...], variable: str) -> list[str]:
    """Loads and arithmetic for the element at a flat index."""
    reads = outer_reads(nodes)
    return [*(load(read, variable) for read in reads), *computed(nodes, reads)]


def load(read: Read, variable: str) -> str:
    """`float x_at = x[i];`"""
    view = read.view
    parts = [text.index_text(variable, view.shape, view.strides), str(view.offset)]
    if view.is_in_order:
        parts = [variable]
    place = " + ".join(part for part in parts if part != "0") or "0"
    return f"{read.ctype} {read.name} = {read.pointer}[{place}];"


def computed(nodes: tuple[Node, ...], reads: tuple[Read, ...]) -> list[str]:
    """A line for each node."""
    terms = {read.view: Term(text=read.name, ctype=read.ctype) for read in reads}
    return [text.node_line(node, terms).removeprefix("const ") for node in nodes]


def blocks_for(size: int) -> str:
    return f"({size} + {THREADS - 1}) / {THREADS}"


def kernel(name: str, step: Step, lines: list[str], blocks: str) -> str:
    """A kernel of these lines, and its launcher."""
    return launched(name, step.inputs, step.outputs, lines, blocks)


def launched(
    name: str, inputs: tuple[Value, ...], outputs: tuple[Value, ...], lines: list[str], blocks: str
) -> str:
    """Likewise, over these tensors."""
    formals = text.launcher_parameters(inputs, outputs)
    given = ", ".join(text.pointer_names(inputs, outputs))
    device = text.function(f"__global__ void {name}_kernel", formals, lines)
    launcher = text.function(
        f'extern "C" int {name}',
        [*formals, "cudaStream_t stream"],
        [
            f"{name}_kernel<<<{blocks}, {THREADS}, 0, stream>>>({given});",
            "return cudaGetLastError();",
        ],
    )
    return f"{device}\n\n{launcher}"
