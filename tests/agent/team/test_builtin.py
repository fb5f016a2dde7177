"""The builtin policy in its parts: its partition as a plan, its program as the coder's."""

import pytest

from warpsmith.agent.prompts import from_user
from warpsmith.agent.team.briefs import PASSED
from warpsmith.agent.team.builtin import UNCHANGED, BuiltinCoder, BuiltinPlanner
from warpsmith.agent.team.cast import Actor, Cast, cast_of, offered_to
from warpsmith.agent.team.nouns import Kind, Member, Rhythm
from warpsmith.agent.team.planning import plan_of
from warpsmith.agent.team.spec import Part, TeamSpec
from warpsmith.agent.tools import SPECS
from warpsmith.core import InfraError, Message, Role, UsageError
from warpsmith.policy import PolicyConfig

TWO_KERNELS = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(64, 64)
    def forward(self, x):
        return torch.softmax(self.fc(x), dim=-1).cumsum(dim=0)
def get_init_inputs(): return []
def get_inputs(): return [torch.randn(128, 64)]
"""
STRANGE = TWO_KERNELS.replace(".cumsum(dim=0)", ".sort(dim=0).values")


def planned(source):
    """The plan for a source, by a planner that asks for it and is told."""
    planner, told = BuiltinPlanner(PolicyConfig()), (from_user("plan"),)
    asks = planner.respond(told, SPECS).message
    assert [call.arguments for call in asks.tool_calls] == [{"path": "model.py"}]
    answer = Message(role=Role.TOOL, text=source, call_id=asks.tool_calls[0].call_id)
    return plan_of(planner.respond((*told, asks, answer), SPECS).message.text)


@pytest.mark.slow  # tracing imports torch's tracer
def test_the_plan_is_the_partition_with_its_contracts():
    plan = planned(TWO_KERNELS)
    assert len(plan.sub_tasks) >= 2
    assert len({one.name for one in plan.sub_tasks}) == len(plan.sub_tasks)
    assert all(one.what and one.contract.shapes and one.contract.dtypes for one in plan.sub_tasks)
    assert any("[128,64]" in one.contract.shapes for one in plan.sub_tasks)


@pytest.mark.slow
@pytest.mark.parametrize("source", [STRANGE, "class Model: pass"])
def test_what_it_has_no_partition_for_is_one_piece(source):
    assert len(planned(source).sub_tasks) == 1


def test_it_plans_nothing_that_it_cannot_read():
    with pytest.raises(InfraError, match="read"):
        BuiltinPlanner(PolicyConfig()).respond((from_user("plan"),), ())


def test_a_program_that_is_right_is_left_as_it_is():
    told = (from_user(f"# What was found in it\n\n{PASSED}.\n\nlimited by: memory"),)
    assert BuiltinCoder(PolicyConfig()).respond(told, SPECS).message.text == UNCHANGED


@pytest.mark.slow  # tracing imports torch's tracer
def test_else_it_begins_and_another_process_can_take_it_up():
    told = (from_user("# Your sub-task"),)
    first = BuiltinCoder(PolicyConfig()).respond(told, SPECS).message
    (call,) = first.tool_calls
    answer = Message(role=Role.TOOL, text=TWO_KERNELS, call_id=call.call_id)
    second = BuiltinCoder(PolicyConfig()).respond((*told, first, answer), SPECS).message
    assert second.tool_calls[-1].tool == "compile"


def test_a_team_of_rules_has_no_verifier_and_a_pair_no_planner():
    team = cast_of(TeamSpec(), Part(policy="builtin"))
    assert [team.has(member) for member in Member] == [True, True, False]
    pair = cast_of(TeamSpec(kind=Kind.PAIR, verifier=Part(policy="builtin")), Part(policy="builtin"))
    assert [pair.has(member) for member in Member] == [False, True, False]
    assert team.name == "team of planner builtin, coder builtin"


@pytest.mark.parametrize(
    ("team", "coder", "said"),
    [
        (TeamSpec(planner=Part(policy="genius")), "builtin", "unknown model"),
        (TeamSpec(planner=Part(policy="rules")), "builtin", "only be the verifier"),
        (TeamSpec(), "replay:run", "a recording"),
        (TeamSpec(verifier=Part(policy="replay:run")), "builtin", "a recording"),
    ],
)
def test_a_policy_that_cannot_play_its_part_is_named(team, coder, said):
    with pytest.raises(UsageError, match=said):
        cast_of(team, Part(policy=coder))


def test_who_acts_by_files_has_nothing_to_look_with():
    by_files = PolicyConfig(style="files")
    assert offered_to(Member.CODER, SPECS, by_files) == SPECS
    assert offered_to(Member.PLANNER, SPECS, by_files) == ()
    assert {tool.name for tool in offered_to(Member.VERIFIER, SPECS, PolicyConfig())} == {
        *("read", "glob", "grep", "docs")
    }


def test_the_window_is_that_of_whoever_has_the_word():
    class Small:
        name, context_tokens = "small", 4096

    actors = {
        Member.CODER: Actor(policy=BuiltinCoder(PolicyConfig()), config=PolicyConfig()),
        Member.VERIFIER: Actor(policy=Small(), config=PolicyConfig()),
    }
    cast = Cast(Kind.PAIR, Rhythm(), actors)
    cast.give(Member.VERIFIER)
    assert cast.context_tokens == 4096
    cast.give(Member.CODER)
    assert cast.context_tokens is None
