"""A call that is wrong in itself is answered with what would be right."""

import pytest

from warpsmith.agent import TOOLS

ALL = (
    "bash, bash_output, kill_bash, read, write, edit, multi_edit, glob, grep, compile, verify, profile, "
    "docs, todo"
)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("sudo", {}, f"there is no tool 'sudo'; the tools are {ALL}"),
        ("read", {}, "missing argument path; read takes path (string), first_line (integer, optional)"),
        ("read", {"path": 7}, "path must be a string, not 7"),
        ("read", {"path": "a", "first_line": 1.5}, "first_line must be an integer, not 1.5"),
        ("read", {"path": "a", "first_line": True}, "first_line must be an integer, not True"),
        ("read", {"path": None}, "path must be a string, not None"),
        ("read", {"path": "a", "line": 3}, "unknown argument 'line'"),
        ("bash", {"command": "x", "timeout_s": "10"}, "timeout_s must be a number, not '10'"),
        ("bash", {"command": "x", "timeout_s": True}, "timeout_s must be a number"),
        ("bash", {"command": "x", "timeout_s": 0}, "above 0 and at most 600"),
        ("bash", {"command": "x", "timeout_s": 1e9}, "above 0 and at most 600"),
        ("bash", {"command": "x", "timeout_s": float("nan")}, "above 0 and at most 600"),
        ("bash", {"command": "x", "background": 1}, "background must be a boolean, not 1"),
        ("bash", {"command": "x", "background": "true"}, "background must be a boolean, not 'true'"),
        ("bash", {"command": "x" * 200_000}, "bytes at most"),
        ("bash", {"command": "a\0b"}, "without null characters"),
        ("bash", {"command": "echo \ud800"}, "a command is text"),
        ("bash", {"command": "echo \ud800", "background": True}, "a command is text"),
        ("read", {"path": "\ud800"}, "is no path"),
        ("glob", {"pattern": "*", "path": "\udcff"}, "is no path"),
        ("bash_output", {"job": "\ud800"}, "there is no job"),
        ("\ud800", {}, "there is no tool"),
        ("bash_output", {"job": "job-1"}, "there is no job 'job-1'; the jobs are none; bash with background"),
        ("bash_output", {"job": "job-1", "wait_s": 61}, "wait_s must be from 0 to 60"),
        ("bash_output", {"job": "job-1", "wait_s": -1}, "wait_s must be from 0 to 60"),
        ("bash_output", {"job": "job-1", "wait_s": float("nan")}, "wait_s must be from 0 to 60"),
        ("kill_bash", {"job": 1}, "job must be a string, not 1; kill_bash takes job (string)"),
        ("compile", {"flags": "-O3"}, "compile takes no arguments"),
        (
            "verify",
            {"invalid_arguments": "line 1: no JSON"},
            "the arguments could not be read: line 1: no JSON",
        ),
        ("write", {"path": "a.py", "text": "\ud800"}, "UTF-8 cannot hold"),
        ("write", {"path": "a.py", "text": "x" * (5 << 20)}, "bytes; 4194304 are accepted"),
        ("write", {"path": "SKILL.md/a.py", "text": ""}, "error: SKILL.md"),
        (
            "multi_edit",
            {"path": "a"},
            "missing argument edits; multi_edit takes path (string), edits (list of",
        ),
        ("multi_edit", {"path": "a", "edits": {}}, "edits must be an array, not {}"),
        ("multi_edit", {"path": "a", "edits": "[]"}, "edits must be an array, not '[]'"),
        ("multi_edit", {"path": "a", "edits": []}, "edits must have from 1 to 50 items, not 0"),
        ("multi_edit", {"path": "a", "edits": ["x"]}, "edits[0] must be an object, not 'x'"),
        ("multi_edit", {"path": "a", "edits": [{"old": "x"}]}, "missing argument edits[0].new"),
        (
            "multi_edit",
            {"path": "a", "edits": [{"old": "x", "new": "y"}, {"old": "x", "new": 7}]},
            "edits[1].new must be a string, not 7; multi_edit takes path (string), edits (list of objects, "
            "each with old (string), new (string), all (boolean, optional))",
        ),
        (
            "multi_edit",
            {"path": "a", "edits": [{"old": "x", "new": "y", "replace_all": True}]},
            "unknown argument 'edits[0].replace_all'",
        ),
        ("todo", {"items": [{"text": "x", "status": "started"}]}, "status must be one of open, doing, done"),
        ("todo", {"items": [{"text": "x", "status": ["open"]}]}, "items[0].status must be a string"),
        ("todo", {"items": [{"text": " ", "status": "open"}]}, "item 1 must have a text"),
        ("todo", {"items": [{"text": "x" * 501, "status": "open"}]}, "500 characters at most"),
        (
            "todo",
            {"items": [{"text": "x", "status": "open"}] * 51},
            "items must have from 0 to 50 items, not 51",
        ),
        ("grep", {"pattern": "x", "context": -1}, "context must be from 0 to 20"),
        ("grep", {"pattern": ""}, "pattern must have 1 to 1000 characters"),
        ("grep", {"pattern": "x", "glob": "a\0b"}, "glob must have 1 to 1000 characters"),
        ("grep", {"pattern": "x", "path": "../x"}, "../x lies outside the workspace"),
        ("glob", {"pattern": "*", "path": "/etc"}, "/etc lies outside the workspace"),
        ("glob", {"pattern": "/etc/*"}, "/etc/* lies outside the workspace"),
        ("glob", {"pattern": "kernels/../../*"}, "lies outside the workspace"),
        ("grep", {"pattern": "..", "glob": "../*"}, "../* lies outside the workspace"),
        ("glob", {"pattern": "*", "path": ""}, "'' is no path"),
    ],
)
def test_a_wrong_call_is_answered_with_what_is_accepted(bench, tool, arguments, told):
    text = bench.say(tool, **arguments)
    assert text.startswith("error: ")
    assert told in text


def test_a_list_is_replaced_and_shown_back(bench):
    items = [
        {"text": "read  the\nmodel", "status": "done"},
        {"text": "fuse", "status": "doing"},
        {"text": "tune", "status": "open"},
    ]
    assert bench.say("todo", items=items) == "[x] read the model\n[>] fuse\n[ ] tune"
    assert bench.say("todo", items=items[2:]) == "[ ] tune"
    assert [item.text for item in bench.context.todo] == ["tune"]
    assert bench.say("todo", items=[]) == "the list is empty"


def test_a_wrong_list_leaves_the_old_one(bench):
    bench.say("todo", items=[{"text": "tune", "status": "open"}])
    bench.say("todo", items=[{"text": "x", "status": "later"}])
    assert [item.text for item in bench.context.todo] == ["tune"]


def test_every_tool_describes_itself():
    for name, tool in TOOLS.items():
        assert tool.spec.name == name
        assert tool.spec.parameters["type"] == "object"
        assert set(tool.spec.parameters["required"]) <= set(tool.spec.parameters["properties"])
        assert tool.spec.description.endswith(".")
        assert all(field["description"] for field in tool.spec.parameters["properties"].values())
