"""`python -m warpsmith.judge.guest.capture FOLDER CALLS`: which calls of load_inline does a program make?

Imports FOLDER/model_new.py with a stand-in for torch's loader and writes each call to CALLS, one JSON line
each. Calls that stand in a function are tried too, with what of their arguments can be had without running
the function: constants and the module's own names.
"""

import ast
import importlib
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from warpsmith.core import InlineCall
from warpsmith.core.codec import to_json
from warpsmith.judge.guest import inline

LOADERS = ("load_inline", "load")


class Recorder:
    """Notes each distinct call, at once: the program may end at any time."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: set[str] = set()

    def answer(self, call: InlineCall) -> ModuleType:
        if call.digest not in self._seen:
            self._seen.add(call.digest)
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(to_json(call) + "\n")
        return _Anything("built later")


class _Anything(ModuleType):
    """A module whose functions can be taken hold of, and not called."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _not_callable


def _not_callable(*_: object, **__: object) -> object:
    raise inline.NotBuilt("functions of load_inline cannot be called while the module is imported")


def main() -> None:
    folder, file = Path(sys.argv[1]), Path(sys.argv[2])
    warnings.simplefilter("ignore")
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    inline.install(folder, Recorder(file).answer)
    try:
        module = importlib.import_module("model_new")
    except ImportError as error:
        if error.name != "cuda_extension":
            traceback.print_exc()
        return
    _try_calls_in_functions(ast.parse((folder / "model_new.py").read_text(encoding="utf-8")), module)


def _try_calls_in_functions(tree: ast.Module, module: ModuleType) -> None:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and any(map(_is_loader, ast.walk(function))):
            names = dict(vars(module))
            for statement in _statements(function.body):
                _try_statement(statement, names)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Simple statements in the order of the text, whatever they stand in."""
    for statement in body:
        blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
        if not any(blocks):
            yield statement
        elif not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for block in blocks:
                yield from _statements(block)


def _try_statement(statement: ast.stmt, names: dict[str, object]) -> None:
    """Run an assignment of plain names, or the call of a loader that it holds."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and _is_loader(node)]
    is_plain = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    tries: list[ast.Expression | ast.Module] = [ast.Expression(call) for call in calls]
    if is_plain and not calls:
        tries = [ast.Module(body=[statement], type_ignores=[])]
    for part in tries:
        try:
            if isinstance(part, ast.Expression):
                eval(compile(part, "model_new.py", "eval"), names)  # the program's own text
            else:
                exec(compile(part, "model_new.py", "exec"), names)  # likewise
        # It may need what only a running function has; then the call is not seen, and the guest says so.
        except Exception:  # noqa: BLE001
            continue


def _is_loader(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in LOADERS


if __name__ == "__main__":
    main()
