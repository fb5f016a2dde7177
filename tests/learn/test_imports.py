"""What costs nothing until it is needed."""

import subprocess
import sys

LIGHT = (
    "rewards",
    "rubric",
    "trajectory",
    "config",
    "monitors",
    "sources",
    "grading",
    "recipes.toy",
    "toy.tuning",
)


def test_torch_is_imported_only_where_a_tensor_is_touched():
    imports = ", ".join(f"warpsmith.learn.{module}" for module in LIGHT)
    code = f"import sys, {imports}; print(*(m for m in ('torch', 'transformers') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
