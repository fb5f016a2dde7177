"""Writing an order needs neither verl nor torch."""

import subprocess
import sys

ROOM = "warpsmith.learn.engines.verl"


def test_verl_and_torch_are_not_imported_before_they_are_needed():
    imports = ", ".join(f"{ROOM}.{module}" for module in ("order", "launch", "rows", "acting", "environment"))
    imports += ", warpsmith.cli.train.engines"
    code = f"import sys, {imports}; print(*({{'torch', 'verl'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
