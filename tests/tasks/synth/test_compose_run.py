"""What is composed of torch's own operators runs, at a small scale, and answers with numbers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from warpsmith.tasks.scale import with_scale
from warpsmith.tasks.synth.base import Provenance
from warpsmith.tasks.synth.compose import Recipe, composed
from warpsmith.tasks.synth.seeds.operator import Operator
from warpsmith.tasks.synth.seeds.tables import ROWS

NUM_TASKS = 60
LEAST_GOOD = 0.9
SMALL = 1e-4

PROGRAM = """
import json, sys, warnings
from pathlib import Path
import torch

torch.set_num_threads(1)
warnings.simplefilter("ignore")
for path in sorted(Path(sys.argv[1]).glob("*.py")):
    task = {"__name__": "task"}
    torch.manual_seed(0)
    try:
        with torch.no_grad():
            exec(path.read_text(), task)
            y = task["Model"](*task["get_init_inputs"]()).eval()(*task["get_inputs"]())
        said = "finite" if bool(torch.isfinite(y).all()) else "not finite"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    print(json.dumps([path.stem, said]), flush=True)
"""


@pytest.mark.slow
def test_nine_of_ten_tasks_run_and_answer_with_finite_numbers(tmp_path: Path):
    seeds = [
        Operator(
            provenance=Provenance(library="torch", version="0", licence="BSD-3-Clause", name=name),
            kind=row.kind,
            patterns=row.patterns,
        )
        for name, row in ROWS.items()
    ]
    # Widths are as ever; a narrow band keeps what a CPU has to compute small.
    for made in composed(seeds, Recipe(n=NUM_TASKS, seed=5, band_ms=(0.1, 1.0))):
        source, _ = with_scale(made.task.source, made.task.task_id, SMALL, "cpu")
        (tmp_path / f"{made.task.task_id}.py").write_text(source)
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=900,
        check=True,
    )
    said = dict(json.loads(line) for line in process.stdout.splitlines())
    assert len(said) == NUM_TASKS
    good = [name for name, text in said.items() if text == "finite"]
    assert len(good) >= LEAST_GOOD * NUM_TASKS, {
        name: text for name, text in said.items() if text != "finite"
    }
