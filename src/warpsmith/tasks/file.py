"""A task from a file in KernelBench's format: `Model`, `get_inputs` and `get_init_inputs`."""

import ast
from pathlib import Path

from warpsmith.core import Task, TaskError, UsageError
from warpsmith.tasks.base import Request
from warpsmith.tasks.scale import with_scale
from warpsmith.tasks.source import definitions, parse, read_source

REQUIRED = ("Model", "get_inputs", "get_init_inputs")


class FileSource:
    """Anything that is not written in another source's form is a path."""

    form = "a Python file (path/to/task.py)"

    def accepts(self, spec: str) -> bool:
        return bool(spec)

    def load(self, request: Request) -> Task:
        path = Path(request.spec)
        if request.inputs or request.init is not None:
            raise UsageError(
                f"{path} has its own get_inputs; inputs are given only with package.module:Class"
            )
        source = read_source(path)
        check_format(source, str(path))
        source, scale = with_scale(source, str(path), request.scale, request.device_kind)
        return Task(task_id=path.stem, source=source, provenance=str(path.resolve()), scale=scale)


def check_format(source: str, name: str) -> None:
    """Raises TaskError if the file does not define what a task needs, as far as its text tells."""
    tree = parse(source, name)
    defined = definitions(tree)
    missing = [wanted for wanted in REQUIRED if not defined.has(wanted)]
    if missing:
        raise TaskError(
            f"{name} does not define {' or '.join(missing)} ({defined.summary}); a task has a class Model "
            f"and functions get_inputs() and get_init_inputs(), as in KernelBench"
        )
    for function in tree.body:
        if (
            isinstance(function, ast.FunctionDef)
            and function.name in REQUIRED
            and _num_required(function.args)
        ):
            raise TaskError(
                f"{name}, line {function.lineno}: {function.name} must be callable without arguments"
            )


def _num_required(arguments: ast.arguments) -> int:
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional + sum(default is None for default in arguments.kw_defaults)
