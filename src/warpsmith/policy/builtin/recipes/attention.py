"""Attention in one kernel that never writes its scores: softmax(f(query key^T)) value, and the same by ReLU.

f is whatever is pointwise between the first product and the softmax: a scale, a mask, a bias by position.
"""

import math

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin.graph import Graph, Node, Value, View
from warpsmith.policy.builtin.operators import STORAGE_TYPES, Term, cast
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.attention_chain import Chain, read_chain
from warpsmith.policy.builtin.recipes.base import Cost, Group, Part, Variant
from warpsmith.policy.builtin.recipes.gemm_parts import template_text

MAX_GRID = 65535  # matrices of a batch
ROWS = (128, 64)  # of a block, the better use of registers first
FULL_GRID = 264  # blocks: with fewer of the large ones, an H200's 132 multiprocessors wait for each other


class Attention:
    """Attention of fp32 with heads of at most 128 elements, its operands permuted in any way."""

    name = "attention"

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        allowed = frozenset(remaining)
        for node in remaining:
            chain = read_chain(graph, node, allowed)
            if chain is not None and math.prod(chain.batch) <= MAX_GRID:
                return _group(graph, chain)
        return None

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        del gpu
        chain = _chain(group)
        blocks = math.prod(chain.batch) * -(-chain.rows // ROWS[0])
        ranked = ROWS if blocks >= FULL_GRID else ROWS[::-1]
        return tuple(Variant(name=f"{rows} rows a block", settings={"rows": rows}) for rows in ranked)

    def emit(self, group: Group, variant: Variant) -> Part:
        chain = _chain(group)
        device = f"{group.inputs[0].expression}.device"
        shape, dtype = chain.out.shape, chain.out.dtype
        made = f"{chain.out.name} = torch.empty({tuple(shape)}, dtype=torch.{dtype}, device={device})"
        return Part(
            file=f"kernels/{group.name}.cu",
            source=_source(group, chain, variant),
            forward=(made, text.call(group.name, group.inputs, group.outputs, ())),
            note=f"{_formula(chain)}, {math.prod(chain.batch)} times {chain.rows} x {chain.cols} scores that "
            f"are never written, heads of {chain.size} ({variant.name}).",
            headers=(("kernels/attention.cuh", template_text("attention.cuh")),),
        )


def _chain(group: Group) -> Chain:
    assert isinstance(group.details, Chain)
    return group.details


def _group(graph: Graph, chain: Chain) -> Group:
    traffic = sum(value.num_bytes for value in (*chain.inputs, chain.out))
    members = set(chain.nodes)
    return Group(
        recipe=Attention.name,
        name="causal_attention" if chain.is_causal else "attention",
        nodes=tuple(node for node in graph.nodes if node in members),
        inputs=chain.inputs,
        outputs=(chain.out,),
        cost=Cost(traffic_bytes=traffic, launches=1, flops=chain.flops),
        details=chain,
    )


def _formula(chain: Chain) -> str:
    steps = ", ".join([*(node.op for node in chain.steps), *(["causal"] if chain.is_causal else [])])
    inner = f"scores ({steps})" if steps else "scores"
    return f"softmax of {inner} times values" if chain.is_softmax else f"{inner} times values"


# The text


def _source(group: Group, chain: Chain, variant: Variant) -> str:
    pieces = [
        text.comment(f"{group.name}: {_formula(chain)}, by the kernel in attention.cuh."),
        f'{text.headers(group.inputs)}\n#include "attention.cuh"',
        "namespace {",
        _sizes(chain, variant),
        _places(chain),
        _score(chain),
        "}  // namespace",
        _launcher(group, chain),
    ]
    return "\n\n".join(pieces) + "\n"


def _sizes(chain: Chain, variant: Variant) -> str:
    numbers = {
        "Rows": (variant.number("rows"), "of a block"),
        "TotalRows": (chain.rows, "queries of a matrix"),
        "TotalCols": (chain.cols, "keys of a matrix"),
        "Size": (chain.size, "of a query and a key"),
        "ValueSize": (chain.value_size, "of a value"),
        "Batch": (math.prod(chain.batch), "matrices"),
    }
    flags = {"IsCausal": chain.is_causal, "IsNormalized": chain.is_softmax}
    lines = [
        f"    static constexpr int k{name} = {number};  // {what}" for name, (number, what) in numbers.items()
    ]
    lines += [f"    static constexpr bool k{name} = {str(flag).lower()};" for name, flag in flags.items()]
    return "\n".join(["struct Sizes {", *lines, "};"])


def _places(chain: Chain) -> str:
    lines: list[str] = []
    for name, view in (("query", chain.query), ("key", chain.key), ("value", chain.value)):
        start = _offset(view.shape[:-2], view.strides[:-2], view.offset)
        lines += [
            f"    static __device__ attention_tiles::Matrix {name}(const float* start, int batch) {{",
            f"        return {{start + {start}, {view.strides[-2]}, {view.strides[-1]}}};",
            "    }",
        ]
    *batch, row, col = chain.strides
    start = _offset(chain.out_batch, tuple(batch), 0)
    lines += [
        f"    static __device__ long long out(int batch) {{ return {start}; }}",
        f"    static constexpr long long kOutRow = {row}, kOutCol = {col};",
    ]
    return "\n".join(["struct Places {", *lines, "};"])


def _offset(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int) -> str:
    place = text.index_text("batch", sizes, strides, num_bits=64)
    return f"{offset} + {place}" if offset else place


def _score(chain: Chain) -> str:
    """The function object f: pointers of what it reads, and the scores' way through the steps."""
    reads = text.distinct_reads(chain.operands)
    pointers = dict.fromkeys(f"    const {STORAGE_TYPES[read.view.dtype]}* {read.pointer};" for read in reads)
    lines = [f"const float {text.c_name(chain.scores)} = score;"]
    for read in reads:
        place = text.index_text("batch", read.view.shape[:-2], read.view.strides[:-2], num_bits=64)
        terms = [place, *_scaled("row", read.view.strides[-2]), *_scaled("col", read.view.strides[-1])]
        terms += [str(read.view.offset)] if read.view.offset else []
        index = " + ".join(term for term in terms if term != "0") or "0"
        loaded = Term(text=f"{read.pointer}[{index}]", ctype=STORAGE_TYPES[read.view.dtype])
        lines.append(f"const {read.ctype} {read.name} = {cast(loaded, read.ctype)};")
    known = {read.view: Term(text=read.name, ctype=read.ctype) for read in reads}
    lines += [text.node_line(node, known) for node in chain.steps]
    lines.append(f"return {text.c_name(chain.last)};")
    head = "__device__ __forceinline__ float operator()"
    body = text.function(head, ["float score", "int batch", "int row", "int col"], lines).replace(
        ") {", ") const {", 1
    )
    return "\n".join(["struct Score {", *pointers, text.indent(body.splitlines(), 1), "};"])


def _scaled(variable: str, stride: int) -> list[str]:
    if not stride:
        return []
    return [variable if stride == 1 else f"{variable} * {stride}LL"]


def _launcher(group: Group, chain: Chain) -> str:
    pointers: dict[Value, None] = dict.fromkeys(view.value for view in chain.operands)
    score = f"Score{{{', '.join(text.c_name(value) for value in pointers)}}}"
    operands: list[View] = [chain.query, chain.key, chain.value]
    arguments = [*(text.c_name(view.value) for view in operands), text.out_name(chain.out), score, "stream"]
    formals = [*text.launcher_parameters(group.inputs, group.outputs), "cudaStream_t stream"]
    lines = [f"return attention_tiles::launch<Sizes, Places, Score>({', '.join(arguments)});"]
    return text.function(f'extern "C" int {group.name}', formals, lines)
