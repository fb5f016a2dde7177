"""What compute-sanitizer writes is read right, and only what concerns a candidate's own kernels counts."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from warpsmith.core import Completed, Coverage, Ending, KernelResources, Limits, Track, Wrong
from warpsmith.judge.config import JudgeConfig
from warpsmith.judge.gates import sanitizer
from warpsmith.judge.protocol import Load

CLEAN = """========= COMPUTE-SANITIZER
========= ERROR SUMMARY: 0 errors
"""
OUT_OF_BOUNDS = """========= COMPUTE-SANITIZER
printed by the program itself
========= Invalid __global__ write of size 4 bytes
=========     at axpby_kernel(const float *, const float *, float *, int)+0x150 in axpby.cu:6
=========     by thread (96,0,0) in block (127,0,0)
=========     Access at 0x7f3a2ffc0000 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f3a2fc00000 of size 3932160 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: [0x2f6f4d] in libcuda.so.1
=========
========= Invalid __global__ write of size 4 bytes
=========     at axpby_kernel(const float *, const float *, float *, int)+0x150 in axpby.cu:6
=========     by thread (97,0,0) in block (127,0,0)
=========     Access at 0x7f3a2ffc0004 is out of bounds
=========
========= ERROR SUMMARY: 2 errors
"""
IN_A_DEVICE_FUNCTION = """========= COMPUTE-SANITIZER
========= Invalid __shared__ read of size 4 bytes
=========     at load(const float *, int)+0x30
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x1000 is out of bounds
=========         Device Frame: axpby_kernel(const float *, const float *, float *, int)+0x90
=========
========= ERROR SUMMARY: 1 error
"""
OLD_FORM = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at 0x70 in /tmp/kernels/axpby.cu:6:axpby_kernel(const float *, const float *, float *, int)
=========     by thread (0,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 1 error
"""
RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at axpby_kernel(const float *, float *)+0x1c0
=========     and Read access at axpby_kernel(const float *, float *)+0x2a0 [512 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
BENIGN_RACE = RACE.replace("Error: Race", "Warning: Race").replace(
    "1 error, 0 warnings", "0 errors, 1 warning"
)
OF_TORCH = """========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor>(int)+0x70
=========     by thread (64,0,0) in block (0,0,0)
=========     Address 0x7f0000000100
=========
========= ERROR SUMMARY: 1 error
"""
DIVERGENT = """========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block
=========     at axpby_kernel(const float *, float *)+0xd0
=========     by thread (32,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 1 error
"""
CUT_OFF = OUT_OF_BOUNDS[: OUT_OF_BOUNDS.index("Access")]


@dataclass
class ScriptedRunner:
    """Writes each tool's log where the command asks for it."""

    logs: dict[str, str]
    exit_code: int = 0
    commands: list = field(default_factory=list)

    def run(self, command):
        self.commands.append(command)
        words = command.argv
        tool, log = words[words.index("--tool") + 1], Path(words[words.index("--log-file") + 1])
        if tool in self.logs:
            log.write_text(self.logs[tool])
        return Completed(
            ending=Ending.EXITED, exit_code=self.exit_code, stdout="", stderr="no CUDA here", wall_s=1.0
        )


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Runs the gate on a candidate with one kernel, axpby_kernel; gives the failure and the trial."""

    def run(logs, *, kind="cuda", program=Path("/opt/sanitizer/compute-sanitizer"), exit_code=0):
        monkeypatch.setattr(sanitizer, "find_program", lambda name: program)
        kernel = KernelResources(
            kernel="axpby_kernel(float const*, float const*, float*, int)",
            arch="sm_90",
            registers=8,
            spill_bytes=0,
            shared_bytes=0,
            stack_bytes=0,
        )
        runner = ScriptedRunner(logs=logs, exit_code=exit_code)
        folder = tmp_path / "guest"
        trial = SimpleNamespace(
            guest=SimpleNamespace(
                folder=folder, candidate=folder / "candidate", extension=folder / "extension"
            ),
            subject=SimpleNamespace(
                arguments=tmp_path / "arguments",
                weights=tmp_path / "weights",
                inputs=(tmp_path / "inputs-0", tmp_path / "inputs-1"),
                facts=SimpleNamespace(makes_on_device=True),
                task=SimpleNamespace(
                    precision="reference", dtype="own", is_training=False, has_backward=False
                ),
            ),
            device=SimpleNamespace(kind=kind),
            config=JudgeConfig(),
            toolchain=SimpleNamespace(runner=runner),
            build=SimpleNamespace(resources=(kernel,), libraries=()),
            coverage=Coverage(track=Track.PURE, own_share=1.0, own_kernels=(), library_kernels=()),
            sanitized=None,
            advice=[],
            gates=[],
        )
        folder.mkdir(parents=True)
        return sanitizer.check(trial), trial, runner

    return run


ALL_CLEAN = dict.fromkeys(sanitizer.TOOLS, CLEAN)


def test_a_clean_run_names_every_tool(judged):
    failure, trial, _ = judged(ALL_CLEAN)
    assert failure is None
    assert trial.sanitized.tools == ("memcheck", "racecheck", "initcheck", "synccheck")
    assert trial.gates == ["sanitizer"]
    assert trial.advice == []


@pytest.mark.parametrize(
    ("tool", "log", "word"),
    [
        ("memcheck", OUT_OF_BOUNDS, "Invalid __global__ write"),
        ("memcheck", IN_A_DEVICE_FUNCTION, "Invalid __shared__ read"),
        ("memcheck", OLD_FORM, "axpby_kernel"),
        ("memcheck", CUT_OFF, "Invalid __global__ write"),
        ("racecheck", RACE, "Race reported"),
        ("synccheck", DIVERGENT, "Barrier error"),
    ],
    ids=["out of bounds", "device function", "old form", "cut off", "race", "divergent barrier"],
)
def test_a_finding_in_an_own_kernel_is_a_failure(judged, tool, log, word):
    failure, trial, _ = judged({**ALL_CLEAN, tool: log}, exit_code=sanitizer.FINDINGS_CODE)
    assert isinstance(failure, Wrong)
    assert failure.what == "sanitizer"
    assert failure.message.startswith(f"{tool}: ")
    assert word in failure.message
    assert trial.sanitized is None


@pytest.mark.parametrize(
    ("tool", "log"), [("initcheck", OF_TORCH), ("racecheck", BENIGN_RACE)], ids=["torch's kernel", "warning"]
)
def test_what_is_not_the_candidates_fault_is_none(judged, tool, log):
    failure, trial, _ = judged({**ALL_CLEAN, tool: log}, exit_code=sanitizer.FINDINGS_CODE)
    assert failure is None
    assert tool in trial.sanitized.tools


def test_a_tool_that_writes_no_summary_is_not_named_and_the_reader_is_told(judged):
    failure, trial, _ = judged({name: CLEAN for name in ALL_CLEAN if name != "racecheck"})
    assert failure is None
    assert "racecheck" not in trial.sanitized.tools
    assert trial.advice == ["not sanitized by racecheck: it did not come to its summary (no CUDA here)"]


def test_without_the_program_the_reader_is_told(judged):
    failure, trial, runner = judged({}, program=None)
    assert failure is None
    assert trial.sanitized is None
    assert runner.commands == []
    assert "not installed" in trial.advice[0]


def test_the_cpu_device_has_its_own_checks(judged):
    failure, trial, runner = judged({}, kind="cpu")
    assert (failure, trial.sanitized, trial.advice, runner.commands) == (None, None, [], [])


def test_memory_is_not_cached_and_only_the_first_input_set_is_used(judged):
    _, trial, runner = judged(ALL_CLEAN)
    command = runner.commands[0]
    assert command.env["PYTORCH_NO_CUDA_MEMORY_CACHING"] == "1"
    assert command.gpu
    request = (trial.guest.folder / "sanitizer-memcheck.json").read_text()
    assert "inputs-0" in request
    assert "inputs-1" not in request


def test_a_link_in_place_of_the_log_is_not_followed(judged, tmp_path):
    (tmp_path / "secret").write_text(CLEAN)
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    assert sanitizer._text(tmp_path / "link") == ""


@pytest.mark.parametrize(
    ("spelled", "base"),
    [
        ("axpby_kernel(const float *, int)", "axpby_kernel"),
        ("void elementwise<AxpbyRelu, (int)4>(const float *, int)", "elementwise"),
        ("(anonymous namespace)::kernel(float*)", "kernel"),
        ("void mine::inner::kernel<float>(float*)", "mine::inner::kernel"),
    ],
)
def test_names_are_compared_without_their_arguments(spelled, base):
    assert sanitizer.base_name(spelled) == base


def test_the_command_names_tool_log_and_program(tmp_path):
    load = Load(
        candidate=tmp_path / "c",
        extension=tmp_path / "e",
        arguments=tmp_path / "a",
        weights=tmp_path / "shared" / "weights",
        inputs=(tmp_path / "i",),
        device="cuda",
        makes_on_device=True,
    )
    program = Path("/usr/local/cuda/bin/compute-sanitizer")
    command = sanitizer.command(program, "racecheck", load, tmp_path / "home", Limits())
    assert command.argv[0] == str(program)
    assert command.argv[command.argv.index("--tool") + 1] == "racecheck"
    assert command.argv[-2:] == ("warpsmith.judge.guest.sanitized", str(tmp_path / "home.json"))
    assert command.writable == (tmp_path / "home",)
