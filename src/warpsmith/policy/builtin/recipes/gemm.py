"""Matrix products through cuBLASLt, with scale, addend, bias and activation in the same call.

An fp32 product has several ways to be computed (`gemm_methods`): in fp32, or as a few tensor-core products of
parts of its operands, which is several times faster at nearly the same error. The judge says whether it is.
"""

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin.graph import Graph, Node
from warpsmith.policy.builtin.recipes.base import Cost, Group, Part, Variant
from warpsmith.policy.builtin.recipes.gemm_methods import Method, method, methods_for
from warpsmith.policy.builtin.recipes.gemm_product import Product, absorb, read_product
from warpsmith.policy.builtin.recipes.gemm_text import Writing

PROPOSALS = 3  # of cuBLASLt's plans for one product, how many are worth a try


class Gemm:
    """mm, addmm, bmm, baddbmm, linear and matmul of fp32, fp16 or bf16."""

    name = "gemm"

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        """The first product among `remaining`, with what follows it as far as cuBLASLt's epilogue goes."""
        for node in remaining:
            product = read_product(node)
            if product is not None:
                product, taken = absorb(graph, product, remaining)
                return _group(product, (node, *taken))
        return None

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        """Methods by predicted time, but those too coarse for so small a k after the others.

        Then other plans of cuBLASLt for the best two, and at the end methods that round their operands.
        """
        product = _product(group)
        ways = sorted(
            methods_for(product), key=lambda way: (product.k < way.min_depth, way.time_us(product, gpu))
        )
        exact = [way for way in ways if not way.is_reduced]
        tries = [(way, 0) for way in exact]
        tries += [(way, proposal) for proposal in range(1, PROPOSALS) for way in exact[:2]]
        tries += [(way, 0) for way in ways if way.is_reduced]
        return tuple(_variant(way, proposal, way.time_us(product, gpu)) for way, proposal in tries)

    def emit(self, group: Group, variant: Variant) -> Part:
        """The group's launchers, on top of the headers that all products share."""
        return Writing(
            name=group.name,
            product=_product(group),
            method=method(str(variant.settings["method"])),
            proposal=variant.number("proposal"),
        ).part


def _product(group: Group) -> Product:
    assert isinstance(group.details, Product)
    return group.details


def _group(product: Product, nodes: tuple[Node, ...]) -> Group:
    traffic = sum(value.num_bytes for value in product.inputs) + product.out.num_bytes
    return Group(
        recipe=Gemm.name,
        name="_".join(node.op for node in nodes),
        nodes=nodes,
        inputs=product.inputs,
        outputs=(product.out,),
        cost=Cost(traffic_bytes=traffic, launches=1, flops=product.flops),
        details=product,
    )


def _variant(way: Method, proposal: int, predicted_us: float) -> Variant:
    return Variant(
        name=f"{way.name}, proposal {proposal}" if proposal else way.name,
        settings={
            "method": way.name,
            "proposal": proposal,
            "predicted_us": predicted_us,
            "is_reduced": way.is_reduced,
        },
    )
