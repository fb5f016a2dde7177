"""`warpsmith synth` and `warpsmith tasks`: each step reads what the last one left, and says what it lacks."""

import json

import pytest

from warpsmith.core import Task
from warpsmith.tasks.store import Store
from warpsmith.tasks.synth.base import Made

SOURCE = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return {answer}


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return [256]
"""
ANSWERS = {"gelu": "torch.nn.functional.gelu(x * self.scale)", "softmax": "torch.softmax(x + self.scale, -1)"}


def made(name):
    task = Task(task_id=name, source=SOURCE.replace("{answer}", ANSWERS[name]), provenance="tests")
    return Made(task=task, operators=(name,), depth=2, structure=name, source="torch#2")


@pytest.fixture
def store(tmp_path):
    """Puts tasks where a step looks for them."""

    def put(step, *names):
        Store(tmp_path / "synth" / step / "tasks.parquet").write(map(made, names))

    return put


def test_a_benchmark_s_task_under_other_names_is_dropped(cli, store, tmp_path):
    store("filtered", "gelu", "softmax")
    copied = made("softmax").task.source.replace("scale", "offset").replace("256", "512")
    (tmp_path / "held.jsonl").write_text(json.dumps({"code": copied}) + "\n")
    printed = cli("synth", "decontaminate", "--against", "jsonl=held.jsonl", "--json")
    assert printed.code == 0
    assert [task.task_id for task in Store(tmp_path / "synth/clean/tasks.parquet")] == ["gelu"]
    found = json.loads(printed.out)
    assert [dropped["task_id"] for dropped in found["against"]["dropped"]] == ["softmax"]
    assert json.loads((tmp_path / "synth/similarity.json").read_text())["against"] == found["against"]


@pytest.mark.slow
def test_what_passes_the_filter_is_kept_with_its_facts_and_the_rest_has_a_reason(cli, store, tmp_path):
    store("composed", "gelu", "softmax")
    command = ("synth", "filter", "--device", "cpu", "--workers", "1", "--min-ms", "0.0001", "--json")
    found = json.loads(cli(*command).out)
    assert found["num_kept"] == 2, found["rejected"]
    rows = list(Store(tmp_path / "synth/filtered/tasks.parquet").rows())
    assert all("eager_us_modelled" in row.facts for row in rows)
    assert json.loads(cli(*command).out)["num_resumed"] == 2
    printed = cli(*command[:-1], "--max-ms", "0.001")
    assert printed.code == 2
    assert "other checks" in printed.err
    again = json.loads(cli(*command, "--recheck", "1").out)
    assert (again["num_tasks"], again["num_kept"], again["is_as_before"]) == (1, 1, True), again["rejected"]
    assert len(Store(tmp_path / "synth/filtered/tasks.parquet")) == 2


def test_a_store_goes_out_and_comes_in_again(cli, store, tmp_path):
    store("clean", "gelu", "softmax")
    assert cli("tasks", "export", "jsonl", "synth/clean/tasks.parquet", "out.jsonl").code == 0
    (tmp_path / "out.jsonl").write_text((tmp_path / "out.jsonl").read_text() + '{"code": "x = ("}\n')
    printed = cli("tasks", "import", "jsonl", "out.jsonl", "again/tasks.parquet", "--json")
    found = json.loads(printed.out)
    assert (printed.code, found["num_added"], len(found["broken"])) == (0, 2, 1)
    sources = [task.source for task in Store(tmp_path / "again/tasks.parquet")]
    assert sorted(sources) == sorted(made(name).task.source for name in ANSWERS)


def test_a_sample_is_a_store_of_its_own_and_says_how_it_was_drawn(cli, store, tmp_path):
    store("clean", "gelu", "softmax")
    sample = ("tasks", "sample", "synth/clean/tasks.parquet", "some/tasks.parquet", "--seed", "3")
    found = json.loads(cli(*sample, "--n", "1", "--json").out)
    assert (found["num_tasks"], found["num_of"]) == (1, 2)
    assert "A sample: 1 of 2 tasks" in (tmp_path / "some/README.md").read_text()
    for number, says in (("1", "is there already"), ("3", "3 tasks cannot be taken of 2")):
        printed = cli(*sample, "--n", number)
        assert printed.code == 2
        assert says in printed.err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("synth", "compose"), "run `warpsmith synth crawl`"),
        (("synth", "compose", "--curriculum", "hard"), "choose one of elementwise, fused"),
        (("synth", "compose", "--max-ops", "9"), "1 to 5 operators"),
        (("synth", "filter", "--device", "cpu"), "composed/tasks.parquet"),
        (("synth", "decontaminate", "--against", "kernelbench"), "level1"),
        (("synth", "decontaminate", "--against", "mybench=x"), "ops6k, kernelbench, jsonl"),
        (("synth", "decontaminate", "--against", "jsonl=x", "--test", "1"), "shares of validation and test"),
        (("tasks", "import", "jsonl", "nothing.jsonl", "a.parquet"), "nothing.jsonl"),
        (("tasks", "import", "csv", "a.csv", "a.parquet"), "ops6k, kernelbench, jsonl"),
        (("tasks", "export", "jsonl", "nothing.parquet", "a.jsonl"), "nothing.parquet"),
        (("tasks", "sample", "nothing.parquet", "a.parquet"), "nothing.parquet"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_missing_or_misspelt_is_one_line(cli, command, says):
    printed = cli(*command)
    assert printed.code == 2
    assert says in printed.err
    assert len(printed.err.strip().splitlines()) == 1
