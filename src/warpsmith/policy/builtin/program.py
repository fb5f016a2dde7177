"""A planned graph as the files of a candidate: `model_new.py` and the kernels it calls."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from warpsmith.core.candidate import MODULE, Candidate
from warpsmith.policy.builtin.graph import Argument, Graph, Operand, Shortcut, Source, Value, View
from warpsmith.policy.builtin.plan import Plan, recipe_of
from warpsmith.policy.builtin.recipes.base import Part, Variant
from warpsmith.policy.builtin.sharing import with_few_files, with_shared_kernels

EXPECT = '''\
def _expect(name: str, tensor: torch.Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """`tensor` as it lies in memory. The kernels are built for one shape, and would read past an end."""
    if tuple(tensor.shape) != shape or tensor.dtype is not dtype:
        found = f"{tensor.dtype}{list(tensor.shape)}"
        raise ValueError(f"{name} must be {dtype}{list(shape)}, not {found}; generate a program for that")
    return tensor.contiguous()'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A candidate, and for a reader what each of its kernels does."""

    candidate: Candidate
    notes: tuple[str, ...]


def write_program(graph: Graph, plan: Plan, choice: Mapping[str, Variant]) -> Candidate:
    """The candidate that runs `plan`, each group in the variant that `choice` has under the group's name."""
    return write(graph, plan, choice).candidate


def write(graph: Graph, plan: Plan, choice: Mapping[str, Variant]) -> Program:
    """As `write_program`, with the notes on its kernels."""
    emitted = [recipe_of(group).emit(group, choice[group.name]) for group in plan.groups]
    parts = with_few_files(with_shared_kernels(plan.groups, emitted))
    graph = _with_constants_read(graph, plan)
    files = {MODULE: _module_text(graph, parts)}
    for part in parts:
        files |= dict(part.headers)
        if part.file is not None:
            files[part.file] = part.source
    notes = (*(part.note for part in parts), *(f"Shortcut: {shortcut}." for shortcut in plan.shortcuts))
    return Program(candidate=Candidate.of(files), notes=notes)


def _with_constants_read(graph: Graph, plan: Plan) -> Graph:
    """`graph` without the constants that no kernel reads from memory."""
    read = {value for group in plan.groups for value in group.inputs}
    constants = tuple(constant for constant in graph.surface.constants if constant.value in read)
    return replace(graph, surface=replace(graph.surface, constants=constants))


def _module_text(graph: Graph, parts: tuple[Part, ...]) -> str:
    helpers = dict.fromkeys([EXPECT, *(helper for part in parts for helper in part.helpers)])
    pieces = [
        _docstring(parts, graph.shortcuts),
        "import cuda_extension\nimport torch\nfrom torch import nn",
        *(f"\n{helper}" for helper in helpers),
        f"\n{_class_text(graph, parts)}",
    ]
    return "\n\n".join(pieces) + "\n"


def _docstring(parts: tuple[Part, ...], shortcuts: tuple[Shortcut, ...]) -> str:
    lines = [
        "Drop-in replacement for Model: same constructor, same state_dict, its forward in CUDA kernels.",
        "",
    ]
    lines += [f"{part.file or 'no file'}: {part.note}" for part in parts]
    lines += [f"Shortcut: {shortcut}." for shortcut in shortcuts]
    return '"""' + "\n".join(lines).rstrip() + '\n"""'


def _class_text(graph: Graph, parts: tuple[Part, ...]) -> str:
    surface = graph.surface
    constructor = f"self, {surface.constructor}" if surface.constructor else "self"
    forward = ", ".join(["self", *(_formal(argument) for argument in surface.arguments)])
    doc = (surface.class_doc.splitlines() or ["The module's forward, in CUDA kernels."])[0].replace(
        "\\", "\\\\"
    )
    lines = [
        "class ModelNew(nn.Module):",
        f'    """{doc}"""'.replace('""""', '"""'),
        "",
        f"    def __init__({constructor}) -> None:",
        "        super().__init__()",
        *("        " + line for line in _settings_check(graph) + _state_lines(graph)),
        *("        " + line for part in parts for line in part.setup),
        "",
        f"    def forward({forward}):",
        *("        " + line for line in _entry_lines(graph)),
        *("        " + line for part in parts for line in part.forward),
        f"        return {_returned(graph)}",
    ]
    return "\n".join(lines)


