"""The builtin policy in a whole conversation; the tool side is a loop here that answers as the test says."""

import re

import pytest

from warpsmith.core import (
    Accuracy,
    BuildFailed,
    Crashed,
    InfraError,
    Message,
    Passed,
    Precision,
    Provenance,
    Ratio,
    Role,
    Series,
    TimedOut,
    Timing,
    ToolSpec,
    Wrong,
)
from warpsmith.policy import PolicyConfig, make_policy

TOOLS = tuple(
    ToolSpec(name=name, description="", parameters={})
    for name in ("bash", "read", "write", "edit", "compile", "verify", "profile")
)
OPENING = (Message(role=Role.SYSTEM, text="guide"), Message(role=Role.USER, text="task"))

LINEAR = """
import torch

class Model(torch.nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = torch.nn.Linear(width, hidden)
        self.down = torch.nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))

def get_init_inputs():
    return [4096, 16384]

def get_inputs():
    return [torch.randn(8192, 4096)]
"""
POINTWISE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.sigmoid(x) * y + 1.0

def get_init_inputs():
    return []

def get_inputs():
    return [torch.randn(4096, 4096), torch.randn(4096, 4096)]
"""
SORTED = POINTWISE.replace("torch.sigmoid(x) * y + 1.0", "torch.sort(x).values * y")

FAIL = Wrong(what="values", message="off by 3", error=3.0, allowed=1.0)


def passed(median_us, provenance=Provenance.MEASURED):
    timing = Timing(
        provenance=provenance,
        gpu="NVIDIA H200",
        candidate=Series(name="candidate", samples_us=(median_us,)),
        eager=Series(name="eager", samples_us=(100.0,)),
        compile=None,
        against_eager=Ratio(centre=1.0, low=1.0, high=1.0),
        against_compile=None,
        floor_us=1.0,
    )
    return Passed(accuracy=Accuracy(error=0.0, reference_error=0.0, allowed=1.0), timing=timing)


class ToolSide:
    """Keeps the files that are written, and lets `judge(files)` give the verdict on them."""

    def __init__(self, source, judge, builds=lambda files: None):
        self.files = {"model.py": source}
        self.messages = list(OPENING)
        self.judge = judge
        self.builds = builds
        self.profiled = []  # the files at each profile

    def program(self):
        return {path: text for path, text in self.files.items() if path != "model.py"}

    def answer(self, call):
        match call.tool, call.arguments:
            case "read", {"path": path}:
                return self.files[path], None
            case "write", {"path": path, "text": text}:
                self.files[path] = text
                return f"wrote {path}", None
            case "bash", {"command": command}:
                assert command.startswith("rm -f ")
                for path in command.split()[2:]:
                    del self.files[path]
                return "exit code 0", None
            case "compile", {}:
                verdict = self.builds(self.program())
                return ("failed", verdict) if verdict else ("compiled (0.1 s)", None)
            case "verify", {}:
                verdict = self.judge(self.program())
                is_right = isinstance(verdict, Passed)
                return "verdict", Passed(accuracy=verdict.accuracy) if is_right else verdict
            case "profile", {}:
                self.profiled.append(self.program())
                return "verdict", self.builds(self.program()) or self.judge(self.program())

    def converse(self, policy, max_turns=100):
        for _ in range(max_turns):
            reply = policy.respond(tuple(self.messages), TOOLS).message
            self.messages.append(reply)
            if not reply.tool_calls:
                return reply
            for call in reply.tool_calls:
                text, verdict = self.answer(call)
                self.messages.append(
                    Message(role=Role.TOOL, text=text, call_id=call.call_id, verdict=verdict)
                )
        raise AssertionError("the conversation does not end")


def methods(files):
    """How each product is computed, by what its file includes."""
    return tuple(
        next((m for m in ("bf16x3_in_two", "bf16x3", "tf32x3", "bf16x6") if f"split_{m}.cuh" in text), "fp32")
        for path, text in sorted(files.items())
        if path.endswith(".cu")
    )


def converse(source, judge, **options):
    side = ToolSide(source, judge, **options)
    return side, side.converse(make_policy("builtin"))


def test_the_plan_is_told_before_the_first_program_is_written():
    side, _ = converse(LINEAR, lambda files: passed(10.0))
    replies = [message for message in side.messages if message.role is Role.ASSISTANT]
    assert [call.tool for call in replies[0].tool_calls] == ["read"]
    assert [call.tool for call in replies[1].tool_calls][-1] == "compile"
    assert all(word in replies[1].text for word in ("linear_relu", "Predicted", "GFLOP"))
    assert [reply.tool_calls[-1].tool for reply in replies[2:4]] == ["verify", "profile"]


def test_the_fastest_that_passed_stands_in_the_workspace_at_the_end():
    def judge(files):
        return passed(sum({"bf16x3": 5.0, "bf16x3_in_two": 7.0}.get(m, 50.0) for m in methods(files)))

    side, last = converse(LINEAR, judge)
    assert methods(side.program()) == ("bf16x3", "bf16x3")
    assert "10.0 us" in last.text
    assert "28.6 % less time" in last.text


def test_no_file_of_a_discarded_variant_stays_behind():
    side, _ = converse(LINEAR, lambda files: passed({"bf16x3": 5.0}.get(methods(files)[0], 9.0)))
    for files in (*side.profiled, side.program()):
        included = {name for text in files.values() for name in re.findall(r'#include "(.*)"', text)}
        assert {path for path in files if path.endswith(".cuh")} == {f"kernels/{name}" for name in included}


def test_a_variant_that_is_wrong_is_discarded_and_the_search_goes_on():
    def judge(files):
        return FAIL if any("bf16" in m for m in methods(files)) else passed(9.0)

    side, last = converse(LINEAR, judge)
    assert not any("bf16" in m for m in methods(side.program()))
    assert "9.0 us" in last.text


def test_a_variant_that_is_wrong_later_is_discarded_too():
    def judge(files):
        return FAIL if "bf16x3" in methods(files) else passed(9.0)

    side, _ = converse(LINEAR, judge)
    assert methods(side.program()) == ("bf16x3_in_two", "bf16x3_in_two")


def test_a_gain_below_one_percent_is_noise():
    times = iter([10.0, 9.95, 9.94, 9.93, 9.92, 9.91, 9.92, 9.93, 9.94] + [9.95] * 50)
    sizes = []

    def judge(files):
        sizes.append(files)
        return passed(10.0) if len(sizes) < 3 else passed(next(times))

    side, _ = converse(POINTWISE, judge)
    assert side.program() == side.profiled[0]


def test_patience_bounds_the_tries_on_one_kernel():
    side, _ = converse(POINTWISE, lambda files: passed(10.0))
    assert len(side.profiled) == 1 + 3


def test_modelled_times_do_not_choose_sizes():
    side, _ = converse(POINTWISE, lambda files: passed(10.0, Provenance.MODELLED))
    assert len(side.profiled) == 1


def test_modelled_times_choose_between_methods_a_few_times():
    side, _ = converse(LINEAR, lambda files: passed(10.0, Provenance.MODELLED))
    assert 1 < len(side.profiled) <= 1 + 3


@pytest.mark.parametrize(
    "verdict",
    [FAIL, Crashed(stage="forward", log="Traceback\nValueError: no"), TimedOut(stage="forward", limit_s=1.0)],
)
def test_when_nothing_passes_the_last_verdict_is_told(verdict):
    side, last = converse(LINEAR, lambda files: verdict)
    assert len(side.profiled) == 5  # the first guess fails at verify, five more are tried at once
    assert "stop" in last.text
    assert {"Wrong": "off by 3", "Crashed": "ValueError: no", "TimedOut": "timed out"}[
        type(verdict).__name__
    ] in last.text


def test_a_program_that_does_not_compile_is_not_verified():
    side, last = converse(LINEAR, lambda files: passed(1.0), builds=lambda files: BuildFailed(log="error: x"))
    assert not any(call.tool == "verify" for message in side.messages for call in message.tool_calls)
    assert "error: x" in last.text


def test_what_it_cannot_write_it_declines_by_name():
    side, last = converse(SORTED, lambda files: passed(1.0))
    assert not side.program()
    assert "sort" in last.text


def test_the_same_answers_lead_to_the_same_conversation():
    first, _ = converse(LINEAR, lambda files: passed(10.0))
    second, _ = converse(LINEAR, lambda files: passed(10.0))
    assert first.messages == second.messages


def test_a_fresh_instance_takes_up_a_conversation_where_it_stopped():
    whole, last = converse(POINTWISE, lambda files: passed(10.0))
    replies = [k for k, message in enumerate(whole.messages) if message.role is Role.ASSISTANT]
    for place in replies[1::2]:
        reply = make_policy("builtin").respond(tuple(whole.messages[:place]), TOOLS).message
        assert reply == whole.messages[place]
    assert whole.messages[-1] == last


def test_asking_again_gives_the_same_reply():
    policy = make_policy("builtin")
    assert policy.respond(OPENING, TOOLS) == policy.respond(OPENING, TOOLS)


def test_a_conversation_that_it_did_not_lead_is_refused():
    foreign = (*OPENING, Message(role=Role.ASSISTANT, text="hello"))
    with pytest.raises(InfraError, match="not the builtin policy's"):
        make_policy("builtin").respond(foreign, TOOLS)


def test_a_conversation_that_lost_its_turns_is_refused():
    policy = make_policy("builtin")
    side = ToolSide(POINTWISE, lambda files: passed(10.0))
    side.converse(policy)
    with pytest.raises(InfraError, match="lacks"):
        policy.respond(OPENING, TOOLS)


def test_a_finished_conversation_has_ended():
    policy = make_policy("builtin")
    side = ToolSide(POINTWISE, lambda files: passed(10.0))
    side.converse(policy)
    with pytest.raises(InfraError, match="finished"):
        policy.respond(tuple(side.messages), TOOLS)


def test_an_unanswered_call_is_refused():
    policy = make_policy("builtin")
    reply = policy.respond(OPENING, TOOLS).message
    with pytest.raises(InfraError, match="answers"):
        policy.respond((*OPENING, reply), TOOLS)


def test_a_missing_tool_is_named():
    with pytest.raises(InfraError, match="profile"):
        make_policy("builtin").respond(OPENING, TOOLS[:-1])


def test_a_workspace_that_refuses_a_file_is_not_worked_in():
    side = ToolSide(POINTWISE, lambda files: passed(10.0))
    answer = side.answer
    side.answer = lambda call: ("error: disk full", None) if call.tool == "write" else answer(call)
    with pytest.raises(InfraError, match="disk full"):
        side.converse(make_policy("builtin"))


@pytest.mark.parametrize("precision", list(Precision))
def test_rounding_variants_are_proposed_only_where_the_task_accepts_them(precision):
    side = ToolSide(LINEAR, lambda files: passed(10.0))
    side.converse(make_policy("builtin", PolicyConfig(precision=precision)))
    is_proposed = any(
        "FAST_TF32" in text and "split" not in text
        for files in side.profiled
        for text in files.values()
        if "Problem{" in text
    )
    assert is_proposed is (precision is Precision.TF32)
