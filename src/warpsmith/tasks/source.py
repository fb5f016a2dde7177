"""What a Python file defines, read from its syntax tree; nothing is executed."""

import ast
import stat
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import UsageError
from warpsmith.core.syntax import parsed

MAX_SOURCE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """The names bound at the top level of a file, by how they are bound."""

    classes: tuple[str, ...]
    functions: tuple[str, ...]
    others: tuple[str, ...]  # imports and assignments
    is_open: bool  # a star import or a module's __getattr__ may bind more

    def has(self, name: str) -> bool:
        """Whether `name` is bound, or may be."""
        return self.is_open or name in (*self.classes, *self.functions, *self.others)

    @property
    def summary(self) -> str:
        """What there is, for the error that says what there is not."""
        classes, functions = (", ".join(names[:8]) or "none" for names in (self.classes, self.functions))
        return f"classes: {classes}; functions: {functions}"


def read_source(path: Path) -> str:
    """The text of a Python file. Raises UsageError, one line, for whatever is not one."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            there = ", ".join(sorted(child.name for child in path.glob("*.py"))[:8])
            raise UsageError(f"{path} is a folder; name a file in it ({there or 'it has no *.py'})")
        if not stat.S_ISREG(mode):
            raise UsageError(f"{path} is not a regular file")
        if path.stat().st_size > MAX_SOURCE_BYTES:
            raise UsageError(f"{path} is larger than {MAX_SOURCE_BYTES >> 20} MiB; that is no task file")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start}); a task is a Python file") from error
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such file") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def parse(source: str, name: str) -> ast.Module:
    """The syntax tree. Raises UsageError, one line, if `source` is not Python."""
    try:
        return parsed(source)
    except SyntaxError as error:
        raise UsageError(f"{name}, line {error.lineno}: not valid Python ({error.msg})") from error
    except (
        ValueError,
        RecursionError,
        MemoryError,
    ) as error:  # null bytes; nesting beyond the parser's stack
        raise UsageError(f"{name}: not valid Python ({str(error) or type(error).__name__})") from error


def definitions(tree: ast.Module) -> Definitions:
    """The names that the file binds at its top level, also those inside if, try and with."""
    statements = _top_level(tree.body)
    functions = [s.name for s in statements if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)]
    imports = [alias for s in statements if isinstance(s, ast.Import | ast.ImportFrom) for alias in s.names]
    others = [(alias.asname or alias.name).partition(".")[0] for alias in imports]
    others += [target.id for s in statements for target in _assigned_names(s)]
    return Definitions(
        classes=tuple(s.name for s in statements if isinstance(s, ast.ClassDef)),
        functions=tuple(functions),
        others=tuple(others),
        is_open="*" in others or "__getattr__" in functions,
    )


def _assigned_names(statement: ast.stmt) -> list[ast.Name]:
    """The plain names that an assignment binds; tuples are looked into."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    else:
        return []
    flat = [
        part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]
    return [target for target in flat if isinstance(target, ast.Name)]


def _top_level(body: list[ast.stmt]) -> list[ast.stmt]:
    statements = []
    for statement in body:
        statements.append(statement)
        for block in ("body", "orelse", "finalbody", "handlers"):
            if isinstance(statement, ast.If | ast.Try | ast.With):
                inner = getattr(statement, block, [])
                nested = [
                    s
                    for part in inner
                    for s in (part.body if isinstance(part, ast.ExceptHandler) else [part])
                ]
                statements += _top_level(nested)
    return statements
