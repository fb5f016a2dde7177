"""Up the ladder with tools that are there, missing, refused or lying; the sandbox is a stand-in."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from warpsmith.agent.diagnosis import ncu, nsys, torch_trace, watching
from warpsmith.agent.diagnosis.classifier import unseen
from warpsmith.agent.diagnosis.figures import Name, Source
from warpsmith.agent.diagnosis.ladder import climb
from warpsmith.core import Completed, Ending, KernelResources, Precision
from warpsmith.core.codec import from_json, to_json
from warpsmith.device.gpus import GPUS
from warpsmith.judge.config import JudgeConfig
from warpsmith.judge.profile import CpuCounts, Watched
from warpsmith.judge.protocol import Regime

DENIED = (
    "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access counters\n"
)
LISTING = "Function : _Z5otherv\n        /*0000*/                   DADD R4, R4, R6 ;\n"
COUNTS = CpuCounts(kernels=("k",), launches=2, threads=512, library_flops=0, library_calls=0)
SPILLING = KernelResources(
    kernel="other(int)", arch="sm_90a", registers=255, spill_bytes=64, shared_bytes=0, stack_bytes=0
)


@dataclass
class Sandbox:
    """Writes what each tool is scripted to leave behind, and remembers the commands."""

    name: str = "bubblewrap"
    leaves: dict = field(default_factory=dict)  # tool -> what it does in its folder
    says: str = ""
    commands: list = field(default_factory=list)

    def run(self, command):
        self.commands.append(command)
        tool = Path(command.argv[0]).name
        tool = "python" if tool.startswith("python") else tool
        leave = self.leaves.get(tool)
        if callable(leave):
            leave(command.cwd)
        stdout = leave if isinstance(leave, str) else ""
        return Completed(ending=Ending.EXITED, exit_code=0, stdout=stdout, stderr=self.says, wall_s=1.0)


@pytest.fixture
def trial(tmp_path, monkeypatch):
    """A candidate that has passed; `tools` are installed."""

    def made(sandbox, *tools, kind="cuda", resources=(), libraries=()):
        bin_folder = tmp_path / "bin"
        bin_folder.mkdir()
        for tool in tools:
            (bin_folder / tool).touch()
        known = {tool: bin_folder / tool for tool in tools}
        monkeypatch.setattr(watching, "find_program", known.get)
        guest = tmp_path / "guest"
        shared = tmp_path / "shared"
        for folder in (guest, shared):
            folder.mkdir()
        (shared / "inputs-0").write_text("tensors")
        task = SimpleNamespace(precision=Precision.REFERENCE)
        regime = Regime()
        monkeypatch.setattr(Regime, "of", lambda _: regime)
        return SimpleNamespace(
            device=SimpleNamespace(kind=kind, gpu=GPUS["h200"]),
            toolchain=SimpleNamespace(runner=sandbox),
            guest=SimpleNamespace(folder=guest, candidate=guest / "candidate", extension=guest / "extension"),
            subject=SimpleNamespace(
                task=task,
                arguments=shared / "arguments",
                weights=shared / "weights",
                inputs=(shared / "inputs-0", shared / "inputs-1"),
                facts=SimpleNamespace(makes_on_device=True),
            ),
            config=JudgeConfig(),
            build=SimpleNamespace(resources=resources, libraries=libraries),
        )

    return made


def leaves(name, text):
    return lambda home: (home / name).write_text(text)


def rungs(found):
    return {rung.tool: rung.is_used for rung in found.rungs}


def test_nsys_is_asked_first_and_then_torch_is_not(trial, nsys_export):
    export = nsys_export()
    sandbox = Sandbox(leaves={"nsys": lambda home: export.rename(nsys.export(home))})
    found = climb(trial(sandbox, "nsys", resources=(SPILLING,)))
    assert rungs(found)[nsys.TOOL]
    assert torch_trace.TOOL not in rungs(found)
    assert found.sheet[Name.SYNCS] == 1.0
    assert sandbox.commands[0].argv[1] == "profile"
    assert sandbox.commands[0].gpu


def test_without_nsys_torch_s_own_profiler_tells(trial, chrome, ncu_log):
    sandbox = Sandbox(leaves={"python": leaves("out.json", chrome()), "ncu": leaves(ncu.LOG, ncu_log())})
    found = climb(trial(sandbox, "ncu", resources=(SPILLING,)))
    assert rungs(found) == {nsys.TOOL: False, torch_trace.TOOL: True, ncu.TOOL: True, "ptxas": True}
    missed = found.rungs[0]
    assert "not installed" in missed.why_not
    assert "Nsight Systems" in missed.fix
    assert found.sheet.get(Name.IDLE).source is Source.MEASURED
    assert found.sheet[Name.SPILLED] == 64.0


def test_the_dominant_kernel_of_the_trace_is_the_one_that_is_counted(trial, chrome, ncu_log):
    sandbox = Sandbox(leaves={"python": leaves("out.json", chrome()), "ncu": leaves(ncu.LOG, ncu_log())})
    climb(trial(sandbox, "ncu"))
    command = next(command for command in sandbox.commands if command.argv[0].endswith("ncu"))
    assert "regex:(^|:)other$" in command.argv
    assert command.argv[-2] == "warpsmith.judge.guest.profiled"
    request = from_json(Watched, Path(command.argv[-1]).read_text())
    assert request.watcher == "kernel"
    assert request.num_calls >= 1
    assert request.load.inputs[0].name == "inputs-0"
    assert command.writable == (command.cwd,)
    assert Path(command.argv[-1]) not in command.writable


def test_refused_counters_are_unavailable_with_nvidia_s_fix(trial, chrome):
    sandbox = Sandbox(
        leaves={
            "python": leaves("out.json", chrome()),
            "ncu": leaves(ncu.LOG, DENIED),
            "cuobjdump": LISTING,
        }
    )
    found = climb(trial(sandbox, "ncu", "cuobjdump", libraries=(Path("/x/libcandidate.so"),)))
    missed = next(rung for rung in found.rungs if rung.tool == ncu.TOOL)
    assert ncu.FORBIDDEN in missed.why_not
    assert "NVreg_RestrictProfilingToAdminUsers=0" in missed.fix
    assert not any("sudo" in word for command in sandbox.commands for word in command.argv)
    # What the counters would have told is unavailable for that reason, but for what the code itself tells.
    assert found.sheet.get(Name.LANES).source is Source.UNAVAILABLE
    assert ncu.FORBIDDEN in found.sheet.get(Name.LANES).note
    assert (found.sheet[Name.FP64], found.sheet.get(Name.FP64).source) == (100.0, Source.COUNTED)


def test_with_no_profiler_at_all_each_figure_says_why(trial):
    found = climb(trial(Sandbox(says="Traceback\nRuntimeError: no kernel image")))
    assert not any(rungs(found).values())
    assert "no kernel image" in next(rung.why_not for rung in found.rungs if rung.tool == torch_trace.TOOL)
    assert all(one.value is None and one.note for one in found.sheet)


@pytest.mark.parametrize("log", ["", "garbage", '"ID","Process ID"'])
def test_a_tool_that_leaves_garbage_is_a_rung_without_use(trial, chrome, log):
    sandbox = Sandbox(leaves={"python": leaves("out.json", chrome()), "ncu": leaves(ncu.LOG, log)})
    found = climb(trial(sandbox, "ncu"))
    assert not rungs(found)[ncu.TOOL]
    assert found.sheet.has(Name.IDLE)


def test_a_link_in_the_place_of_a_file_is_not_followed(trial, tmp_path, chrome):
    secret = tmp_path / "secret.json"
    secret.write_text(chrome())
    sandbox = Sandbox(leaves={"python": lambda home: (home / "out.json").symlink_to(secret)})
    found = climb(trial(sandbox))
    assert not rungs(found)[torch_trace.TOOL]
    assert found.trace is None


def test_a_file_too_large_to_be_read_is_not_read(trial, chrome, monkeypatch):
    monkeypatch.setattr(watching, "MAX_READ_BYTES", 100)
    found = climb(trial(Sandbox(leaves={"python": leaves("out.json", chrome())})))
    assert found.trace is None


def test_the_cpu_device_counts_and_says_what_it_cannot(trial):
    sandbox = Sandbox(leaves={"python": leaves("out.json", to_json(COUNTS))})
    found = climb(trial(sandbox, kind="cpu", resources=(SPILLING,)))
    assert (found.sheet[Name.LAUNCHES], found.sheet[Name.THREADS]) == (2.0, 256.0)
    assert found.sheet.get(Name.THREADS).source is Source.COUNTED
    assert found.sheet.get(Name.SYNCS).fix == "profile it on a machine with a GPU: --device cuda"
    assert not sandbox.commands[0].gpu
    topics = {one.topic for one in unseen(found.sheet)}
    assert {
        "waits for the device in a call",
        "warps that diverge",
        "bank conflicts in shared memory",
    } <= topics
    assert "registers that spill" in topics  # no time, no floor: not for want of a report


@pytest.mark.parametrize("text", ["", "{}", "[", "[" * 50_000, '{"launches": 1e999}'])
def test_a_cpu_device_that_counts_nonsense_counts_nothing(trial, text):
    found = climb(trial(Sandbox(leaves={"python": leaves("out.json", text)}), kind="cpu"))
    assert not any(rungs(found).values())
    assert not found.sheet.has(Name.LAUNCHES)


def test_a_spill_is_seen_without_any_counter(trial, chrome):
    found = climb(trial(Sandbox(leaves={"python": leaves("out.json", chrome())}), resources=(SPILLING,)))
    assert found.sheet[Name.SPILLED] == 64.0


def test_a_metric_that_the_tool_does_not_know_costs_itself_alone(trial, chrome, ncu_log):
    strange = "launch__waves_per_multiprocessor"

    def count(home):
        asked = next(word for word in sandbox.commands[-1].argv if "gpu__time_duration.sum" in word)
        refusal = f"==ERROR== Failed to find metric {strange}\n"
        (home / ncu.LOG).write_text(refusal if strange in asked else ncu_log())

    sandbox = Sandbox(leaves={"python": leaves("out.json", chrome()), "ncu": count})
    found = climb(trial(sandbox, "ncu"))
    assert rungs(found)[ncu.TOOL]
    assert found.sheet.has(Name.USED_LOADED)
