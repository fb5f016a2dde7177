import json
import math

import pytest

from warpsmith.core import (
    Accuracy,
    Cost,
    KernelResources,
    Message,
    Passed,
    Provenance,
    Ratio,
    Role,
    Series,
    Timing,
    ToolCall,
    Turn,
    Verdict,
    Wrong,
)
from warpsmith.core.codec import from_data, from_json, to_json

TIMING = Timing(
    provenance=Provenance.MEASURED,
    gpu="H200",
    candidate=Series(name="candidate", samples_us=(2.0, 1.0, 3.0)),
    eager=Series(name="eager", samples_us=(4.0,)),
    compile=None,
    against_eager=Ratio(centre=2.0, low=1.5, high=2.5),
    against_compile=None,
    floor_us=1.0,
)
PASSED = Passed(
    accuracy=Accuracy(error=1e-6, reference_error=1e-7, allowed=1.6e-6),
    resources=(
        KernelResources(
            kernel="k", arch="sm_90a", registers=32, spill_bytes=0, shared_bytes=64, stack_bytes=0
        ),
    ),
    timing=TIMING,
)


@pytest.mark.parametrize("verdict", [PASSED, Wrong(what="values", message="no", error=1.0, allowed=0.1)])
def test_a_verdict_comes_back_as_it_went(verdict):
    assert from_json(Verdict, to_json(verdict)) == verdict


def test_a_turn_comes_back_with_calls_and_verdicts():
    call = ToolCall(call_id="1", tool="write", arguments={"path": "a.cu", "lines": [1, 2]})
    turn = Turn(
        reply=Message(role=Role.ASSISTANT, text="on it", tool_calls=(call,)),
        answers=(Message(role=Role.TOOL, text="ok", call_id="1", verdict=PASSED),),
        cost=Cost(prompt_tokens=3, usd=0.1),
    )
    assert from_json(Turn, to_json(turn)) == turn


def test_numbers_that_are_not_finite_survive_strict_json():
    text = to_json(Wrong(what="values", message="", error=math.nan, allowed=math.inf))
    json.loads(text, parse_constant=pytest.fail)
    back = from_json(Verdict, text)
    assert isinstance(back, Wrong)
    assert back.error is not None
    assert math.isnan(back.error)
    assert back.allowed == math.inf


@pytest.mark.parametrize(
    "data",
    [
        {"type": "Passed"},
        {"type": "Winner"},
        "Passed",
        None,
        {"type": "Wrong", "what": 3, "message": ""},
        {"type": "TimedOut", "stage": "load", "limit_s": "soon"},
    ],
)
def test_data_that_does_not_fit_is_a_value_error(data):
    with pytest.raises(ValueError, match=r"\w"):
        from_data(Verdict, data)
