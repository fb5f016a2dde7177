"""Answers whose verdict is known, judged: the judge says so itself if it cannot see."""

import pytest

from warpsmith.core import InfraError
from warpsmith.judge.controls import Controlled, check
from warpsmith.judge.protocol import Compared, Control, Difference, Pretended
from warpsmith.judge.trial import OpenTask

SCALAR = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, labels): return torch.nn.functional.cross_entropy(x, labels)
def get_init_inputs(): return []
def get_inputs(): return [torch.randn(16, 8), torch.randint(0, 8, (16,))]
"""
INTEGERS = """
import torch
class Model(torch.nn.Module):
    def forward(self, x): return x * 2 + 1, (x > 3).any()
def get_init_inputs(): return []
def get_inputs(): return [torch.randint(0, 100, (16, 8))]
"""


class Oracle:
    """Says of every answer what it was told to."""

    def __init__(self, passes):
        self._passes = passes
        self._control = Control.CONSTANT

    def ask(self, request, kind, *, limit_s):
        if kind is Pretended:
            self._control = request.control
            return Pretended(is_there=True)
        difference = None if self._control in self._passes else Difference(what="values", message="at [0]")
        return Compared(error=0.5, reference_error=1e-7, allowed=1.0, difference=difference)


@pytest.fixture
def subject(scaled_judge, tmp_path):
    """Makes an open task whose oracle passes these controls."""

    def make(*passes):
        return OpenTask(
            task=scaled_judge.task, facts=None, oracle=Oracle(passes), folder=tmp_path, num_inputs=1
        )

    return make


def outcomes(found: tuple[Controlled, ...]):
    return {item.control: item.passes for item in found}


def test_a_constant_and_a_copy_fail_and_the_reference_passes(scaled_judge):
    assert outcomes(scaled_judge.check_controls()) == {
        Control.CONSTANT: False,
        Control.COPY: False,
        Control.REFERENCE: True,
    }


@pytest.mark.parametrize("source", [SCALAR, INTEGERS], ids=["one number", "integers"])
def test_any_kind_of_output_has_its_controls(in_process, source):
    with in_process(source) as judge:
        assert outcomes(judge.check_controls())[Control.REFERENCE]


def test_controls_leave_nothing_behind(scaled_judge):
    before = sorted(scaled_judge._subject.folder.iterdir())
    scaled_judge.check_controls()
    assert sorted(scaled_judge._subject.folder.iterdir()) == before


@pytest.mark.parametrize(
    ("passes", "says"),
    [
        ((Control.CONSTANT, Control.REFERENCE), "constant-return passes"),
        ((Control.COPY, Control.REFERENCE), "copy-input passes"),
        ((), r"reference-as-candidate fails \(at \[0\]\)"),
    ],
    ids=["constant", "copy", "reference"],
)
def test_a_blind_judge_says_so(subject, scaled_judge, passes, says):
    with pytest.raises(InfraError, match=says):
        check(subject(*passes), scaled_judge.config)


def test_a_seeing_judge_says_nothing(subject, scaled_judge):
    assert len(check(subject(Control.REFERENCE), scaled_judge.config)) == len(Control)
