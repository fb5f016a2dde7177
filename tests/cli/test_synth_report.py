"""`warpsmith synth report` and `filter --recheck`: what is read, written, and not replaced."""

import json
from dataclasses import dataclass

import pytest

from warpsmith.core import Task
from warpsmith.core.codec import to_json
from warpsmith.device import select_device
from warpsmith.tasks.store import Store
from warpsmith.tasks.synth.base import Made
from warpsmith.tasks.synth.filters import Facts, Funnel, Kept, Reason, Rejected, Stage
from warpsmith.tasks.synth.filters.state import Header

SOURCE = """import torch
class Model(torch.nn.Module):
    def forward(self, x): return torch.{function}(x)
def get_inputs(): return [torch.ones(4)]
def get_init_inputs(): return []
"""


FUNCTIONS = (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "exp", "expm1",
    "floor", "log", "log1p", "neg", "relu", "round", "sigmoid", "sin", "tan", "tanh",
)  # fmt: skip


def made(number):
    source = SOURCE.format(function=FUNCTIONS[number])
    task = Task(task_id=f"task-{number}", source=source, provenance="tests")
    return Made(task=task, operators=("torch.add",), depth=1, structure=str(number), source="torch#1")


@dataclass
class Filtering:
    """Stands in for the filter: every fourth task is too fast."""

    seen: tuple[str, ...] = ()
    state: str = ""

    def __call__(self, tasks, config, state_folder, on_event):
        tasks = list(tasks)
        self.seen, self.state = tuple(task.task_id for task in tasks), str(state_folder)
        return Funnel(outcomes=tuple(self._outcome(task) for task in tasks), wall_s=1.0)

    def _outcome(self, task):
        named = {"task_id": task.task_id, "digest": task.digest}
        if int(task.task_id[5:]) % 4:
            return Kept(**named, facts=Facts(eager_us=2e3, is_time_modelled=False))
        return Rejected(**named, stage=Stage.TIME, reason=Reason.TOO_FAST, evidence="0.9 ms\nbelow 1")


@pytest.fixture
def filtering(monkeypatch):
    stands_in = Filtering()
    monkeypatch.setattr("warpsmith.tasks.synth.filters.filtered", stands_in)
    return stands_in


@pytest.fixture
def composed(tmp_path):
    """20 tasks where the filter looks for them."""
    rows = [made(number) for number in range(20)]
    Store(tmp_path / "synth/composed/tasks.parquet").write(rows)


FILTER = ("synth", "filter", "--device", "cpu", "--sandbox", "process")


def test_a_report_follows_the_steps(cli, filtering, composed, tmp_path):
    assert cli(*FILTER).code == 0
    held = made(1).task.source.replace("(4)", "(8)")
    (tmp_path / "held.jsonl").write_text(json.dumps({"code": held}) + '\n{"code": "x = ("}\n')
    against = ("--against", "jsonl=held.jsonl", "--threshold", "1", "--validation", "0.2", "--test", "0.3")
    printed = cli("synth", "decontaminate", *against)
    assert "nothing is compared with 1 rows of jsonl that are no tasks" in printed.err
    card = (tmp_path / "synth/clean/README.md").read_text()
    assert "# Tasks, decontaminated" in card
    assert "| warpsmith synth decontaminate | below 1 to jsonl (1) |" in card
    printed = cli("synth", "report", "--html", "out/report.html", "--json")
    assert printed.code == 0
    facts = printed.document["facts"]
    assert [one["num_tasks"] for one in facts["sets"]] == [20, 15, 14]
    benchmark = {"type": "Benchmark", "suite": "jsonl", "num_tasks": 1, "num_broken": 1}
    assert facts["likeness"]["benchmarks"] == [benchmark]
    assert facts["likeness"]["num_unread"] == 1
    assert facts["times"]["num_tasks"] == 14
    assert facts["composition"]["splits"] == ["train", "validation", "test"]
    assert facts["composition"]["by_curriculum"][0]["by_split"] == {"train": 7, "validation": 3, "test": 4}
    assert json.loads((tmp_path / "out/report.json").read_text()) == facts
    page = (tmp_path / "out/report.html").read_text()
    assert "<!doctype html>" in page
    assert "too fast" in page
    assert cli("synth", "report", "--html", "out/report.html").code == 0  # its own it does replace


