"""A task's source to a `Graph`: build the module, trace it, and lower each operator."""

import inspect
import operator
from typing import cast

import torch
from torch import fx, nn
from torch.utils import _pytree as pytree

from warpsmith.core import TaskError
from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.call import Call
from warpsmith.policy.builtin.constants import constant_expression
from warpsmith.policy.builtin.graph import (
    Argument,
    Constant,
    Graph,
    Number,
    Operand,
    Shortcut,
    Source,
    Surface,
    Value,
    View,
    live,
)
from warpsmith.policy.builtin.lowering import lower
from warpsmith.policy.builtin.module import Reference, build_reference, constructor_text, default_text
from warpsmith.policy.builtin.recipes.base import Declined
from warpsmith.policy.builtin.simplify import simplify
from warpsmith.policy.builtin.tracing import TRACING_ERRORS, Binding, Trace, quiet, trace
from warpsmith.policy.builtin.views import is_flipped

# What a task's own code raises, such as for a library that is not installed.
BUILDING_ERRORS = (*TRACING_ERRORS, ImportError)


def capture(source: str) -> Graph:
    """What the task's `Model` computes in eval mode.

    Raises Declined where it cannot be traced or an operator has no meaning here, TaskError where the task's
    own code fails.
    """
    reference = _reference(source)
    try:
        traced = trace(reference)
        if any(tensor.is_meta for tensor in traced.constants.values()):
            # Their values are wanted: the same again with a model that has some.
            reference = _with_values(source)
            traced = trace(reference)
    except TRACING_ERRORS as error:
        raise Declined("forward", f"cannot be traced ({_first_line(error)})") from error
    return _Capture(reference, traced).graph()


def _reference(source: str) -> Reference:
    try:
        with quiet():
            return build_reference(source, "meta")
    except BUILDING_ERRORS:  # made with numpy, on a named device, from values: build it for real
        return _built_on_cpu(source)


def _with_values(source: str) -> Reference:
    """On the CPU; inputs, which may be large, only where the task's code cannot make them without memory."""
    try:
        with quiet():
            return build_reference(source, "cpu", has_inputs=False)
    except BUILDING_ERRORS:
        return _built_on_cpu(source)


