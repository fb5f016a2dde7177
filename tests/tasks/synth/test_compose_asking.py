"""Composing by a model: whatever is answered becomes a task or a reason."""

import random
from dataclasses import dataclass

import pytest

from warpsmith.core import UsageError
from warpsmith.tasks.synth.base import Block, Curriculum, Kind, Made, Provenance, Shape
from warpsmith.tasks.synth.compose import Junk, Written, asked, invented, prompt

GOOD = '''\
import torch
from torch import nn

SCALE = 1.0
ROWS = 65536
FEATURES = 4096


class Model(nn.Module):
    """y = gelu(linear(x))."""

    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x))


def get_init_inputs():
    return [FEATURES]


def get_inputs():
    return [torch.randn(max(2, int(ROWS * SCALE)), FEATURES)]
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A seed that is only looked at."""

    name: str
    kind: Kind

    @property
    def provenance(self) -> Provenance:
        return Provenance(library="torch", version="0", licence="BSD-3-Clause", name=self.name)

    def block(self, shape: Shape, rng: random.Random) -> Block | None:
        return None

    def example(self) -> str:
        return f'"""{self.name} alone."""\n'


SEEDS = (
    Named(name="torch.nn.Linear", kind=Kind.GEMM),
    Named(name="torch.nn.functional.gelu", kind=Kind.ELEMENTWISE),
    Named(name="torch.relu", kind=Kind.ELEMENTWISE),
)


class Scripted:
    """Answers in turn, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def __call__(self, text: str) -> str:
        self.prompts.append(text)
        return self.answers.pop(0)


def fenced(source: str = GOOD, language: str = "python") -> str:
    return f"```{language}\n{source}```\n"


def outcome_of(*answers: str) -> Written | Junk:
    return asked("Write a task.", Scripted(*answers), SEEDS)


@pytest.mark.parametrize(
    "answer",
    [
        fenced(),
        GOOD,
        fenced(language=""),
        fenced(language="py title='task.py'"),
        "Sure! Here it is:\n\n" + fenced() + "\nIt fuses well.",
        "Sure! Here it is:\n\n" + GOOD + "\nThis layer fuses well, I think.\nEnjoy!\n",
        "```python\n" + GOOD,
        "~~~python\n" + GOOD + "~~~",
        "<think>```python\nclass Model: broken(\n```</think>\n" + fenced(),
        "First try:\n" + fenced("class Model:\n    pass\n") + "No, rather:\n" + fenced(),
        fenced() + "Run it so:\n```bash\npython task.py\n```",
        fenced().replace("\n", "\r\n"),
        "1. The file:\n" + "\n".join("   " + line for line in fenced().split("\n")),
    ],
)
def test_the_file_is_found_whatever_stands_around_it(answer):
    outcome = outcome_of(answer)
    assert isinstance(outcome, Written), outcome
    assert outcome.source == GOOD
    assert not outcome.was_repaired


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return fenced(GOOD.replace(old, new))


CALL = "nn.functional.gelu(self.linear(x))"
MAKER = "def get_inputs():"
MADE = "return [FEATURES]"

JUNK: tuple[tuple[str, str], ...] = (
    ("", "no Python file"),
    ("I cannot help with that.", "no Python file"),
    ("\0\0\0", "no Python file"),
    ("```" * 1000, "no Python file"),
    (fenced(GOOD + "#" * (70 << 10)), "no Python file"),
    (fenced("class Model(nn.Module):\n    def forward(self, x:\n"), "not valid Python"),
    (fenced("class Model:\n" + " " * 8 + "(" * 5000), "not valid Python"),
    (fenced("class Model:\n    x = '\0'\n"), "not valid Python"),
    (fenced(GOOD.split("def get_init_inputs")[0]), "does not define get_inputs"),
    (changed("def forward", "def backward"), "no class with a method forward"),
    (changed(MAKER, "def get_inputs(n):"), "without arguments"),
    (changed("SCALE = 1.0", "SCALE = 1.0\nSCALE = 2.0"), "SCALE 2 times"),
    (fenced("import os\n" + GOOD), "imports os"),
    (fenced("from triton import jit\n" + GOOD), "imports triton"),
    (fenced("from . import torch\n" + GOOD), "imports"),
    (fenced(GOOD + "\nprint(Model(3))\n"), "does something"),
    (changed(MADE, "return [open('/etc/passwd')]"), "open is not allowed"),
    (changed(MADE, "return ().__class__"), "__class__ is not allowed"),
    (changed(MAKER, f"{MAKER}\n    torch.manual_seed(0)"), "manual_seed is not allowed"),
    (changed(CALL, f"{CALL} + torch.rand_like(x)"), "not deterministic"),
    (changed("nn.Linear(features, features)", "nn.Dropout(0.5)"), "Dropout is random"),
    (changed(CALL, "x.view(-1)").replace("nn.Linear(features, features)", "1"), "0 operators"),
    (changed(CALL, "torch.relu(" * 6 + "x" + ")" * 6), "7 operators"),
)


@pytest.mark.parametrize(("answer", "reason"), JUNK)
def test_junk_is_an_outcome_with_a_reason(answer, reason):
    outcome = outcome_of(answer, answer)
    assert isinstance(outcome, Junk)
    assert reason in outcome.reason


def test_a_fault_is_told_once_and_may_be_repaired():
    model = Scripted(fenced("import os\n" + GOOD), fenced())
    outcome = asked("Write a task.", model, SEEDS)
    assert isinstance(outcome, Written)
    assert outcome.was_repaired
    assert "imports os" in model.prompts[1]
    assert "Write a task." in model.prompts[1]


def test_a_second_fault_is_the_end_of_it():
    model = Scripted("no", "never", fenced())
    assert isinstance(asked("Write a task.", model, SEEDS), Junk)
    assert len(model.prompts) == 2


def test_operators_are_known_however_they_are_imported():
    outcome = outcome_of(fenced(GOOD.replace("nn.functional.gelu", "torch.nn.functional.gelu")))
    assert isinstance(outcome, Written)
    assert outcome.report.operators == ("torch.nn.Linear", "torch.nn.functional.gelu")


def test_what_a_model_writes_becomes_a_task_and_what_it_repeats_does_not():
    first, again, prose, other = invented(
        SEEDS, Scripted(fenced(), fenced(), "no", "no", fenced(GOOD.replace("gelu", "relu"))), n=4
    )
    assert isinstance(first, Made)
    assert (first.source, first.depth, first.curriculum) == ("torch#2", 2, Curriculum.GEMM_EPILOGUES)
    assert isinstance(again, Junk)
    assert "before" in again.reason
    assert isinstance(prose, Junk)
    assert isinstance(other, Made)
    assert first.structure != other.structure


def test_texts_that_differ_in_numbers_and_words_have_one_structure():
    changed = GOOD.replace("4096", "512").replace('"""y = gelu(linear(x))."""', '"""Something else."""')
    first, other = invented(SEEDS, Scripted(fenced(), fenced(changed)), n=2)
    assert isinstance(first, Made)
    assert isinstance(other, Made)
    assert first.structure == other.structure


def test_what_the_model_s_client_raises_goes_on():
    def broken(text: str) -> str:
        raise ConnectionError("no route")

    with pytest.raises(ConnectionError):
        asked("Write a task.", broken, SEEDS)


def test_a_prompt_shows_seeds_and_is_the_same_for_the_same_draw():
    text = prompt(SEEDS, random.Random(1))
    assert text == prompt(SEEDS, random.Random(1))
    assert "torch.nn.Linear alone" in text
    assert "at most 5 operators" in text


def test_a_prompt_needs_seeds_and_two_operators():
    with pytest.raises(UsageError, match="crawl first"):
        prompt((), random.Random(1))
    with pytest.raises(UsageError, match="2 to 5"):
        prompt(SEEDS, random.Random(1), max_ops=9)