def test_a_report_in_words_says_what_has_not_been_run(cli, composed):
    printed = cli("synth", "report")
    assert printed.code == 0
    assert "20 composed" in printed.out
    for step in ("crawl", "filter", "decontaminate"):
        assert f"`warpsmith synth {step}` has not been run" in printed.out
    assert "torch ×1" in printed.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--dir", "nowhere"), "nowhere is no folder"),
        (("--html", "page.txt"), "ends with .html"),
        (("--html", "funnel.html"), "funnel.json is not a report's"),
        (("--html", "held.parquet/page.html"), "held.parquet cannot be made"),
    ],
)
def test_what_cannot_be_reported_or_written_is_one_line(cli, composed, tmp_path, arguments, says):
    (tmp_path / "funnel.json").write_text("{}")
    (tmp_path / "held.parquet").write_text("")
    printed = cli("synth", "report", *arguments)
    assert printed.code == 2
    assert says in printed.err.splitlines()[-1]
    assert (tmp_path / "funnel.json").read_text() == "{}"


def test_kept_tasks_are_filtered_once_more_and_told_one_by_one(cli, filtering, tmp_path):
    store = Store(tmp_path / "synth/filtered/tasks.parquet")
    store.write(made(number) for number in range(20))
    before = store.path.read_bytes()
    printed = cli(*FILTER, "--recheck", "20", "--json")
    assert printed.code == 0
    found = printed.document
    assert (found["num_tasks"], found["num_kept"], found["is_as_before"]) == (20, 15, False)
    assert {one["reason"] for one in found["rejected"]} == {"too fast"}
    assert json.loads((tmp_path / "synth/recheck.json").read_text())["num_kept"] == 15
    assert store.path.read_bytes() == before
    assert not (tmp_path / "synth/filter").exists()
    said = cli(*FILTER, "--recheck", "20")
    assert "15 of 20 pass again" in said.out
    assert "task-4: too fast (0.9 ms" in said.out
    assert "other checks, or on another device" in said.err
    assert "15 of 20 kept tasks" in cli("synth", "report").out


def test_the_same_seed_draws_the_same_tasks(cli, filtering, tmp_path):
    store = Store(tmp_path / "synth/filtered/tasks.parquet")
    store.write(made(number) for number in range(20))
    drawn = set()
    for seed in ("1", "1", "2"):
        assert cli(*FILTER, "--recheck", "5", "--seed", seed).code == 0
        assert len(set(filtering.seen)) == 5
        drawn.add(filtering.seen)
    assert len(drawn) == 2
    store.write(made(number) for number in reversed(range(20)))
    cli(*FILTER, "--recheck", "5", "--seed", "1")
    assert filtering.seen in drawn


def test_the_checks_are_known_to_be_the_same_as_before(cli, filtering, tmp_path):
    from warpsmith.sandbox import pick
    from warpsmith.tasks.synth.filters import FilterConfig

    Store(tmp_path / "synth/filtered/tasks.parquet").write([made(1)])
    config = FilterConfig(device=select_device("cpu", None, None), sandbox=pick("process"), workers=1)
    (tmp_path / "synth/filter").mkdir()
    header = Header(config=config.digest, device=config.device.name)
    (tmp_path / "synth/filter/outcomes.jsonl").write_text(to_json(header) + "\n")
    assert cli(*FILTER, "--recheck", "1", "--json").document["is_as_before"] is True
    assert cli(*FILTER, "--recheck", "1", "--json", "--max-ms", "50").document["is_as_before"] is False


def test_nothing_kept_is_nothing_to_filter_once_more(cli, filtering, tmp_path):
    Store(tmp_path / "synth/filtered/tasks.parquet").write([])
    printed = cli(*FILTER, "--recheck", "5")
    assert (printed.code, filtering.seen) == (2, ())
    assert "holds no tasks to filter once more" in printed.err
