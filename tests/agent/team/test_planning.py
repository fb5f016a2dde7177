"""Plans: what of a model's answer is read, and what is sent back."""

import json

import pytest

from warpsmith.agent.team.diagnosis import no_program
from warpsmith.agent.team.nouns import Contract, Plan, SubTask
from warpsmith.agent.team.planning import default_plan, plan_json, plan_of
from warpsmith.agent.team.reading import Unreadable
from warpsmith.agent.team.verifying import spoken

ONE = {"name": "a", "what": "all of it"}
PLAN = {"summary": "s", "sub_tasks": [ONE]}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(PLAN),
        f"Here is my plan:\n```json\n{json.dumps(PLAN)}\n```\nGood luck.",
        f"I fuse. {json.dumps(PLAN)} That is all.",
        f"<think>{{}}</think>{json.dumps(PLAN)}",
        json.dumps(PLAN).replace('"all of it"', '"all of it",'),
        str(PLAN),
        json.dumps([ONE]),
    ],
)
def test_a_plan_is_found_wherever_it_stands(text):
    assert plan_of(text).sub_tasks == (SubTask(name="a", what="all of it"),)


@pytest.mark.parametrize(
    ("item", "sub_task"),
    [
        ("just words", SubTask(name="step 1", what="just words")),
        ({"id": 7, "description": "d"}, SubTask(name="7", what="d")),
        ({"name": "n", "what": ["x", "y"]}, SubTask(name="n", what="x; y")),
        ({**ONE, "target": "1.5x"}, SubTask(**ONE, target=1.5)),
        ({**ONE, "target": -1}, SubTask(**ONE)),
        ({**ONE, "target": float("inf")}, SubTask(**ONE)),
        ({**ONE, "target": True}, SubTask(**ONE)),
        ({**ONE, "contract": "x[8]"}, SubTask(**ONE, contract=Contract(shapes="x[8]"))),
        (
            {**ONE, "contract": {"dtypes": None, "shapes": {"x": [8]}}},
            SubTask(**ONE, contract=Contract(shapes="x: 8")),
        ),
    ],
)
def test_slips_in_a_sub_task_are_read_as_meant(item, sub_task):
    text = json.dumps({"sub_tasks": [item]})
    assert plan_of(text).sub_tasks == (sub_task,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON object"),
        ("I would fuse it all.", "no JSON object"),
        ('{"plan": 1}', "has no 'sub_tasks'; it has 'plan'"),
        ('{"sub_tasks": []}', "empty"),
        ('{"sub_tasks": "all"}', "must be a list"),
        ('{"sub_tasks": [3]}', "must be an object"),
        ('{"sub_tasks": [{"name": "a"}]}', "does not say what"),
        ('{"sub_tasks": [' + ",".join(['"s"'] * 100) + "]}", "100 sub-tasks; 15 are accepted"),
        ('{"sub_tasks": ' + "[" * 5000, "no JSON object"),
        ("{" * 100_000, "no JSON object"),
    ],
    ids=range(10),
)
def test_what_is_no_plan_is_said_why(text, said):
    with pytest.raises(Unreadable, match=said.replace("(", r"\(")):
        plan_of(text)


def test_a_plan_is_read_back_as_it_was_written():
    contract = Contract(shapes="x[8]", layouts="rows", dtypes="float32", tolerances="1e-5")
    plan = Plan(
        summary="s", sub_tasks=(SubTask(name="a", what="b", contract=contract, hint="c", target=2.0),)
    )
    assert plan_of(plan_json(plan)) == plan
    assert plan_of(plan_json(default_plan("task"))) == default_plan("task")


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("", "Write model_new.py"),
        ("{}", "{}"),
        ("Fuse both.", "Fuse both."),
        ('{"suggestion": []}', "Write model_new.py"),
        ('{"suggestion": null, "finding": "x"}', "Write model_new.py"),
        ('{"suggestion": "Pad."}', "Pad."),
        ('{"suggestion": {"file": "a.cu", "change": "pad"}}', "file: a.cu; change: pad"),
        ('{"suggestion": ["", "Pad.", "Fuse."]}', "Pad."),
    ],
)
def test_a_verifier_s_word_is_one_suggestion_or_the_rules_stand(text, suggestion):
    rules = no_program("there is none")
    said = spoken(text, rules, "somebody")
    assert said.suggestion.startswith(suggestion)
    assert said.evidence == rules.evidence
