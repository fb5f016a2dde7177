"""Reading, writing and changing files: what is accepted, and what is said about the rest."""

import ctypes
import os
import subprocess
import sys
import threading

import pytest

from warpsmith.agent.workspace import folder, program
from warpsmith.agent.workspace.beneath import remove_tree
from warpsmith.agent.workspace.folder import PROTECTED

HERE, EXCHANGE = -100, 2  # of the system call renameat2


def test_a_file_is_written_read_and_edited(bench):
    texts = [
        bench.say("write", path="kernels/deep/a.cu", text="one\ntwo\n"),
        bench.say("edit", path="kernels/deep/a.cu", old="two", new="three"),
        bench.say("read", path="kernels/deep/a.cu"),
        bench.say("write", path="kernels/deep/a.cu", text=""),
        bench.say("read", path="kernels/deep/a.cu"),
    ]
    assert texts == [
        "wrote kernels/deep/a.cu (2 lines)",
        "edited kernels/deep/a.cu at line 2",
        "one\nthree\n",
        "replaced kernels/deep/a.cu (0 lines)",
        "(empty)",
    ]


def test_the_reference_is_read_as_it_is(bench):
    assert bench.say("read", path="model.py") == bench.task.source


def test_a_part_of_a_file_can_be_read(bench):
    (bench.root / "a.py").write_text("1\n2\n3\n4\n")
    assert bench.say("read", path="a.py", first_line=2, num_lines=2) == "2\n3\n"
    assert bench.say("read", path="a.py", first_line=4) == "4\n"
    assert bench.say("read", path="a.py", first_line=9) == "(empty)"
    assert bench.say("read", path="a.py", first_line=0) == "error: first_line and num_lines count from 1"


def test_a_file_must_be_read_before_it_is_replaced(bench):
    (bench.root / "a.py").write_text("old")
    unread = "error: a.py exists and was not read; read it first"
    assert bench.say("write", path="a.py", text="new") == unread
    assert bench.say("edit", path="a.py", old="old", new="new") == unread
    assert bench.say("multi_edit", path="a.py", edits=[{"old": "old", "new": "new"}]) == unread
    bench.say("read", path="a.py")
    bench.say("bash", command="echo changed > a.py")
    assert bench.say("write", path="a.py", text="x").endswith("has changed since it was read; read it again")
    bench.say("read", path="a.py")
    assert bench.say("write", path="a.py", text="new") == "replaced a.py (1 lines)"


@pytest.mark.parametrize(
    ("old", "told"),
    [
        ("x", "stands there 2 times"),
        ("z", "is not there"),
        ("", "is not there"),
        ("y ", "with other spaces or line ends"),
        ("x\r\ny", "with other spaces or line ends"),
        ("   ", "is not there"),
    ],
)
def test_an_edit_needs_one_match(bench, old, told):
    bench.say("write", path="a.py", text="x\ny\nx\n")
    assert told in bench.say("edit", path="a.py", old=old, new="q")
    assert (bench.root / "a.py").read_text() == "x\ny\nx\n"


def test_several_edits_are_made_one_after_the_other(bench):
    bench.say("write", path="a.py", text="one\ntwo\ntwo\n")
    edits = [
        {"old": "one", "new": "1\n2"},
        {"old": "two", "new": "3", "all": True},
        {"old": "2\n3", "new": "4"},
    ]
    assert bench.say("multi_edit", path="a.py", edits=edits) == "made 3 edits in a.py, at lines 1, 3, 2"
    assert (bench.root / "a.py").read_text() == "1\n4\n3\n"
    assert bench.say("write", path="a.py", text="known\n") == "replaced a.py (1 lines)"


