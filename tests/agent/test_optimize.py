"""The whole way, with a real judge on the cpu device: the guide's own program is written and judged."""

import json
import re

import pytest

from warpsmith.agent import TOOLS, Finished, Judged, Silent, Started, read_events
from warpsmith.agent.optimize import OptimizeConfig, optimize
from warpsmith.agent.workspace.folder import PROTECTED, skill_text
from warpsmith.core import Candidate, Passed, Provenance, StopReason, Task, TaskError, UsageError
from warpsmith.device import select_device
from warpsmith.policy.scripted import ScriptedPolicy

SOURCE = """
import torch
class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
    def forward(self, x): return x * self.weight
def get_init_inputs(): return [33]
def get_inputs(): return [torch.randn(7, 33)]
"""
pytestmark = pytest.mark.slow

TASK = Task(task_id="scale", source=SOURCE, provenance="test")


def program_of_the_guide():
    """The two files that the guide shows."""
    return dict(re.findall(r"`(kernels/scale\.cu|model_new\.py)`\n```\w+\n(.*?)```", skill_text(), re.DOTALL))


def config(folder):
    return OptimizeConfig(device=select_device("cpu"), folder=folder)


def test_the_guide_is_short_and_names_every_tool_and_file():
    text = skill_text()
    assert len(text.splitlines()) <= 200
    assert all(f"`{name}`" in text for name in (*TOOLS, *PROTECTED, "model_new.py"))


@pytest.fixture(scope="module")
def done(tmp_path_factory, say):
    """One run: first a program that misses the last element, then that of the guide."""
    folder = tmp_path_factory.mktemp("optimize")
    files = program_of_the_guide()
    wrong = files["kernels/scale.cu"].replace("i < count", "i < count - 1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPSMITH_CACHE", str(folder / "cache"))
        policy = ScriptedPolicy(
            [
                say.reply(
                    say.call("write", path="model_new.py", text=files["model_new.py"]),
                    say.call("write", path="kernels/scale.cu", text=wrong),
                    say.call("compile"),
                    say.call("verify"),
                ),
                say.reply(
                    say.call("edit", path="kernels/scale.cu", old="i < count - 1", new="i < count"),
                    say.call("profile"),
                ),
            ]
        )
        return optimize(TASK, policy, config(folder / "run"), Silent())


def test_the_program_of_the_guide_passes(done):
    best = done.trajectory.best
    assert done.trajectory.stop is StopReason.FINISHED
    assert best.candidate == Candidate.of(program_of_the_guide())
    assert isinstance(best.verdict, Passed)
    assert best.verdict.timing.provenance is Provenance.MODELLED
    assert best.verdict.timing.num_launches == 1


def test_the_wrong_one_was_told_what_is_wrong(done):
    compiled, verified = done.trajectory.turns[0].answers[2:]
    assert compiled.text.startswith("compiled")
    assert "cuda_extension.scale(x, weight, y, count, width)" in compiled.text
    assert verified.text.startswith("Wrong (values)")


def test_the_run_folder_holds_all_of_it(done):
    assert Candidate.from_folder(done.folder) == done.trajectory.best.candidate
    events = read_events(done.folder)
    assert isinstance(events[0], Started)
    assert events[0].environment["sandbox"] == done.environment["sandbox"]
    assert [event.tool for event in events if isinstance(event, Judged)] == [
        "verify",
        "profile",
        "final",
    ]
    assert isinstance(events[-1], Finished)
    verdict = json.loads((done.folder / "verdict.json").read_text())
    assert verdict["is_final"]
    assert verdict["verdict"]["type"] == "Passed"
    assert verdict["environment"]["device"] == "cpu"


def test_an_unusable_reference_leaves_no_folder(tmp_path):
    task = Task(task_id="bad", source=SOURCE.replace("return x", "return y"), provenance="test")
    with pytest.raises(TaskError):
        optimize(task, ScriptedPolicy([]), config(tmp_path / "run"), Silent())
    assert not (tmp_path / "run").exists()


def test_a_folder_in_use_is_refused_before_anything_starts(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(UsageError, match="is not empty"):
        optimize(TASK, ScriptedPolicy([]), config(tmp_path), Silent())
