"""What a policy may do in its workspace, and how it is told what it may not."""

import os

import pytest

from warpsmith.agent import TOOLS, Workspace
from warpsmith.agent.workspace import PROTECTED
from warpsmith.sandbox import SANDBOXES


def test_a_file_is_written_read_and_edited(stage, say):
    texts = stage.answer(
        say.call("write", path="kernels/deep/a.cu", text="one\ntwo\n"),
        say.call("edit", path="kernels/deep/a.cu", old="two", new="three"),
        say.call("read", path="kernels/deep/a.cu"),
        say.call("write", path="kernels/deep/a.cu", text=""),
        say.call("read", path="kernels/deep/a.cu"),
    )
    assert texts == [
        "wrote kernels/deep/a.cu (2 lines)",
        "edited kernels/deep/a.cu at line 2",
        "one\nthree\n",
        "replaced kernels/deep/a.cu (0 lines)",
        "(empty)",
    ]


def test_the_reference_is_read_as_it_is(stage, say):
    assert stage.answer(say.call("read", path="model.py")) == [stage.task.source]


def test_a_part_of_a_file_can_be_read(stage, say):
    (stage.workspace.root / "a.py").write_text("1\n2\n3\n4\n")
    texts = stage.answer(
        say.call("read", path="a.py", first_line=2, num_lines=2),
        say.call("read", path="a.py", first_line=4),
        say.call("read", path="a.py", first_line=0),
    )
    assert texts == ["2\n3\n", "4\n", "error: first_line and num_lines count from 1"]


def test_a_file_must_be_read_before_it_is_replaced(stage, say):
    (stage.workspace.root / "a.py").write_text("old")
    texts = stage.answer(
        say.call("write", path="a.py", text="new"),
        say.call("edit", path="a.py", old="old", new="new"),
        say.call("read", path="a.py"),
        say.call("bash", command="echo changed > a.py"),
        say.call("write", path="a.py", text="new"),
        say.call("read", path="a.py"),
        say.call("write", path="a.py", text="new"),
    )
    assert texts[0] == texts[1] == "error: a.py exists and was not read; read it first"
    assert texts[4] == "error: a.py has changed since it was read; read it again"
    assert texts[6] == "replaced a.py (1 lines)"


@pytest.mark.parametrize(
    ("old", "told"),
    [("x", "stands there 2 times"), ("z", "is not there"), ("", "is not there"), ("y ", "is not there")],
)
def test_an_edit_needs_one_match(stage, say, old, told):
    texts = stage.answer(
        say.call("write", path="a.py", text="x\ny\nx\n"), say.call("edit", path="a.py", old=old, new="q")
    )
    assert told in texts[1]
    assert (stage.workspace.root / "a.py").read_text() == "x\ny\nx\n"


@pytest.mark.parametrize(
    "path",
    ["../outside.py", "/etc/passwd", "kernels/../../outside.py", "link/outside.py", "linked.py", "~/x"],
)
@pytest.mark.parametrize("tool", ["read", "write", "edit"])
def test_no_path_leads_outside(stage, say, tool, path):
    outside = stage.folder / "outside.py"
    outside.write_text("secret")
    (stage.workspace.root / "link").symlink_to(stage.folder)
    (stage.workspace.root / "linked.py").symlink_to(outside)
    arguments = {"read": {}, "write": {"text": "x"}, "edit": {"old": "secret", "new": "x"}}[tool]
    (text,) = stage.answer(say.call(tool, path=path, **arguments))
    if path == "~/x":  # no shell looks at it: an ordinary, odd name
        assert "outside" not in text
    else:
        assert text.startswith(f"error: {path} lies outside the workspace")
    assert outside.read_text() == "secret"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("", "is no path"),
        ("a\0b", "is no path"),
        ("x" * 300, "File name too long"),
        ("kernels", "is no file"),
        ("missing.py", "No such file"),
        ("loop", "cannot be followed"),
        ("pipe", "is no file"),
        ("binary", "is not UTF-8 text"),
        ("huge", "is larger than"),
        ("model.py/x", "Not a directory"),
    ],
)
def test_an_unreadable_path_is_explained(stage, say, path, told):
    root = stage.workspace.root
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    (root / "binary").write_bytes(b"\xff\xfe")
    with (root / "huge").open("wb") as file:
        file.truncate(1 << 33)
    (text,) = stage.answer(say.call("read", path=path))
    assert text.startswith("error: ")
    assert told in text


@pytest.mark.parametrize("name", PROTECTED)
def test_a_protected_file_is_not_written(stage, say, name):
    texts = stage.answer(
        say.call("read", path=name),
        say.call("write", path=name, text="x"),
        say.call("edit", path=f"./kernels/../{name}", old="class", new="x"),
    )
    assert "stays as it is" in texts[1]
    assert "stays as it is" in texts[2]


@pytest.mark.parametrize("kind", [kind for kind, sandbox in SANDBOXES.items() if sandbox.is_available()])
@pytest.mark.parametrize(
    "command",
    [
        "echo x > model.py",
        "rm -f model.py",
        "mv model.py gone.py",
        "rm -f model.py; ln -s SKILL.md model.py",
        "rm -f model.py; mkdir -p model.py/sub; touch model.py/sub/x",
        "chmod 777 model.py; truncate -s 0 model.py",
        "rm -rf ./* .[!.]*",
        "chmod 0 .",
    ],
)
def test_a_protected_file_survives_the_shell(tmp_path, task, kind, command):
    workspace = Workspace.create(tmp_path / "work", task, SANDBOXES[kind]())
    workspace.run(command, 20)
    workspace.restore_protected()
    for name in PROTECTED:
        assert not (workspace.root / name).is_symlink()
    assert (workspace.root / "model.py").read_text() == task.source
    assert (workspace.root / "SKILL.md").read_text().startswith("# Make")