def test_one_edit_that_does_not_match_undoes_all(bench):
    bench.say("write", path="a.py", text="one\ntwo\n")
    text = bench.say(
        "multi_edit", path="a.py", edits=[{"old": "one", "new": "1"}, {"old": "one", "new": "2"}]
    )
    assert text.startswith("error: a.py: edit 2 of 2, none of which is made: `old` is not there")
    assert (bench.root / "a.py").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    "path",
    ["../outside.py", "/etc/passwd", "kernels/../../outside.py", "link/outside.py", "linked.py", "~/x"],
)
@pytest.mark.parametrize("tool", ["read", "write", "edit", "multi_edit"])
def test_no_path_leads_outside(bench, tool, path):
    outside = bench.folder / "outside.py"
    outside.write_text("secret")
    (bench.root / "link").symlink_to(bench.folder)
    (bench.root / "linked.py").symlink_to(outside)
    change = {"old": "secret", "new": "x"}
    arguments = {"read": {}, "write": {"text": "x"}, "edit": change, "multi_edit": {"edits": [change]}}[tool]
    text = bench.say(tool, path=path, **arguments)
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
        (".", "is no file"),
        ("missing.py", "No such file"),
        ("loop", "cannot be followed"),
        ("pipe", "is no file"),
        ("binary", "is not UTF-8 text"),
        ("huge", "is larger than"),
        ("model.py/x", "Not a directory"),
    ],
)
def test_an_unreadable_path_is_explained(bench, path, told):
    (bench.root / "loop").symlink_to("loop")
    os.mkfifo(bench.root / "pipe")
    (bench.root / "binary").write_bytes(b"\xff\xfe")
    with (bench.root / "huge").open("wb") as file:
        file.truncate(1 << 33)
    text = bench.say("read", path=path)
    assert text.startswith("error: ")
    assert told in text


@pytest.mark.parametrize("path", ["kernels", ".", "kernels/", "SKILL.md/x"])
def test_a_folder_is_not_written_over(bench, path):
    assert bench.say("write", path=path, text="x").startswith("error: ")
    assert (bench.root / "kernels").is_dir()


@pytest.mark.parametrize("name", PROTECTED)
def test_a_protected_file_is_not_written(bench, name):
    bench.say("read", path=name)
    (bench.root / "other.py").symlink_to(name)
    assert "stays as it is" in bench.say("write", path=name, text="x")
    assert "stays as it is" in bench.say("edit", path=f"./kernels/../{name}", old="class", new="x")
    assert "stays as it is" in bench.say("multi_edit", path="other.py", edits=[{"old": "a", "new": "x"}])


def test_a_file_with_a_second_name_outside_is_replaced_and_not_written_into(bench):
    outside = bench.folder / "outside.py"
    outside.write_text("ours")
    (bench.root / "a.py").hardlink_to(outside)
    bench.say("read", path="a.py")
    assert bench.say("write", path="a.py", text="theirs") == "replaced a.py (1 lines)"
    assert outside.read_text() == "ours"


def test_a_script_stays_one_when_it_is_changed(bench):
    bench.say("bash", command="printf 'echo one' > run.sh; chmod 755 run.sh")
    bench.say("read", path="run.sh")
    bench.say("edit", path="run.sh", old="one", new="two")
    assert "two" in bench.say("bash", command="./run.sh")


def test_a_folder_that_becomes_a_link_between_two_looks_leads_nowhere(bench):
    """A background job may swap it at any moment, so it is swapped as fast as we can."""
    outside = bench.folder / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("ours")
    (bench.root / "swapped").mkdir()
    (bench.root / "link").symlink_to(outside)
    names = [os.fsencode(bench.root / name) for name in ("swapped", "link")]
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            assert ctypes.CDLL(None).renameat2(HERE, names[0], HERE, names[1], EXCHANGE) == 0

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for number in range(400):
            bench.say("write", path=f"swapped/{number}.py", text="theirs")
            assert bench.say("read", path="swapped/a.py") != "ours"
    finally:
        stop.set()
        swapper.join()
    assert [path.name for path in outside.iterdir()] == ["a.py"]


@pytest.mark.parametrize("in_all", [False, True])
def test_an_edit_does_not_blow_a_file_up(bench, in_all):
    """A few words of a policy could else ask for more memory than there is."""
    bench.say("write", path="a.py", text="a" * (1 << 20))
    grow = {"old": "a", "new": "b" * (1 << 20), "all": True}
    edits = [{"old": "a" * (1 << 20), "new": "a" * 2000}, grow] if in_all else [grow]
    assert "the file would have more than 4194304 bytes" in bench.say("multi_edit", path="a.py", edits=edits)
    assert (bench.root / "a.py").stat().st_size == 1 << 20


DEEP = """
import os, sys
os.chdir(sys.argv[1])
for _ in range(1050):
    os.mkdir("d")
    os.chdir("d")
open("a.cu", "w")
"""


def test_a_tree_deeper_than_python_s_stack_breaks_nothing(bench):
    bench.say("write", path="model_new.py", text="x = 1\n")
    bench.say("write", path="deep.py", text=DEEP)
    assert bench.say("bash", command="python deep.py kernels").startswith("exit code 0")
    for tool, arguments in {
        "verify": {},
        "glob": {"pattern": "**/*.cu"},
        "read": {"path": "kernels/d/d"},
    }.items():
        assert bench.say(tool, **arguments)
    text = bench.say("bash", command="rm model.py; mkdir model.py; python deep.py model.py")
    assert text.endswith("note: model.py had been changed; it is restored")
    assert (bench.root / "model.py").read_text() == bench.task.source
    bench.say("bash", command="rm -rf kernels .*.theirs")


