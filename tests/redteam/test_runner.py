"""The runner opens each task once, goes on after a case that breaks the judge, and ends by what it saw."""

import json
from typing import ClassVar

import pytest

from warpsmith.cli.app import run
from warpsmith.core import Accuracy, InfraError, Passed, Wrong
from warpsmith.redteam import Bench, State, outcomes, read_case

PASSED = Passed(accuracy=Accuracy(error=1e-7, reference_error=1e-7, allowed=1e-6))
WRONG = Wrong(what="values", message="at [0]")
CHEAT = """# {name}

Returns zeros.

- task: {task}
- caught by: numbers
{fields}
`model_new.py`
```python
NAME = "{name}"
```
"""
HERE = ("--device", "cpu", "--sandbox", "process")


@pytest.fixture
def case_file(tmp_path):
    def write(name, *, task="axpby", fields="", is_honest=False):
        text = CHEAT.format(name=name, task=task, fields=fields)
        folder = tmp_path / ("honest" if is_honest else "cheats")
        folder.mkdir(exist_ok=True)
        path = folder / f"{name}.md"
        path.write_text(text.replace("- caught by: numbers\n", "") if is_honest else text)
        return path

    return write


class FakeJudge:
    """Says what `verdicts` holds for a program's NAME, and notes the tasks that were opened."""

    verdicts: ClassVar = {}
    opened: ClassVar = []

    def __init__(self, task, **rest):
        self.task = task

    def __enter__(self):
        self.opened.append(self.task.task_id)
        return self

    def __exit__(self, *error): ...

    def build(self, candidate): ...

    def measure(self, candidate):
        verdict = self.verdicts[candidate.text("model_new.py").split('"')[1]]
        if isinstance(verdict, BaseException):
            raise verdict
        return verdict


@pytest.fixture
def judging(monkeypatch):
    """Replaces the judge by one that says `verdicts[NAME]`; gives the tasks that are opened."""

    def replace(verdicts):
        judge = type("Judge", (FakeJudge,), {"verdicts": verdicts, "opened": []})
        monkeypatch.setattr("warpsmith.redteam.runner.Judge", judge)
        return judge.opened

    return replace


class FakeDevice:
    kind = "cpu"


@pytest.fixture
def bench():
    return Bench(device=FakeDevice(), sandbox=None, toolchain=None)


def test_cases_of_one_task_share_a_judge(case_file, judging, bench):
    opened = judging(dict.fromkeys("abc", WRONG))
    cases = [
        read_case(case_file(name, task=task))
        for name, task in (("a", "axpby"), ("b", "matmul"), ("c", "axpby"))
    ]
    found = list(outcomes(cases, bench))
    assert opened == ["axpby", "matmul"]
    assert [outcome.case.name for outcome in found] == ["a", "c", "b"]


def test_other_options_are_another_judge(case_file, judging, bench):
    opened = judging({"a": WRONG, "b": WRONG})
    cases = [read_case(case_file("a")), read_case(case_file("b", fields="- options: tf32\n"))]
    assert len(list(outcomes(cases, bench))) == 2
    assert opened == ["axpby", "axpby"]


def test_a_case_that_breaks_the_judge_costs_only_itself(case_file, judging, bench):
    opened = judging({"a": InfraError("the exchange is gone"), "b": WRONG})
    found = list(outcomes([read_case(case_file(name)) for name in "ab"], bench))
    assert [outcome.state for outcome in found] == [State.BROKE, State.CAUGHT]
    assert len(opened) == 2


def test_what_needs_another_device_is_not_judged(case_file, judging, bench):
    opened = judging({})
    (outcome,) = outcomes([read_case(case_file("a", fields="- needs: cuda\n"))], bench)
    assert outcome.state is State.NOT_RUNNABLE
    assert opened == []


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ({"cheat": WRONG, "honest": PASSED}, 0),
        ({"cheat": PASSED, "honest": PASSED}, 1),
        ({"cheat": WRONG, "honest": WRONG}, 1),
        ({"cheat": InfraError("gone"), "honest": PASSED}, 1),
    ],
    ids=["all is well", "a cheat gets past", "an honest one is refused", "the judge breaks"],
)
def test_the_exit_code_says_whether_the_judge_can_be_trusted(case_file, judging, capsys, verdicts, code):
    judging(verdicts)
    files = [case_file("cheat"), case_file("honest", is_honest=True)]
    arguments = [part for path in files for part in ("--case", str(path))]
    assert run(["redteam", *arguments, *HERE, "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == code
    assert len(document["outcomes"]) == 2


def test_the_table_goes_into_a_file_between_its_markers(case_file, judging, tmp_path):
    judging({"values-cheat": WRONG})
    page = tmp_path / "README.md"
    page.write_text("A\n<!-- redteam: begin -->\n<!-- redteam: end -->\nB\n")
    path = case_file("values-cheat")
    assert run(["redteam", "--case", str(path), *HERE, "--runs", "3", "--markdown", str(page)]) == 0
    assert "| 3/3 | numbers 3 |" in page.read_text()
    assert page.read_text().endswith("B\n")


def test_a_pattern_that_names_nothing_is_wrong_usage(case_file, judging, capsys):
    judging({})
    assert run(["redteam", "--case", str(case_file("a")), "--only", "nothing", *HERE]) == 2
    assert "nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "cannot be read"), (b"\xff\xfe", "cannot be read"), (b"no markers", "redteam: begin")],
    ids=["missing", "not text", "without markers"],
)
def test_a_page_that_cannot_take_the_table_is_wrong_usage(
    case_file, judging, tmp_path, capsys, content, says
):
    judging({})
    page = tmp_path / "page.md"
    if content is not None:
        page.write_bytes(content)
    assert run(["redteam", "--case", str(case_file("a")), *HERE, "--markdown", str(page)]) == 2
    assert says in capsys.readouterr().err