def _built_on_cpu(source: str) -> Reference:
    try:
        with quiet():
            return build_reference(source, "cpu")
    except TaskError:
        raise
    except BUILDING_ERRORS as error:
        raise TaskError(f"the task's own code fails: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


class _Capture:
    """One walk over a traced program."""

    def __init__(self, reference: Reference, traced: Trace) -> None:
        self.reference = reference
        self.traced = traced
        self.state = _state(reference.model)
        self.arguments = _arguments(reference)
        self.constants: list[Constant] = []
        taken = {value.name for value in self.state} | {argument.name for argument in self.arguments}
        self.reserved = taken | RESERVED
        self.builder = Builder(self.reserved)
        self.found: dict[str, Operand] = {}
        self.outputs: tuple[Operand, ...] = ()

    def graph(self) -> Graph:
        for node in self.traced.graph.nodes:
            self._visit(node)
        model = self.reference.model
        surface = Surface(
            class_doc=inspect.cleandoc(type(model).__doc__ or ""),
            constructor=constructor_text(type(model)),
            arguments=self.arguments,
            state=self.state,
            constants=(*self.constants, *self.builder.constants),
            settings={
                name: item
                for name, item in self.reference.settings.items()
                if item is None or isinstance(item, bool | int | float | str)
            },
            frozen=frozenset(name for name, item in model.named_parameters() if not item.requires_grad),
        )
        inputs = tuple(a.content for a in self.arguments if isinstance(a.content, Value))
        graph = Graph(
            inputs=inputs,
            nodes=live(self.builder.nodes, self.outputs),
            outputs=self.outputs,
            output_structure=_structure(self.traced.output_spec),
            surface=surface,
            shortcuts=(*self.builder.shortcuts, *([Shortcut.UNREAD] if self.traced.unread else [])),
        )
        return simplify(graph, self.reserved | {constant.value.name for constant in surface.constants})

    def _visit(self, node: fx.Node) -> None:
        match node.op:
            case "placeholder":
                self.found[node.name] = self._placeholder(node)
            case "get_attr":
                self.found[node.name] = self._constant(str(node.target))
            case "call_function":
                self.found[node.name] = self._called(node)
            case "output":
                leaves = cast(tuple[object, ...], node.args[0])
                self.outputs = tuple(self._returned(self._operand(leaf)) for leaf in leaves)
            case _:
                raise Declined("forward", f"{node.op} {node.target} in the traced program")

    def _placeholder(self, node: fx.Node) -> Operand:
        binding = self.traced.bindings[node.name]
        match binding.source:
            case Source.INPUT:
                return _as_operand(self.arguments[binding.position].content)
            case Source.PARAMETER | Source.BUFFER:
                return View.whole(self._of_state(binding))
            case Source.CONSTANT | Source.NODE:
                return self._constant(binding.path)

    def _of_state(self, binding: Binding) -> Value:
        return next(value for value in self.state if value.path == binding.path)

    def _constant(self, path: str) -> Operand:
        tensor = self.traced.constants[path]
        if tensor.numel() == 1 and tensor.dim() == 0:
            return tensor.item()
        expression = constant_expression(tensor)
        if expression is None:
            raise Declined(
                path, "is made by the constructor and is in no state_dict; register it as a buffer"
            )
        name = path.replace(".", "_")
        value = Value(
            name=name,
            shape=tuple(tensor.shape),
            dtype=_dtype_name(tensor.dtype),
            source=Source.CONSTANT,
            path=name,
        )
        if all(constant.value != value for constant in self.constants):
            self.constants.append(Constant(value=value, expression=expression))
        return View.whole(value)

    def _called(self, node: fx.Node) -> Operand:
        if node.target is operator.getitem:
            results = self._operand(node.args[0])
            return cast(tuple[Operand, ...], results)[cast(int, node.args[1])]
        if not isinstance(node.target, torch._ops.OpOverload):
            raise Declined(str(node.target), "no recipe yet")
        call = Call(
            op=node.target._schema.name.split("::")[1],
            arguments=self._named_arguments(node, node.target),
            results=_results(node),
        )
        try:
            return lower(self.builder, call)
        except AssertionError as error:
            raise Declined(f"aten.{call.op}", f"no recipe yet for this form of it ({error})") from error

    def _named_arguments(self, node: fx.Node, target: torch._ops.OpOverload) -> dict[str, Operand]:
        arguments: dict[str, Operand] = {}
        for position, formal in enumerate(target._schema.arguments):
            if formal.name in TENSOR_OPTIONS:
                continue
            if position < len(node.args):
                actual = node.args[position]
            else:
                actual = node.kwargs.get(formal.name, formal.default_value)
            arguments[formal.name] = self._operand(actual)
        return arguments

    def _operand(self, item: object) -> Operand:
        if isinstance(item, fx.Node):
            return self.found[item.name]
        if isinstance(item, list | tuple):
            return tuple(self._operand(entry) for entry in item)
        if item is None or isinstance(item, bool | int | float | str):
            return item
        return str(item)

    def _returned(self, operand: Operand) -> Operand:
        """An output that is an input, or a view of one, is returned as a copy: callers may write into it.

        So is a flipped view, which no tensor can be.
        """
        if isinstance(operand, View) and (operand.value.source is not Source.NODE or is_flipped(operand)):
            shape, dtype = operand.shape, operand.dtype
            return self.builder.pointwise("copy", operand, shape=shape, dtype=dtype)
        return operand


# Arguments of every factory function, which say nothing about what is computed.
TENSOR_OPTIONS = ("dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking", "generator")

# Names that generated code uses for itself.
RESERVED = {"self", "torch", "nn", "cuda_extension", "row", "rows", "cols", "col", "lane", "warp", "index"}


def _state(model: nn.Module) -> tuple[Value, ...]:
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    return tuple(
        Value(
            name=path.replace(".", "_"),
            shape=tuple(tensor.shape),
            dtype=_dtype_name(tensor.dtype),
            source=Source.PARAMETER if path in parameters else Source.BUFFER,
            path=path,
        )
        for path, tensor in model.state_dict().items()
    )


def _arguments(reference: Reference) -> tuple[Argument, ...]:
    formals = [
        formal
        for formal in inspect.signature(reference.model.forward).parameters.values()
        if formal.kind is not formal.VAR_KEYWORD
    ]
    if any(formal.kind is formal.VAR_POSITIONAL for formal in formals):
        raise Declined("forward", "takes *args; name its arguments")
    arguments: list[Argument] = []
    for position, formal in enumerate(formals):
        default = None if formal.default is formal.empty else default_text(formal.default)
        if position < len(reference.arguments):
            content = _argument_content(formal.name, reference.arguments[position])
        else:
            content = cast(Number | str | None, formal.default)
        arguments.append(Argument(name=formal.name, content=content, default=default))
    return tuple(arguments)


def _argument_content(name: str, given: object) -> Value | Number | str | None:
    if isinstance(given, torch.Tensor):
        dtype = _dtype_name(given.dtype)
        return Value(name=name, shape=tuple(given.shape), dtype=dtype, source=Source.INPUT)
    if given is None or isinstance(given, bool | int | float | str):
        return given
    raise Declined("forward", f"argument {name} is a {type(given).__name__}; tensors and numbers are covered")


def _as_operand(content: Value | Number | str | None) -> Operand:
    return View.whole(content) if isinstance(content, Value) else content


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _results(node: fx.Node) -> tuple[tuple[tuple[int, ...], str], ...]:
    made = node.meta.get("val", node.meta.get("tensor_meta"))
    items = made if isinstance(made, list | tuple) else [made]
    if any(isinstance(item, torch.SymInt | torch.SymFloat | torch.SymBool) for item in items):
        raise Declined(str(node.target), "reads a number out of a tensor, which a kernel cannot wait for")
    made_tensors = [item for item in items if item is not None]
    if any(isinstance(size, torch.SymInt) for item in made_tensors for size in item.shape):
        raise Declined(str(node.target), "the shape of its result depends on values")
    return tuple((tuple(int(n) for n in item.shape), _dtype_name(item.dtype)) for item in made_tensors)


def _structure(spec: pytree.TreeSpec) -> str:
    """The returned containers as a Python expression over {0}, {1}, …"""
    tree = pytree.tree_unflatten([_Mark(f"{{{k}}}") for k in range(spec.num_leaves)], spec)
    return repr(pytree.tree_map(_callable_text, tree, is_leaf=_is_named_result))


def _is_named_result(item: object) -> bool:
    """What max along an axis returns, and others of torch.return_types."""
    return type(item).__module__ == "torch.return_types"


def _callable_text(item: object) -> object:
    """Unlike their repr, an expression that makes the same again."""
    if not _is_named_result(item):
        return item
    return _Mark(f"torch.return_types.{type(item).__name__}({tuple(cast(tuple[object, ...], item))!r})")


class _Mark:
    """What prints as `text`."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text