def test_so_deep_a_tree_can_be_removed(tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    (top / "link").symlink_to(tmp_path)
    (top / "b/c").mkdir(parents=True)
    (top / "b/c/file").touch()
    subprocess.run([sys.executable, "-c", DEEP, str(top)], check=True)
    remove_tree(top)
    assert list(tmp_path.iterdir()) == []


def test_a_flood_of_files_in_kernels_is_refused(bench, monkeypatch):
    monkeypatch.setattr(program, "MAX_LISTED", 100)
    monkeypatch.setattr(folder, "MAX_LISTED", 100)
    bench.say("write", path="model_new.py", text="x = 1\n")
    bench.say("bash", command="cd kernels; seq 120 | xargs touch")
    assert bench.say("verify") == "error: kernels/ holds 100 files or more; clean it up"


@pytest.mark.parametrize("tool", ["compile", "verify", "profile"])
def test_without_a_program_there_is_nothing_to_judge(bench, tool):
    assert "there is no file model_new.py yet" in bench.say(tool)
    assert not bench.judge.asked


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("ln -s /etc/passwd model_new.py", "there is no file model_new.py"),
        ("touch model_new.py; head -c 5000000 /dev/zero > kernels/a.cu", "bytes at most"),
        ("touch model_new.py; touch kernels/{1..100}.cu", "64 files"),
        ("touch model_new.py; touch kernels/$'a\\nb.cu'", "no plain text"),
        ("printf '\\xff' > model_new.py", "not UTF-8"),
        ("touch model_new.py; mkdir -p kernels/$(printf 'd/%.0s' {1..100}); touch $_/a.cu", "shorten it"),
        ("touch model_new.py kernels/{a,A}.cu", "upper and lower case"),
    ],
)
def test_an_impossible_program_is_explained(bench, command, told):
    bench.say("bash", command=command)
    assert told in bench.say("verify")
    assert not bench.judge.asked


def test_a_program_holds_no_file_from_outside(bench):
    bench.say("write", path="model_new.py", text="x = 1\n")
    bench.say("bash", command="ln -s /etc/hostname kernels/a.cu; ln -s /etc kernels/b; touch kernels/c.cu")
    text = bench.say("verify")
    assert [path for path, _ in bench.judge.asked[0][1].files] == ["kernels/c.cu", "model_new.py"]
    assert text.endswith("the judge does not see kernels/a.cu (a link), kernels/b (a link)")


def test_a_kernels_folder_that_is_a_link_holds_nothing(bench):
    bench.say("write", path="model_new.py", text="x = 1\n")
    bench.say("bash", command="rmdir kernels; ln -s /usr/include kernels")
    text = bench.say("verify")
    assert [path for path, _ in bench.judge.asked[0][1].files] == ["model_new.py"]
    assert text.endswith("the judge does not see kernels (a link)")


@pytest.mark.parametrize("tool", ["compile", "verify", "profile"])
def test_what_only_looks_like_a_part_of_the_program_is_named(bench, tool):
    bench.say("write", path="model_new.py", text="import helper\n")
    for name in ("helper.py", "other.py", "conftest.py", "sitecustomize.py", "a.pth", "b.cu", "notes.txt"):
        (bench.root / name).touch()
    assert bench.say(tool).endswith(
        "note: the program is model_new.py and kernels/ alone; the judge does not see "
        "a.pth, b.cu, conftest.py, helper.py, sitecustomize.py"
    )


def test_many_of_them_are_counted(bench):
    bench.say("write", path="model_new.py", text="x = 1\n")
    bench.say("bash", command="touch {1..20}.cu $'new\\nline.cu'")
    text = bench.say("verify")
    assert text.endswith("and 13 more")
    assert text.count("\n") == 1


def test_a_build_s_log_is_kept_and_its_failure_is_a_verdict(bench):
    bench.say("write", path="model_new.py", text="x = 1\n")
    bench.say("compile")
    assert list(bench.logs.values()) == ["ptxas info"]
    bench.say("write", path="model_new.py", text="# broken\n")
    answer = bench.ask("compile")
    assert "identifier is undefined" in answer.text
    assert answer.solution is not None
