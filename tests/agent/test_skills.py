"""Lessons out of runs: which programs in a row are one, and that the one before is what was judged."""

import json
import shutil
from dataclasses import replace

import pytest

from warpsmith.agent import Silent
from warpsmith.agent.optimize import OptimizeConfig, episode
from warpsmith.agent.runs.record import Record
from warpsmith.agent.skills import Mining, mined, run_folders
from warpsmith.core import BuildFailed, NotRunnable, Passed, Provenance, Task, UsageError, Wrong
from warpsmith.device import select_device
from warpsmith.tasks.synth.skills import Kind, Left, Lesson, Skills, keeping

TASK = Task(
    task_id="twice",
    source="""import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


def get_inputs():
    return [torch.randn(8, 8)]


def get_init_inputs():
    return []
""",
    provenance="test",
)


@pytest.fixture
def ran(tmp_path, say):
    """Makes a run of these replies, and tells its folder."""

    def run(*replies, name="run", script=()):
        judge = say.Judge(script=list(script))
        config = OptimizeConfig(device=select_device("cpu"), sandbox="process")
        folder = tmp_path / "runs" / name
        with Record.create(folder, TASK) as record, say.bench_of(judge)(TASK, config) as held:
            episode(say.Reciter(*replies), held, config, record, Silent())
        return folder

    return run


def module(word):
    return f"# {word}\nx = 1\n"


@pytest.fixture
def first(say):
    """The reply that writes a program, and has it judged."""

    def reply(word, tool="profile"):
        kernel = say.call("write", path="kernels/a.cu", text="// a kernel\n")
        return say.reply(say.call("write", path="model_new.py", text=module(word)), kernel, say.call(tool))

    return reply


@pytest.fixture
def change(say):
    """A reply that edits the program, and has it judged."""

    def reply(old, new, tool="profile"):
        edit = say.call("edit", path="model_new.py", old=f"# {old}\n", new=f"# {new}\n")
        return say.reply(edit, say.call(tool))

    return reply


def lessons(folder, **mining):
    return [one for one in mined([folder], Mining(**mining)) if isinstance(one, Lesson)]


def reasons(folder, **mining):
    return [one.why for one in mined([folder], Mining(**mining)) if isinstance(one, Left)]


def words(lesson):
    return tuple(
        candidate.text("model_new.py").split("\n")[0].removeprefix("# ")
        for candidate in (lesson.before, lesson.after)
    )


def test_a_wrong_program_that_was_repaired_is_a_lesson_with_what_was_said_of_it(ran, first, change):
    (lesson,) = lessons(ran(first("wrong"), change("wrong", "100")))
    assert lesson.kind is Kind.REPAIR
    assert words(lesson) == ("wrong", "100")
    assert lesson.before.text("kernels/a.cu") == "// a kernel\n"
    assert isinstance(lesson.verdict_before, Wrong)
    assert lesson.feedback.startswith("Wrong (values): output 0 at [3, 5]")
    assert lesson.turns == (1, 2)
    assert lesson.task.source == TASK.source


def test_a_program_that_does_not_compile_is_repaired_too(ran, first, change):
    (lesson,) = lessons(ran(first("broken", "verify"), change("broken", "100", "verify")))
    assert isinstance(lesson.verdict_before, BuildFailed)
    assert "identifier is undefined" in lesson.feedback


def test_only_what_is_followed_by_a_right_program_is_kept(ran, first, change):
    folder = ran(first("wrong"), change("wrong", "broken"), change("broken", "100"))
    assert [words(lesson) for lesson in lessons(folder)] == [("broken", "100")]
    assert reasons(folder) == ["the next program was not right"]


def test_a_right_program_that_became_faster_by_the_margin_is_a_lesson(ran, first, change):
    folder = ran(first("100"), change("100", "97"), change("97", "80"), change("80", "90"))
    (lesson,) = lessons(folder)
    assert (lesson.kind, words(lesson)) == (Kind.OPTIMISE, ("97", "80"))
    assert lesson.speedup == pytest.approx(97 / 80)
    assert "candidate 97.0 us" in lesson.feedback
    assert reasons(folder) == ["the next program was not 5% faster"] * 2
    assert [words(one) for one in lessons(folder, margin=0.01)] == [("100", "97"), ("97", "80")]


def test_times_count_that_came_with_an_earlier_verdict_on_the_same_program(ran, first, change, say):
    verify = say.reply(say.call("verify"))
    (lesson,) = lessons(
        ran(first("100"), verify, change("100", "50", "verify"), say.reply(say.call("profile")))
    )
    assert lesson.speedup == 2.0
    assert "Measured on" in lesson.feedback


def test_right_programs_that_were_not_timed_are_no_lesson(ran, first, change):
    folder = ran(first("100", "verify"), change("100", "50"))
    assert lessons(folder) == []
    assert reasons(folder) == ["both were right, and not both were timed alike"]


def test_modelled_and_measured_times_are_not_compared(ran, first, change, say):
    modelled = replace(say.timing(100.0), provenance=Provenance.MODELLED)
    script = [Passed(accuracy=say.accuracy, timing=modelled)]
    assert lessons(ran(first("100"), change("100", "50"), script=script)) == []


def test_what_the_device_cannot_run_says_nothing_of_the_program(ran, first, change):
    script = [NotRunnable(device="cpu", reason="inline PTX")]
    folder = ran(first("100"), change("100", "50"), script=script)
    assert reasons(folder) == ["the device could not run the program before"]


