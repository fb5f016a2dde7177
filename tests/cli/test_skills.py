"""`warpsmith synth skills`: out of tasks, out of runs, and what it says of what is missing."""

import json
from pathlib import Path

import pytest
import typer

from warpsmith.cli import skills
from warpsmith.cli.console import Console
from warpsmith.cli.errors import HANDLED, report
from warpsmith.core import Task
from warpsmith.tasks.store import Store
from warpsmith.tasks.synth.base import Made
from warpsmith.tasks.synth.skills import Kind, Skills

SOURCE = """import torch

SCALE = 1.0


class Model(torch.nn.Module):
    def forward(self, x):
        x = torch.{first}(x)
        return torch.{second}(x)


def get_inputs():
    return [torch.randn(max(2, int(64 * SCALE)), 32)]


def get_init_inputs():
    return []
"""


@pytest.fixture
def synth(capsys, tmp_path, monkeypatch):
    """Runs the command in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command()(skills.skills)

    def run(*arguments):
        capsys.readouterr()
        try:
            code = int(app(list(map(str, arguments)), standalone_mode=False))
        except HANDLED as error:
            code = report(error, Console(is_json="--json" in arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def store(tmp_path):
    """Puts tasks of two operators into a store, each on a side."""

    def put(name, *tasks):
        made = [
            Made(
                task=Task(
                    task_id=f"{first}-{second}",
                    source=SOURCE.format(first=first, second=second),
                    provenance="tests",
                ),
                operators=(first, second),
                depth=2,
                structure=f"{first} {second}",
                split=side,
            )
            for first, second, side in tasks
        ]
        Store(tmp_path / name / "tasks.parquet").write(made)
        return f"{name}/tasks.parquet"

    return put


@pytest.mark.slow
def test_steps_of_tasks_become_skills_and_none_of_a_task_that_is_held_back(synth, store):
    own = store("own", ("relu", "tanh", "train"), ("exp", "sin", "test"), ("relu", "cos", "validation"))
    code, out, err = synth("--from-tasks", own, "--out", "out", "--json")
    assert (code, "no task is held back" in err) == (0, False)
    document = json.loads(out)
    assert (document["num_skills"], document["num_held_back"]) == (2, 2)
    found = list(Skills(Path("out")))
    assert sorted(skill.name for skill in found) == ["relu", "tanh"]
    assert {skill.kind for skill in found} == {Kind.FROM_SCRATCH}


@pytest.mark.slow
def test_a_test_store_without_sides_is_held_back_whole(synth, store):
    own = store("own", ("relu", "tanh", ""))
    held = store("held", ("abs", "abs", ""))
    single = SOURCE.format(first="tanh", second="tanh").replace("        x = torch.tanh(x)\n", "")
    Store(Path("held/tasks.parquet")).append(
        [Made(task=Task(task_id="single", source=single, provenance=""), operators=(), depth=1, structure="")]
    )
    code, out, _ = synth("--from-tasks", own, "--out", "out", "--test", held, "--json")
    document = json.loads(out)
    assert (code, document["num_held_back"], document["by_kind"]) == (0, 2, {"from scratch": 1})
    assert [one["other_id"] for one in document["leaked"]] == ["single"]


def test_runs_without_a_lesson_give_an_empty_folder_and_the_reasons(synth, tmp_path):
    (tmp_path / "runs" / "one").mkdir(parents=True)
    (tmp_path / "runs" / "one" / "trajectory.jsonl").write_text("{}\n")
    code, out, err = synth("--from-runs", "runs", "--out", "out")
    assert code == 0
    assert "unknown event" in out
    assert "0 skills (none)" in out
    assert "no task is held back" in err
    assert list(Skills(tmp_path / "out")) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--out", "out"), "give --from-tasks STORE.parquet, or --from-runs DIR"),
        (("--out", "out", "--from-runs", "nothing"), "no such folder"),
        (("--out", "out", "--from-tasks", "nothing.parquet"), "no such file"),
        (("--out", "out", "--from-runs", ".", "--test", "nothing.parquet"), "no such file"),
        (("--out", "file", "--from-runs", "."), "file cannot be written"),
        (("--out", "mine", "--from-runs", "."), "not a card of skills"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_missing_or_in_the_way_is_one_line(synth, tmp_path, arguments, says):
    (tmp_path / "file").write_text("")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").write_text("# Mine\n")
    code, _, err = synth(*arguments)
    assert code == 2
    assert says in err
