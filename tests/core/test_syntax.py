"""Trees of Python's text, from many threads at once."""

import ast
from concurrent.futures import ThreadPoolExecutor

import pytest

from warpsmith.core.syntax import parsed

TEXT = "\n".join(
    f"def f{n}(a, b=[{n}]):\n    return [a + b[0] for a in range({n}) if (a, b)]" for n in range(60)
)


def test_many_threads_get_the_same_tree():
    expected = ast.dump(ast.parse(TEXT))
    with ThreadPoolExecutor(8) as pool:
        assert {ast.dump(tree) for tree in pool.map(parsed, [TEXT] * 64)} == {expected}


@pytest.mark.parametrize("text", ["def", "x\x00", "(" * 500])
def test_what_is_no_python_is_refused_as_by_python(text):
    with pytest.raises((SyntaxError, ValueError, MemoryError)):
        parsed(text)
    assert isinstance(parsed("x = 1"), ast.Module)
