"""Programs of the builtin compiler, built for the CPU device and run beside the module that they replace."""

import ctypes
import importlib.util
import mmap
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from warpsmith.core import Candidate
from warpsmith.device import Gpu, select_device
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.graph import Graph
from warpsmith.policy.builtin.plan import Plan, make_plan, recipe_of
from warpsmith.policy.builtin.program import write_program
from warpsmith.sandbox import pick
from warpsmith.toolchain import Build, Store, Toolchain, find_compiler
from warpsmith.toolchain.build_cpu import HostBuilder

INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)


def module(text: str) -> Any:
    """A Python file's text, executed."""
    made = ModuleType("task")
    exec(compile(text, "<task>", "exec"), made.__dict__)
    return made


@dataclass(frozen=True)
class Outcome:
    """What the program and the module gave; the module in float64."""

    outputs: list[Any]
    truths: list[Any]
    candidate: Candidate

    def error(self, place: int = 0) -> float:
        """An output's largest error over the truth's magnitude; 0 or infinity where values must be equal."""
        output, truth = self.outputs[place], self.truths[place]
        assert output.shape == truth.shape
        if not truth.is_floating_point():
            return 0.0 if torch.equal(output, truth) else float("inf")
        finite = torch.isfinite(truth)
        assert torch.equal(torch.isfinite(output), finite)
        scale = truth[finite].pow(2).mean().sqrt() + 1e-30
        errors = (output.double() - truth)[finite].abs() / (truth[finite].abs() + scale)
        return errors.max().item() if errors.numel() else 0.0


@dataclass(frozen=True)
class Bench:
    """Runs programs; builds are kept in one store for the session."""

    toolchain: Toolchain
    gpu: Gpu

    module = staticmethod(module)

    def plan(self, source: str) -> tuple[Graph, Plan]:
        graph = capture(source)
        return graph, make_plan(graph, self.gpu)

    def write(self, source: str, variant: int = 0) -> Candidate:
        """The program for the task's `source`, each kernel in its `variant`-th variant, or its last."""
        graph, plan = self.plan(source)
        offers = {group.name: recipe_of(group).variants(group, self.gpu) for group in plan.groups}
        return write_program(
            graph, plan, {name: each[min(variant, len(each) - 1)] for name, each in offers.items()}
        )

    def run(self, source: str, variant: int = 0) -> Outcome:
        candidate = self.write(source, variant)
        with self.loaded(candidate):
            return outcome(source, candidate)

    def compare(self, source: str, candidate: Candidate) -> Outcome:
        """`candidate`, whose kernels are loaded, beside the task's module."""
        return outcome(source, candidate)

    def run_all_variants(self, source: str) -> dict[str, Outcome]:
        """A module that is one kernel, in all that kernel's variants, built together."""
        graph, plan = self.plan(source)
        (group,) = plan.groups
        offers = recipe_of(group).variants(group, self.gpu)
        candidates: dict[str, Candidate] = {}
        for number, variant in enumerate(offers):
            renamed = replace(group, name=f"{group.name}_{number}")
            one = Plan(groups=(renamed,))
            candidates[variant.name] = write_program(graph, one, {renamed.name: variant})
        together = Candidate.of({path: text for one in candidates.values() for path, text in one.files})
        with self.loaded(together):
            return {name: outcome(source, candidate) for name, candidate in candidates.items()}

    @contextmanager
    def loaded(self, candidate: Candidate) -> Iterator[None]:
        """With the candidate's kernels built and importable as `cuda_extension`."""
        build = self.toolchain.build(_merged(candidate))
        assert isinstance(build, Build), build
        spec = importlib.util.spec_from_file_location("cuda_extension", build.folder / "cuda_extension.py")
        assert spec is not None
        assert spec.loader is not None
        extension = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(extension)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "cuda_extension", extension)
            yield


def outcome(source: str, candidate: Candidate) -> Outcome:
    """What `candidate`, whose kernels are loaded, and the task's module make of the task's inputs."""
    reference = module(source)
    torch.manual_seed(0)
    settings = reference.get_init_inputs()
    model = reference.Model(*settings).eval()
    inputs = reference.get_inputs()
    replacement = module(candidate.text("model_new.py")).ModelNew(*settings).eval()
    replacement.load_state_dict(model.state_dict())
    with torch.no_grad():
        outputs = pytree.tree_leaves(replacement(*inputs))
        truths = pytree.tree_leaves(model.double()(*map(_widened, inputs)))
    return Outcome(outputs=outputs, truths=truths, candidate=candidate)


STACK_BYTES, GUARD_BYTES = 256 << 10, 4096  # device/cpu/include/warpsmith/stacks.h


MANY_MAPPINGS = 16_384  # a quarter of those that Linux allows a process


@pytest.fixture(autouse=True)
def _few_mappings() -> Iterator[None]:
    """Gives up the guard pages of programs that have run: Linux allows a process 65530 mappings.

    A guard splits a mapping in two, and libraries that were loaded here stay.
    """
    yield
    lines = Path("/proc/self/maps").read_text().splitlines()
    if len(lines) < MANY_MAPPINGS:
        return
    libc = ctypes.CDLL(None)
    spans = [(*(int(end, 16) for end in line.split()[0].split("-")), line.split()[1]) for line in lines]
    for (start, end, may), (after, until, _) in pairwise(spans):
        is_guard = may == "---p" and end - start == GUARD_BYTES and end == after
        if is_guard and until - after == STACK_BYTES - GUARD_BYTES:
            libc.mprotect(ctypes.c_void_p(start), GUARD_BYTES, mmap.PROT_READ | mmap.PROT_WRITE)


def _widened(item: Any) -> Any:
    is_floating = isinstance(item, torch.Tensor) and item.is_floating_point()
    return item.double() if is_floating else item


def _merged(candidate: Candidate) -> Candidate:
    """All kernels as one file, each in a namespace: the headers are read once, which is most of a build."""
    sources = [(path, text) for path, text in candidate.files if path.endswith(".cu")]
    others = {path: text for path, text in candidate.files if not path.endswith(".cu")}
    includes = sorted({line for _, text in sources for line in INCLUDE.findall(text)})
    bodies = [f"namespace part_{k} {{\n{INCLUDE.sub('', text)}}}\n" for k, (_, text) in enumerate(sources)]
    return Candidate.of({**others, "kernels/all.cu": "".join([*includes, *bodies])})


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    device = select_device("cpu")
    store = Store(tmp_path_factory.mktemp("store"))
    builder = HostBuilder(host=find_compiler(), nvcc=None, device=device)
    toolchain = Toolchain(device=device, store=store, runner=pick("process"), builder=builder)
    # With so small a cache, tensors that a test can afford count as large.
    return Bench(toolchain=toolchain, gpu=replace(device.gpu, l2_bytes=1 << 16))
