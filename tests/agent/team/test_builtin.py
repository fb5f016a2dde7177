"""The builtin policy in its parts: its partition as a plan, its program as the coder's."""

import pytest

from warpsmith.agent.prompts import from_user
from warpsmith.agent.team.briefs import AGAIN, ANOTHER_PLAN, PASSED, YOUR_SUB_TASK
from warpsmith.agent.team.builtin import (
    ANY_SPEED,
    PLAINLY,
    UNCHANGED,
    WHOLE,
    BuiltinCoder,
    BuiltinPlanner,
)
from warpsmith.agent.team.cast import Actor, Cast, cast_of, offered_to
from warpsmith.agent.team.nouns import Kind, Member, Rhythm
from warpsmith.agent.team.planning import plan_of
from warpsmith.agent.team.spec import Part, TeamSpec
from warpsmith.agent.team.tuning import NO_GROUP, NOT_MINE
from warpsmith.agent.tools import SPECS
from warpsmith.core import InfraError, Message, Passed, Role, UsageError
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


def planned(source, words="plan"):
    """The plan for a source, by a planner that asks for it and is told."""
    planner, told = BuiltinPlanner(PolicyConfig()), (from_user(words),)
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
    assert plan.sub_tasks[0].name == PLAINLY
    assert [one.target for one in plan.sub_tasks][-1] is None, "the last is held to the run's target"
    assert {one.target for one in plan.sub_tasks[:-1]} == {ANY_SPEED}
    assert any("[128,64]" in one.contract.shapes for one in plan.sub_tasks)


@pytest.mark.slow
def test_another_plan_than_its_own_is_the_whole():
    assert [one.name for one in planned(TWO_KERNELS, ANOTHER_PLAN).sub_tasks] == [WHOLE]


@pytest.mark.slow
@pytest.mark.parametrize("source", [STRANGE, "class Model: pass"])
def test_what_it_has_no_partition_for_is_one_piece(source):
    assert len(planned(source).sub_tasks) == 1


def test_it_plans_nothing_that_it_cannot_read():
    with pytest.raises(InfraError, match="read"):
        BuiltinPlanner(PolicyConfig()).respond((from_user("plan"),), ())


FOUND = f"# What was found in it\n\n{PASSED}.\n\nlimited by: memory"


def sub_task(name, *, is_right, is_again=False):
    again = f"\n\n{AGAIN}: 1 times so far." if is_again else ""
    words = f"# The plan\n\n{YOUR_SUB_TASK}\n\n{name}: the kernel.{again}\n\n{FOUND if is_right else ''}"
    return (from_user(words),)


class Workplace:
    """A workspace and a judge in one: programs pass, and take the time that `times` finds in their text."""

    def __init__(self, say, times=lambda _text: 100.0):
        self.say, self.times = say, times
        self.files = {"model.py": TWO_KERNELS}
        self.timed = []

    def work(self, told, is_new_each_time=False):
        """A coder's whole conversation; what it said last."""
        coder, messages = BuiltinCoder(PolicyConfig()), told
        while True:
            coder = BuiltinCoder(PolicyConfig()) if is_new_each_time else coder
            said = coder.respond(messages, SPECS).message
            messages = (*messages, said, *map(self.answer, said.tool_calls))
            if not said.tool_calls:
                return said.text

    def answer(self, call):
        text, verdict = "done", None
        match call.tool, call.arguments:
            case "read", {"path": path}:
                text = self.files.get(path, "error: no such file")
            case "write", {"path": path, "text": written}:
                self.files[path] = written
            case "bash", {"command": command}:
                self.files = {path: text for path, text in self.files.items() if path not in command.split()}
            case "verify" | "profile" as tool, _:
                verdict = self.judged(is_timed=tool == "profile")
            case _:
                pass
        return Message(role=Role.TOOL, text=text, call_id=call.call_id, verdict=verdict)

    def judged(self, *, is_timed):
        time_us = self.times("\n".join(text for path, text in sorted(self.files.items())))
        if is_timed:
            self.timed.append(time_us)
        return Passed(accuracy=self.say.accuracy, timing=self.say.timing(time_us) if is_timed else None)

    @property
    def program(self):
        return {path: text for path, text in self.files.items() if path != "model.py"}


@pytest.mark.slow  # tracing imports torch's tracer
def test_it_writes_the_whole_plainly_and_then_a_kernel_an_iteration(say):
    place = Workplace(say)
    place.work(sub_task(PLAINLY, is_right=False))
    plain = dict(place.program)
    assert len(place.timed) == 1, "no variant is tried before the whole is right"
    name = planned(TWO_KERNELS).sub_tasks[1].name
    place.times = lambda text: 50.0 if text != joined(plain) else 100.0
    said = place.work(sub_task(name, is_right=True))
    assert f"{name}: " in said
    assert len(place.timed) > 2
    changed = {
        path for path in plain.keys() | place.program.keys() if plain.get(path) != place.program.get(path)
    }
    assert changed, "a faster variant was kept"
    others = {one.name for one in planned(TWO_KERNELS).sub_tasks[1:]} - {name}
    assert not changed & {f"kernels/{other}.cu" for other in others}, "of one sub-task alone"


def joined(program):
    return "\n".join(text for _, text in sorted({**program, "model.py": TWO_KERNELS}.items()))


@pytest.mark.slow
def test_a_search_that_finds_nothing_leaves_the_program_as_it_was(say):
    place = Workplace(say)
    place.work(sub_task(PLAINLY, is_right=False))
    plain = dict(place.program)
    place.work(sub_task(planned(TWO_KERNELS).sub_tasks[1].name, is_right=True))
    assert place.program == plain


@pytest.mark.slow
def test_another_process_can_take_the_search_up_at_every_step(say):
    one, other = Workplace(say), Workplace(say)
    for place in (one, other):
        place.work(sub_task(PLAINLY, is_right=False))
    told = sub_task(planned(TWO_KERNELS).sub_tasks[1].name, is_right=True)
    assert one.work(told) == other.work(told, is_new_each_time=True)
    assert one.timed == other.timed


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["// by another hand\n", ""])
def test_a_program_of_another_hand_is_left_as_it_is(say, damage):
    place = Workplace(say)
    place.work(sub_task(PLAINLY, is_right=False))
    path = next(path for path in place.program if path.endswith(".cu"))
    place.files[path] = damage
    before, num_timed = dict(place.program), len(place.timed)
    assert place.work(sub_task(planned(TWO_KERNELS).sub_tasks[1].name, is_right=True)) == NOT_MINE
    assert (place.program, len(place.timed)) == (before, num_timed)


@pytest.mark.slow
def test_a_sub_task_that_is_no_kernel_of_its_plan_is_left(say):
    assert Workplace(say).work(sub_task("somebody_else_s", is_right=True)) == NO_GROUP


@pytest.mark.parametrize("name", [WHOLE, PLAINLY])
def test_the_whole_that_is_right_is_left_as_it_is(name):
    told = sub_task(name, is_right=True)
    assert BuiltinCoder(PolicyConfig()).respond(told, SPECS).message.text == UNCHANGED


def test_a_kernel_that_was_searched_for_is_not_searched_for_again():
    told = sub_task("linear", is_right=True, is_again=True)
    assert BuiltinCoder(PolicyConfig()).respond(told, SPECS).message.text == UNCHANGED


def test_a_program_that_is_right_is_left_as_it_is():
    told = (from_user(FOUND),)
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