def _formal(argument: Argument) -> str:
    kind = ": torch.Tensor" if isinstance(argument.content, Value) else ""
    if argument.default is None:
        return f"{argument.name}{kind}"
    return f"{argument.name}{kind} = {argument.default}" if kind else f"{argument.name}={argument.default}"


def _settings_check(graph: Graph) -> list[str]:
    """Constants that follow from the constructor's arguments are inlined, so other arguments are refused."""
    settings = graph.surface.settings
    if not settings:
        return []
    given, fixed = ", ".join(settings), ", ".join(map(_literal, settings.values()))
    named = ", ".join(f"{name}={_literal(item)}" for name, item in settings.items()).replace('"', "'")
    return [
        f"if [{given}] != [{fixed}]:",
        f'    raise ValueError("these kernels were generated for {named}")',
    ]


def _literal(item: object) -> str:
    if isinstance(item, float) and item - item != 0.0:
        return f'float("{item}")'
    return repr(item)


def _state_lines(graph: Graph) -> list[str]:
    """Parameters and buffers under the reference's names. They hold nothing until a state_dict is loaded."""
    surface = graph.surface
    paths = [value.path or "" for value in surface.state]
    lines = _holder_lines("self", paths)
    for value in surface.state:
        owner, _, name = (value.path or "").rpartition(".")
        empty = f"torch.empty({_shape(value.shape)}, dtype=torch.{value.dtype})"
        if value.source is Source.BUFFER:
            lines.append(f'{_owner(owner)}.register_buffer("{name}", {empty})')
            continue
        is_fixed = value.path in surface.frozen or value.dtype not in (
            "float16",
            "bfloat16",
            "float32",
            "float64",
        )
        flag = ", requires_grad=False" if is_fixed else ""
        lines.append(f"{value.expression} = nn.Parameter({empty}{flag})")
    lines += [
        f'self.register_buffer("{constant.value.path}", {constant.expression}, persistent=False)'
        for constant in surface.constants
    ]
    return lines


def _holder_lines(owner: str, paths: list[str]) -> list[str]:
    """The modules that hold the parameters: numbered ones in a ModuleDict, named ones in a bare Module."""
    children: dict[str, list[str]] = {}
    for path in paths:
        head, _, rest = path.partition(".")
        if rest:
            children.setdefault(head, []).append(rest)
    lines: list[str] = []
    for name, below in children.items():
        holder = f'{owner}["{name}"]' if name.isdigit() else f"{owner}.{name}"
        kind = "nn.ModuleDict()" if below[0].split(".")[0].isdigit() else "nn.Module()"
        lines.append(f"{holder} = {kind}")
        lines += _holder_lines(holder, below)
    return lines


def _owner(path: str) -> str:
    steps = (f'["{step}"]' if step.isdigit() else f".{step}" for step in path.split(".") if step)
    return "self" + "".join(steps)


def _entry_lines(graph: Graph) -> list[str]:
    """What forward checks at the door."""
    used = {view.value for node in graph.nodes for view in node.views}
    lines: list[str] = []
    for argument in graph.surface.arguments:
        content = argument.content
        if isinstance(content, Value):
            if content in used:
                name, shape = content.name, _tuple(content.shape)
                lines.append(f'{name} = _expect("{name}", {name}, {shape}, torch.{content.dtype})')
            continue
        test = (
            f"{argument.name} is not None" if content is None else f"{argument.name} != {_literal(content)}"
        )
        lines += [
            f"if {test}:",
            f'    raise ValueError("these kernels were generated for {argument.name}={content}")',
        ]
    return lines


def _tuple(shape: tuple[int, ...]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else str(shape)


def _shape(shape: tuple[int, ...]) -> str:
    return str(shape[0]) if len(shape) == 1 else str(shape)


def _returned(graph: Graph) -> str:
    structure = graph.output_structure
    for place, operand in enumerate(graph.outputs):
        structure = structure.replace(f"{{{place}}}", _output(operand))
    return structure


def _output(operand: Operand) -> str:
    if not isinstance(operand, View):
        return _literal(operand)
    name = operand.value.expression
    if not operand.is_in_order:
        return f"{name}.as_strided({_tuple(operand.shape)}, {_tuple(operand.strides)}, {operand.offset})"
    return name if operand.shape == operand.value.shape else f"{name}.view({_tuple(operand.shape)})"
