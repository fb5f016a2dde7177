"""What each part is told: all that it needs, and nothing of how the others came to it."""

import json

import pytest

from warpsmith.agent.team.briefs import PASSED, Table, brief
from warpsmith.agent.team.diagnosis import Bounds, diagnosed, no_program
from warpsmith.agent.team.nouns import Contract, Member, Outcome, Plan, SubTask
from warpsmith.agent.team.planning import SCHEMA
from warpsmith.agent.team.routing import Result
from warpsmith.agent.team.state import TeamState, Tried
from warpsmith.core import Candidate, Passed, Wrong
from warpsmith.device.gpus import GPUS
from warpsmith.judge.clock.floor import Floor
from warpsmith.judge.profile import Operator, Profile
from warpsmith.judge.protocol import NamedTensor

PROGRAM = Candidate.of({"model_new.py": "# 100\n", "kernels/a.cu": "// a kernel\n"})
CONTRACT = Contract(shapes="x[8,4]", layouts="rows", dtypes="float32", tolerances="1e-5")
PLAN = Plan(
    summary="fuse it",
    sub_tasks=(
        SubTask(name="first", what="make it whole"),
        SubTask(name="second", what="make it fast", contract=CONTRACT, target=2.0),
    ),
)


@pytest.fixture
def profile():
    weights = tuple(NamedTensor(name=f"w{n}", shape=(4,), dtype="float32") for n in range(100))
    return Profile(
        gpu=GPUS["h200"],
        inputs=(NamedTensor(name="0", shape=(8, 4), dtype="float32"),),
        weights=weights,
        operators=(Operator(name="addmm", num_bytes=512, flops=64, modelled_us=3.5),) * 100,
        read_bytes=128,
        written_bytes=128,
        eager_us=35.0,
        compiled_us=9.0,
        floor=Floor(bytes_us=1.5, flops_us=0.5, certain_us=1.0),
    )


@pytest.fixture
def told(task, profile):
    def made(member, state, program=PROGRAM, profile=profile):
        table = Table(task=task, profile=profile, program=program, state=state, max_iterations=15)
        guide, words = brief(member, table)
        return guide.text, words.text

    return made


def test_a_planner_is_told_the_system_profile_with_where_each_number_comes_from(told):
    guide, words = told(Member.PLANNER, TeamState())
    assert json.dumps(SCHEMA, indent=1) in guide
    assert "15 iterations at most" in guide
    for fact in (
        "0 float32[8,4]",
        "and 40 more",
        "eager's time: 35 us (modelled)",
        "floor by bandwidth: 1.5 us (derived)",
        "addmm: 512 bytes, 64 FLOP, 3.5 us",
        "launches: 100 (counted)",
        f"a CUDA graph would save at most: {99 * GPUS['h200'].launch_us:g} us (derived)",
        "bytes moved beside the least: 50,944 bytes (derived)",
        "waits for them: unavailable",
    ):
        assert fact in words


def test_what_is_not_known_of_a_reference_is_said_to_be_unavailable(told):
    assert "unavailable" in told(Member.PLANNER, TeamState(), profile=None)[1]


def test_a_new_plan_is_asked_for_with_the_old_one_and_what_came_of_it(told):
    state = TeamState(plan=PLAN)
    state.history.append(
        Tried(
            number=1,
            sub_task="first",
            result=Result(outcome=Outcome.SLOW, time_us=300.0),
            diagnosis=no_program("none\nat all"),
        )
    )
    words = told(Member.PLANNER, state)[1]
    assert "make it whole" in words
    assert "1. first: slow, 300.0 us (none)" in words
    assert "Do not repeat" in words


def test_a_coder_is_told_its_sub_task_the_program_and_what_was_found(told, say):
    verdict = Passed(accuracy=say.accuracy, timing=say.timing(300.0))
    diagnosis = diagnosed(verdict, Bounds(launch_us=3.0))
    state = TeamState(plan=PLAN, index=1, diagnosis=diagnosis, digest="d", known={"d": verdict})
    guide, words = told(Member.CODER, state)
    assert "## You are the coder of a team" in guide
    for fact in (
        "1. [done] first",
        "2. [now] second",
        "second: make it fast",
        "- layouts: rows",
        "of 2",
        "kernels/a.cu\n```cuda\n// a kernel\n```",
        f"\n{PASSED}.",
        f"suggestion: {diagnosis.suggestion}",
    ):
        assert fact in words


def test_a_coder_whose_program_is_wrong_is_not_told_that_it_is_right(told):
    wrong = Wrong(what="values", message="at [0]")
    diagnosis = diagnosed(wrong, Bounds(launch_us=3.0))
    state = TeamState(plan=PLAN, diagnosis=diagnosis, digest="d", known={"d": wrong})
    words = told(Member.CODER, state)[1]
    assert PASSED not in words
    assert "at [0]" in words


def test_a_verifier_is_told_the_verdict_and_the_rules_numbers(told, say):
    verdict = Passed(accuracy=say.accuracy, timing=say.timing(300.0))
    diagnosis = diagnosed(verdict, Bounds(launch_us=3.0))
    state = TeamState(plan=PLAN, diagnosis=diagnosis, digest="d", known={"d": verdict})
    guide, words = told(Member.VERIFIER, state)
    assert "Exactly one" in guide
    assert "memory | compute | latency | launch | host" in guide
    assert "program's time: 300 us (measured)" in words
    assert "host's time a call: unavailable" in words


def test_a_program_too_long_to_be_told_is_cut_in_the_middle(told):
    long = Candidate.of({"model_new.py": "x = 1\n" * 20_000})
    words = told(Member.CODER, TeamState(plan=PLAN), long)[1]
    assert "characters left out" in words
    assert len(words) < 60_000