def test_the_policy_is_told_that_a_protected_file_was_put_back(stage, say, monkeypatch):
    """A sandbox that protects nothing: the folder's own check still does."""

    class Careless:
        def run(self, command):
            from warpsmith.core import Completed, Ending

            (stage.workspace.root / "model.py").write_text("changed")
            return Completed(ending=Ending.EXITED, exit_code=0, stdout="", stderr="", wall_s=0.0)

    monkeypatch.setattr(stage.workspace, "_runner", Careless())
    assert stage.answer(say.call("bash", command="x"))[0].endswith(
        "note: model.py had been changed; it is restored"
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        (
            "sudo",
            {},
            "there is no tool 'sudo'; the tools are bash, read, write, edit, compile, verify, profile",
        ),
        ("read", {}, "missing argument path; read takes path (string), first_line (integer, optional)"),
        ("read", {"path": 7}, "path must be a string, not 7"),
        ("read", {"path": "a", "line": 3}, "unknown argument 'line'"),
        ("bash", {"command": "x", "timeout_s": "10"}, "timeout_s must be a number, not '10'"),
        ("bash", {"command": "x", "timeout_s": True}, "timeout_s must be a number"),
        ("bash", {"command": "x", "timeout_s": 0}, "above 0 and at most 600"),
        ("bash", {"command": "x", "timeout_s": 1e9}, "above 0 and at most 600"),
        ("bash", {"command": "x", "timeout_s": float("nan")}, "above 0 and at most 600"),
        ("bash", {"command": "x" * 200_000}, "bytes at most"),
        ("bash", {"command": "a\0b"}, "no null characters"),
        ("compile", {"flags": "-O3"}, "compile takes no arguments"),
        (
            "verify",
            {"invalid_arguments": "line 1: no JSON"},
            "the arguments could not be read: line 1: no JSON",
        ),
        ("write", {"path": "a.py", "text": "\ud800"}, "UTF-8 cannot hold"),
        ("write", {"path": "a.py", "text": "x" * (5 << 20)}, "bytes; 4194304 are accepted"),
        ("write", {"path": "SKILL.md/a.py", "text": ""}, "error: SKILL.md"),
    ],
)
def test_a_wrong_call_is_answered_with_what_is_accepted(stage, say, tool, arguments, told):
    (text,) = stage.answer(say.call(tool, **arguments))
    assert text.startswith("error: ")
    assert told in text


@pytest.mark.parametrize("tool", ["compile", "verify", "profile"])
def test_without_a_program_there_is_nothing_to_judge(stage, say, tool):
    assert "there is no file model_new.py yet" in stage.answer(say.call(tool))[0]
    assert not stage.judge.asked


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("ln -s /etc/passwd model_new.py", "there is no file model_new.py"),
        ("touch model_new.py; head -c 5000000 /dev/zero > kernels/a.cu", "bytes at most"),
        ("touch model_new.py; touch kernels/{1..100}.cu", "64 files"),
        ("touch model_new.py; touch kernels/$'a\\nb.cu'", "no plain text"),
        ("printf '\\xff' > model_new.py", "not UTF-8"),
    ],
)
def test_an_impossible_program_is_explained(stage, say, command, told):
    texts = stage.answer(say.call("bash", command=command), say.call("verify"))
    assert told in texts[1]
    assert not stage.judge.asked


def test_a_program_holds_no_file_from_outside(stage, say):
    stage.run(
        (
            say.program("100"),
            say.call(
                "bash", command="ln -s /etc/hostname kernels/a.cu; ln -s /etc kernels/b; touch kernels/c.cu"
            ),
            say.call("verify"),
        )
    )
    assert [path for path, _ in stage.judge.asked[0][1].files] == ["kernels/c.cu", "model_new.py"]


def test_a_kernels_folder_that_is_a_link_holds_nothing(stage, say):
    stage.run(
        (
            say.program("100"),
            say.call("bash", command="rmdir kernels; ln -s /usr/include kernels"),
            say.call("verify"),
        )
    )
    assert [path for path, _ in stage.judge.asked[0][1].files] == ["model_new.py"]


def test_the_shell_tells_how_a_command_ended(stage, say):
    texts = stage.answer(
        say.call("bash", command="pwd; echo oops >&2; exit 3"),
        say.call("bash", command="kill -SEGV $$"),
        say.call("bash", command="sleep 30", timeout_s=0.5),
    )
    assert texts[0].startswith("exit code 3, ")
    assert texts[0].endswith(f"{stage.workspace.root}\nstderr:\noops")
    assert texts[1].startswith("killed by signal 11")
    assert texts[2].startswith("killed at its time limit")


def test_a_huge_output_keeps_its_head_and_tail(stage, say):
    (text,) = stage.answer(say.call("bash", command="echo first; seq 1 300000; echo last"))
    assert len(text) < 6_200
    assert "\nfirst\n" in text
    assert "characters left out" in text
    assert text.endswith("last")


def test_every_tool_describes_itself(stage):
    for name, tool in TOOLS.items():
        assert tool.spec.name == name
        assert tool.spec.parameters["type"] == "object"
        assert set(tool.spec.parameters["required"]) <= set(tool.spec.parameters["properties"])
        assert tool.spec.description.endswith(".")
