"""A case file is read as it is written, and what is wrong with one is told by file and line."""

import pytest

from warpsmith.core import Dtype, Precision, UsageError
from warpsmith.redteam import Kind, Option, corpus, read_case
from warpsmith.redteam.case import GATES

CASE = """# Returns zeros

Two lines
of what it tries.

- task: axpby
- caught by: numbers, coverage
- needs: cuda
- options: tf32, train

`model_new.py`
```python
import torch
```
`kernels/axpby.cu`
````cuda
// ```
````
"""


@pytest.fixture
def write(tmp_path):
    def case(text: str, folder: str = "cheats"):
        path = tmp_path / folder / "a-case.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return case


def test_a_case_is_read_whole(write):
    case = read_case(write(CASE))
    assert (case.name, case.title, case.tries) == ("a-case", "Returns zeros", "Two lines of what it tries.")
    assert (case.task, case.kind, case.caught_by) == ("axpby", Kind.CHEAT, ("numbers", "coverage"))
    assert (case.needs, case.options) == ("cuda", (Option.TF32, Option.TRAIN))
    assert case.candidate.text("model_new.py") == "import torch\n"
    assert case.candidate.text("kernels/axpby.cu") == "// ```\n"


def test_options_decide_how_the_task_is_judged(write):
    task = read_case(write(CASE.replace("tf32, train", "tf32, train, backward, bf16"))).task_for("cpu")
    assert (task.precision, task.is_training, task.has_backward) == (Precision.TF32, True, True)
    assert task.dtype is Dtype.BF16


def test_a_gpu_gets_a_larger_task_than_cores(write):
    case = read_case(write(CASE))
    assert case.task_for("cuda").scale > case.task_for("cpu").scale


def test_an_honest_case_names_no_gate(write):
    text = CASE.replace("- caught by: numbers, coverage\n", "")
    assert read_case(write(text, "honest")).kind is Kind.HONEST
    with pytest.raises(UsageError, match="caught by"):
        read_case(write(text))
    with pytest.raises(UsageError, match="caught by"):
        read_case(write(CASE, "honest"))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("# Returns zeros", "Returns zeros", 1, "begins with"),
        ("Two lines\nof what it tries.\n", "", 4, "paragraph"),
        ("- task: axpby", "- job: axpby", 6, "a field is"),
        ("- task: axpby", "- task: nothing", 6, "no task 'nothing'"),
        ("- needs: cuda", "- needs: tpu", 6, "no device 'tpu'"),
        ("- needs: cuda", "- task: axpby", 8, "said twice"),
        ("- needs: cuda", "- needs:", 8, "empty"),
        ("numbers, coverage", "numbers, luck", 6, "no gate 'luck'"),
        ("tf32, train", "fp4", 6, "no option 'fp4'"),
        ("`model_new.py`", "`other.py`", 11, "the first file is model_new.py"),
        ("`kernels/axpby.cu`", "`model_new.py`", 15, "stands here twice"),
        ("`kernels/axpby.cu`", "kernels/axpby.cu", 15, "here stands a file"),
        ("````\n", "", 16, "never closed"),
        ("```python", "python", 12, "has no text"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(write, old, new, line, message):
    text = CASE[: CASE.rindex("````\n")] if old == "````\n" else CASE.replace(old, new, 1)
    with pytest.raises(UsageError, match=rf"a-case\.md, line {line}: .*{message}"):
        read_case(write(text))


def test_a_case_without_a_program_is_none(write):
    with pytest.raises(UsageError, match="no program"):
        read_case(write(CASE[: CASE.index("`model_new.py`")]))


def test_a_path_that_leaves_the_folder_is_refused(write):
    with pytest.raises(UsageError, match=r"a-case\.md: .*leaves the candidate's folder"):
        read_case(write(CASE.replace("kernels/axpby.cu", "../axpby.cu")))


def test_the_corpus_is_whole():
    cases = corpus()
    names = [case.name for case in cases]
    assert len(names) == len(set(names))
    assert sum(case.kind is Kind.CHEAT for case in cases) >= 90
    assert all(set(case.caught_by) <= set(GATES) for case in cases)
    digests = [(case.candidate.digest, case.task, case.options) for case in cases]
    assert len(digests) == len(set(digests))
