"""A task from an importable module: `package.module:Class` with a line for each input."""

import ast
import json
import re
import site
import sys
import sysconfig
from pathlib import Path
from typing import Any

from warpsmith.core import Task, TaskError, UsageError
from warpsmith.tasks.base import Request
from warpsmith.tasks.inputs import InputSpec
from warpsmith.tasks.source import definitions, parse, read_source

_FORM = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


class ModuleSource:
    """A class that can be imported from the folder one stands in, or from what is installed."""

    form = "an importable class (package.module:Class, with inputs)"

    def accepts(self, spec: str) -> bool:
        return _FORM.fullmatch(spec) is not None

    def load(self, request: Request) -> Task:
        module, _, class_name = request.spec.partition(":")
        if request.scale is not None:
            raise UsageError(f"{request.spec} has no SCALE; choose the sizes in its inputs instead")
        if not request.inputs:
            raise UsageError(f"{request.spec} needs a line for each input of forward, such as f32[64,1024]")
        inputs = [InputSpec.parse(text) for text in request.inputs]
        folder, path = _find(module)
        definition = _definition(path, class_name)
        source = _source(request, inputs, folder=folder, definition=definition)
        parse(source, request.spec)
        return Task(task_id=class_name, source=source, provenance=f"{request.spec} ({path})")


def _find(module: str) -> tuple[Path, Path]:
    """The folder on the import path that holds `module`, and its file. Found by name: importing runs code."""
    relative = Path(*module.split("."))
    folders = [Path.cwd(), *(Path(entry) for entry in sys.path if entry)]
    for folder in folders:
        for path in (folder / relative / "__init__.py", folder / relative.with_suffix(".py")):
            if path.is_file():
                return folder.resolve(), path.resolve()
        compiled = sorted((folder / relative.parent).glob(f"{relative.name}.*.so"))
        if compiled:
            return folder.resolve(), compiled[0].resolve()
    if module.endswith(".py"):
        raise UsageError(f"a file is named by its path alone: {module}, not {module}:Class")
    raise UsageError(
        f"no module {module} in {Path.cwd()} or on Python's path; stand in the folder that holds it"
    )


def _definition(path: Path, class_name: str) -> str:
    """The text of the class, if its file has it. Raises TaskError if the file cannot have such a class."""
    if path.suffix != ".py":
        return ""
    source = read_source(path)
    tree = parse(source, str(path))
    defined = definitions(tree)
    if not defined.has(class_name):
        raise TaskError(f"{path} defines no {class_name} ({defined.summary})")
    if class_name in defined.functions:
        raise TaskError(f"{path}: {class_name} is a function; a task is a class derived from torch.nn.Module")
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            return ast.get_source_segment(source, node) or ""
    return ""


def _source(request: Request, inputs: list[InputSpec], *, folder: Path, definition: str) -> str:
    module, _, class_name = request.spec.partition(":")
    arguments, keywords = _constructor_arguments(request.init)
    imports = [] if _is_installed(folder) else ["import sys", "", f"sys.path.insert(0, {str(folder)!r})", ""]
    lines = [
        f'"""{request.spec}, with inputs {", ".join(text.strip() for text in request.inputs)}."""',
        "",
        *imports,
        "import torch",
        "",
        f"from {module} import {class_name} as {'_Module' if keywords else 'Model'}",
        *(_subclass(keywords) if keywords else ()),
        "",
        "",
        "def get_init_inputs():",
        f"    return {arguments!r}",
        "",
        "",
        "def get_inputs():",
        f"    return [{', '.join(spec.expression for spec in inputs)}]",
    ]
    if definition:  # for the reader, and so that the task's digest changes with the class
        lines += [
            "",
            "",
            "# The class, for reading only:",
            *(f"#   {line}".rstrip() for line in definition.split("\n")),
        ]
    return "\n".join(lines) + "\n"


def _subclass(keywords: dict[str, Any]) -> list[str]:
    given = ", ".join(f"{name}={value!r}" for name, value in keywords.items())
    return ["", "", "class Model(_Module):", "    def __init__(self):", f"        super().__init__({given})"]


def _constructor_arguments(init: str | None) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named arguments. Raises UsageError unless `init` is a JSON list or object."""
    try:
        value = json.loads(init or "[]")
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"constructor arguments {init!r:.80} are not JSON ({error}); write [4096, 1e-6]"
        ) from error
    if isinstance(value, list):
        return value, {}
    if isinstance(value, dict) and all(name.isidentifier() for name in value):
        return [], value
    raise UsageError(
        f'constructor arguments are a JSON list or object, such as [4096] or {{"width": 4096}}: {init!r:.80}'
    )


def _is_installed(folder: Path) -> bool:
    """Whether every Python of this installation finds `folder` by itself."""
    known = [*sysconfig.get_paths().values(), *site.getsitepackages()]
    return folder in {Path(path).resolve() for path in known}