def test_several_programs_within_one_turn_are_told_apart(ran, say):
    def write(word):
        return say.call("write", path="model_new.py", text=module(word))

    edits = [{"old": "# broken", "new": "# 80"}, {"old": "x = 1", "new": "x = 2"}]
    folder = ran(
        say.reply(
            *(write("wrong"), say.call("verify"), write("broken"), say.call("verify")),
            *(say.call("multi_edit", path="./model_new.py", edits=edits), say.call("profile")),
        )
    )
    (lesson,) = lessons(folder)
    assert words(lesson) == ("broken", "80")
    assert lesson.turns == (1, 1)


def test_an_edit_that_failed_changes_nothing(ran, first, say):
    nothing = say.call("edit", path="model_new.py", old="not there", new="# 10")
    good = say.call("edit", path="model_new.py", old="# wrong\n", new="# 100\n")
    folder = ran(first("wrong"), say.reply(nothing, say.call("verify"), good, say.call("profile")))
    assert [words(lesson) for lesson in lessons(folder)] == [("wrong", "100")]


def test_a_program_that_a_shell_wrote_is_found_in_the_workspace(ran, say):
    folder = ran(
        say.reply(say.program("wrong"), say.call("verify")),
        say.reply(say.program("100"), say.call("profile")),
    )
    assert [words(lesson) for lesson in lessons(folder)] == [("wrong", "100")]


def test_a_program_that_the_record_does_not_hold_is_no_lesson(ran, say):
    """It was judged, and overwritten by the shell within the same turn."""
    folder = ran(
        say.reply(say.program("wrong"), say.call("verify"), say.program("broken")),
        say.reply(say.program("100"), say.call("profile")),
    )
    assert lessons(folder) == []
    assert reasons(folder) == ["the record does not tell what the program before was"]


def test_a_blob_that_is_gone_or_changed_costs_its_lesson_alone(ran, first, change):
    folder = ran(first("wrong"), change("wrong", "100"), change("100", "50"))
    assert len(lessons(folder)) == 2
    for blob in (folder / "blobs").iterdir():
        blob.write_text("changed")
    assert [words(lesson) for lesson in lessons(folder)] == [("wrong", "100"), ("100", "50")]
    shutil.rmtree(folder / "blobs")
    assert len(lessons(folder)) == 2, (
        "writes and edits of known texts, and programs in verdicts, need no blob"
    )


def test_all_runs_below_a_folder_are_read_and_broken_ones_told(ran, first, change, tmp_path):
    ran(first("wrong"), change("wrong", "100"), name="a")
    broken = ran(first("wrong"), change("wrong", "100"), name="b")
    (broken / "task.py").write_text("x = 1\n")
    (empty := tmp_path / "runs" / "c").mkdir()
    (empty / "trajectory.jsonl").write_text("")
    alien = ran(first("100"), name="d")
    lines = (alien / "trajectory.jsonl").read_text().splitlines()
    (alien / "trajectory.jsonl").write_text("\n".join([lines[0], '{"type": "Danced"}', *lines[1:], ""]))
    folders = run_folders(tmp_path / "runs")
    assert [folder.name for folder in folders] == ["a", "b", "c", "d"]
    found = list(mined(folders, Mining()))
    assert [type(one) for one in found] == [Lesson, Left, Left, Left]
    assert [one.why for one in found[1:]] == [
        f"{broken}/task.py is not the task that this run began with; put it back, or start a new run",
        f"{empty} does not begin with the start of a run; start a new one",
        f"{alien}/trajectory.jsonl, line 2: unknown event 'Danced'; was it written by another version of "
        "warpsmith?",
    ]


def test_a_run_that_was_cut_short_gives_what_it_has(ran, first, change):
    folder = ran(first("wrong"), change("wrong", "100"), change("100", "50"))
    path = folder / "trajectory.jsonl"
    lines = path.read_text().splitlines()
    ends = [at for at, line in enumerate(lines) if json.loads(line)["type"] == "TurnEnded"]
    path.write_text("\n".join(lines[: ends[1] + 2]) + '\n{"type": "Jud')
    assert [words(lesson) for lesson in lessons(folder)] == [("wrong", "100")]


def test_attempts_of_one_run_are_runs_and_their_parent_is_none(ran, first, tmp_path):
    ran(first("100"), name="race/attempts/1")
    (tmp_path / "runs" / "race" / "trajectory.jsonl").write_text("")
    assert [folder.name for folder in run_folders(tmp_path / "runs")] == ["1"]


def test_a_folder_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        run_folders(tmp_path / "nothing")


def test_what_a_policy_says_that_no_file_can_hold_is_replaced(ran, first, change, tmp_path):
    script = [Wrong(what="values", message="half of a pair: \ud800")]
    found = lessons(ran(first("wrong"), change("wrong", "100"), script=script))
    kept = keeping(found, []).kept
    Skills(tmp_path / "skills").write(kept)
    assert "half of a pair: ?" in next(iter(Skills(tmp_path / "skills"))).feedback


def test_the_same_lesson_of_two_runs_is_kept_once_and_none_of_a_test_task(ran, first, change):
    both = [
        lesson for name in "ab" for lesson in lessons(ran(first("wrong"), change("wrong", "100"), name=name))
    ]
    found = keeping(both, [])
    assert (len(found.kept), found.repeated) == (1, 1)
    renamed = replace(TASK, source=TASK.source.replace("x", "tokens").replace("8", "512"), task_id="renamed")
    found = keeping(both, [renamed])
    assert found.kept == ()
    assert [one.other_id for one in found.leaked] == ["renamed"]
