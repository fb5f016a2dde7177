"""Python's text as a syntax tree, in programs of several threads."""

import ast
import threading

_TURN = threading.RLock()


def parsed(source: str) -> ast.Module:
    """`ast.parse`, one thread at a time. Raises what that raises.

    CPython counts how deep the trees are that it makes for the whole interpreter: where another thread comes
    in between, as it may when garbage is collected, the count is off, and it raises SystemError ("AST
    constructor recursion depth mismatch"; seen on 3.11.7, compare python/cpython#106905).
    """
    with _TURN:
        return ast.parse(source)
