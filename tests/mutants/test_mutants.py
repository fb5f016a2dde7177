"""Correct kernels pass, and each of twenty-five small faults in them is seen on the `cpu` device."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from warpsmith.core import Candidate, Crashed, Passed, Task, Wrong
from warpsmith.device import select_device
from warpsmith.judge import Judge
from warpsmith.sandbox import pick
from warpsmith.toolchain import Toolchain
from warpsmith.toolchain.store import Store

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Mutant:
    """A fault: in `path` of `program`, `old` (which stands there once) becomes `new`."""

    program: str
    fault: str
    old: str
    new: str
    path: str = "kernel"


FRESH = "    def forward(self, a, b):\n        y = torch.empty_like(a)"
KEPT = """    kept = None

    def forward(self, a, b):
        if self.kept is None:
            self.kept = torch.empty_like(a)
        y = self.kept"""

MUTANTS = (
    Mutant(
        "rmsnorm",
        "last column is left out of the sum",
        "i < cols; i += blockDim.x) sum",
        "i < cols - 1; i += blockDim.x) sum",
    ),
    Mutant(
        "rmsnorm",
        "tail of each row is not written",
        "i < cols; i += blockDim.x) y",
        "i < cols / 4 * 4; i += blockDim.x) y",
    ),
    Mutant(
        "rmsnorm",
        "last warp is left out of the sum",
        "warp < (int)blockDim.x / 32",
        "warp < (int)blockDim.x / 32 - 1",
    ),
    Mutant("rmsnorm", "warp reduction stops early", "offset > 0", "offset > 1"),
    Mutant("rmsnorm", "every row reads the first", "x + (size_t)blockIdx.x * cols", "x"),
    Mutant("rmsnorm", "last row is not computed", "<<<rows,", "<<<rows - 1,"),
    Mutant(
        "softmax",
        "maximum starts at zero and is never subtracted",
        "expf(row[i] - best) / sum",
        "expf(row[i]) / sum",
    ),
    Mutant("softmax", "sum tree leaves out a level", "sum = tree[0]", "sum = tree[0] - tree[1]"),
    Mutant(
        "softmax",
        "wrong stride over the row",
        "i < cols; i += THREADS) sum",
        "i < cols; i += THREADS + 1) sum",
    ),
    Mutant("softmax", "each thread divides by its own partial sum", "sum = tree[0]", "sum = tree[thread]"),
    Mutant(
        "softmax",
        "one column past the row is summed",
        "i < cols; i += THREADS) sum",
        "i <= cols; i += THREADS) sum",
    ),
    Mutant("axpby", "grid rounded down: no thread for the tail", "(count + 255) / 256", "count / 256"),
    Mutant("axpby", "last element is not written", "i < count", "i < count - 1"),
    Mutant("axpby", "block index is forgotten", "blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x"),
    Mutant(
        "axpby", "nothing is launched", "kernel<<<(count + 255) / 256, 256, 0, stream>>>(a, b, y, count);", ""
    ),
    Mutant(
        "axpby",
        "operands are exchanged",
        "cuda_extension.axpby(a, b,",
        "cuda_extension.axpby(b, a,",
        "model_new.py",
    ),
    Mutant("axpby", "every call returns the same buffer", FRESH, KEPT, "model_new.py"),
    Mutant("axpby", "too many threads a block", "256, 0, stream", "2048, 0, stream"),
    Mutant(
        "axpby",
        "writes over its input",
        "cuda_extension.axpby(a, b, y, ",
        "cuda_extension.axpby(a, b, a, ",
        "model_new.py",
    ),
    Mutant(
        "transpose",
        "wrong stride of the output",
        "y[out_row * rows + out_col]",
        "y[out_row * cols + out_col]",
    ),
    Mutant(
        "transpose",
        "tile is read as it was written",
        "tile[threadIdx.x][threadIdx.y]",
        "tile[threadIdx.y][threadIdx.x]",
    ),
    Mutant("transpose", "edge tiles are left out", "(rows + 31) / 32", "rows / 32"),
    Mutant(
        "matmul",
        "last tile of the inner dimension is left out",
        "tile < k; tile += 16",
        "tile + 16 < k; tile += 16",
    ),
    Mutant("matmul", "one product of each tile is left out", "i < 16; ++i", "i < 15; ++i"),
    Mutant(
        "matmul", "no barrier between load and use", "    __syncthreads();\n    for (int i", "    for (int i"
    ),
)


def program(name: str) -> dict[str, str]:
    folder = PROGRAMS / name
    return dict(Candidate.from_folder(folder).files)


def mutate(mutant: Mutant) -> Candidate:
    files = program(mutant.program)
    path = f"kernels/{mutant.program}.cu" if mutant.path == "kernel" else mutant.path
    assert files[path].count(mutant.old) == 1, f"{mutant.old!r} must stand once in {path}"
    files[path] = files[path].replace(mutant.old, mutant.new)
    return Candidate.of(files)


@pytest.fixture(scope="module")
def judges(tmp_path_factory):
    """A judge for each program, started when first asked for."""
    device = select_device("cpu")
    sandbox = pick("process")
    toolchain = Toolchain(device=device, store=Store(tmp_path_factory.mktemp("store")), runner=sandbox)
    opened: dict[str, Judge] = {}

    def judge(name: str) -> Judge:
        if name not in opened:
            task = Task(task_id=name, source=(PROGRAMS / name / "task.py").read_text(), provenance="tests")
            opened[name] = Judge(task, device=device, sandbox=sandbox, toolchain=toolchain).__enter__()
        return opened[name]

    yield judge
    for open_judge in opened.values():
        open_judge.__exit__(None, None, None)


@pytest.mark.parametrize("name", sorted(path.name for path in PROGRAMS.iterdir()))
def test_the_program_itself_passes(judges, name):
    verdict = judges(name).verify(Candidate.of(program(name)))
    assert isinstance(verdict, Passed), verdict


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.program}: {mutant.fault}")
def test_the_fault_is_seen(judges, mutant):
    verdict = judges(mutant.program).verify(mutate(mutant))
    assert isinstance(verdict, Wrong | Crashed), verdict
