"""Runs KernelBench's own evaluator tests against this judge, from a checkout of KernelBench.

    python tools/kernelbench_evaluator.py CHECKOUT [--device cpu] [--few-shot] [pytest's arguments]

The tests import `kernelbench.eval`, `.kernel_static_checker`, `.dataset` and `.utils`: stand-ins with the
functions that they call answer by this judge. `--few-shot` judges the pairs of reference and answer that
KernelBench shows to models. Nothing of the checkout is changed, and only its tests are imported.
"""

import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from warpsmith.core import Candidate, Passed, Verdict
from warpsmith.device import select_device
from warpsmith.judge import Judge
from warpsmith.judge.gates import rules
from warpsmith.report.kernelbench import entry
from warpsmith.report.verdicts import verdict_text
from warpsmith.sandbox import pick
from warpsmith.tasks import load_task
from warpsmith.toolchain import Toolchain, default_store

TESTS = Path("src/kernelbench/unit_tests")
SUITES = ("test_eval_adversarial.py", "test_static_checker.py", "test_validate_kernel_static.py")
PAIRS = Path("src/kernelbench/prompts/few_shot")
MAX_CHARS = 300


@dataclass(frozen=True, slots=True)
class Result:
    """What the tests read of an evaluation."""

    compiled: bool
    correctness: bool
    runtime: float
    runtime_stats: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict)


def judged(reference: str, answer: str, device_kind: str, *, is_timed: bool) -> Verdict:
    """The verdict on `answer`; on the CPU the task is scaled down, and its inputs are not moved to a GPU."""
    device = select_device(device_kind)
    if device.kind == "cpu":
        reference = reference.replace(".cuda()", "")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "task.py"
        file.write_text(reference)
        task = load_task(str(file), device_kind=device.kind)
    sandbox = pick()
    toolchain = Toolchain(device, default_store(), sandbox)
    with Judge(task, device=device, sandbox=sandbox, toolchain=toolchain) as judge:
        candidate = Candidate.of({"model_new.py": answer})
        return judge.measure(candidate) if is_timed else judge.verify(candidate)


def install(checkout: Path, device_kind: str) -> None:
    """Put the stand-ins where the tests import them from."""

    def evaluate(original_model_src: str, custom_model_src: str, **options: Any) -> Result:
        is_timed = bool(options.get("measure_performance"))
        verdict = judged(original_model_src, custom_model_src, device_kind, is_timed=is_timed)
        record = entry(verdict, 0, device_kind)
        record.pop("sample_id")
        # Their flag for a time that cannot be true. Here such a program fails, by whatever gate sees it.
        record["metadata"]["excessive_speedup"] = not isinstance(verdict, Passed)
        return Result(**record)

    def validate(code: str, **_: Any) -> tuple[bool, list[str], list[str]]:
        candidate = Candidate.of({"model_new.py": code})
        breach = rules.breach(candidate)
        errors = [] if breach is None else [f"{breach.rule}: {breach.message}"]
        return not errors, errors, [] if errors else rules.advice(candidate)

    modules: dict[str, dict[str, object]] = {
        "kernelbench": {"__path__": []},
        "kernelbench.eval": {"eval_kernel_against_ref": evaluate},
        "kernelbench.kernel_static_checker": {"validate_kernel_static": validate},
        "kernelbench.dataset": {"KERNEL_BENCH_PATH": str(checkout / "KernelBench")},
        "kernelbench.utils": {"read_file": lambda path: Path(path).read_text()},
    }
    for name, members in modules.items():
        module = ModuleType(name)
        vars(module).update(members)
        sys.modules[name] = module


def few_shot(checkout: Path, device_kind: str) -> int:
    """Judge each pair and print its verdict; the number of those that are not right."""
    num_refused = 0
    for answer in sorted((checkout / PAIRS).glob("model_new_ex_*.py")):
        reference = answer.with_name(answer.name.replace("model_new_", "model_"))
        verdict = judged(reference.read_text(), answer.read_text(), device_kind, is_timed=False)
        num_refused += not isinstance(verdict, Passed)
        name = answer.stem.removeprefix("model_new_ex_")
        sys.stdout.write(f"{name:20} {verdict_text(verdict)}\n    {str(verdict)[:MAX_CHARS]}\n")
    return num_refused


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--few-shot", action="store_true")
    arguments, rest = parser.parse_known_args()
    checkout = arguments.checkout.resolve()
    if arguments.few_shot:
        return few_shot(checkout, arguments.device)
    import pytest

    install(checkout, arguments.device)
    tests = [str(checkout / TESTS / name) for name in SUITES]
    return int(pytest.main([*tests, "-p", "no:cacheprovider", "-q", f"--rootdir={checkout}", *rest]))


if __name__ == "__main__":
    sys.exit(main())
