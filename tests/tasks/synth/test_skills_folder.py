"""Skills on disk: what is read is what was written, and none is of a task that is held back."""

import json
from dataclasses import replace

import pytest

from warpsmith.core import (
    Accuracy,
    Candidate,
    Passed,
    Precision,
    Provenance,
    Ratio,
    Series,
    Task,
    Timing,
    UsageError,
    Wrong,
)
from warpsmith.tasks.synth.base import Made
from warpsmith.tasks.synth.skills import (
    Contract,
    Kind,
    Lesson,
    Operand,
    Role,
    Skills,
    SubTask,
    for_testing,
    held_back,
    keeping,
    practised,
    prompt,
    speedup,
)

SOURCE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return {answer}


def get_inputs():
    return [torch.randn(64, 32)]


def get_init_inputs():
    return []
"""
ACCURACY = Accuracy(error=1e-7, reference_error=1e-7, allowed=1e-6)


def task(answer, **settings):
    return Task(
        task_id=answer.partition("(")[0], source=SOURCE.format(answer=answer), provenance="tests", **settings
    )


def passed(us=None, provenance=Provenance.MEASURED, gpu="h200"):
    if us is None:
        return Passed(accuracy=ACCURACY)
    ratio = Ratio(centre=100 / us, low=99 / us, high=101 / us)
    timing = Timing(
        provenance=provenance,
        gpu=gpu,
        candidate=Series(name="candidate", samples_us=(us, us, 9 * us)),
        eager=Series(name="eager", samples_us=(100.0,)),
        compile=None,
        against_eager=ratio,
        against_compile=None,
        floor_us=1.0,
        num_launches=1,
    )
    return Passed(accuracy=ACCURACY, timing=timing)


def program(word):
    return Candidate.of({"model_new.py": f"# {word}\nimport torch\n", "kernels/a.cu": "// ``` ü\n"})


def sub_task(answer="torch.relu(x)", **settings):
    operands = tuple(
        Operand(name=name, role=role, shape=(64, 32), dtype="float32")
        for name, role in (("x", Role.INPUT), ("out", Role.OUTPUT))
    )
    return SubTask(
        name="relu",
        operators=("relu",),
        task=task(answer, **settings),
        contract=Contract(operands=operands, launcher="int launch_relu(const float* x, float* out)"),
        template=program("template"),
        origin="0" * 64,
    )


def lesson(before=None, after=None, answer="torch.tanh(x)", feedback="Wrong (values): all of them"):
    return Lesson(
        task=task(answer),
        before=program("before"),
        verdict_before=before
        or Wrong(what="values", message="all of them", error=float("inf"), allowed=1e-6),
        feedback=feedback,
        after=program("after"),
        verdict_after=after or passed(),
        origin="2026-12-01-tanh-1",
        turns=(2, 3),
    )


ALL = (
    sub_task(precision=Precision.TF32, scale=0.5),
    lesson(),
    lesson(before=passed(100.0), after=passed(40.0), feedback="Correct. candidate 100.0 us"),
)


@pytest.fixture
def skills(tmp_path):
    return Skills(tmp_path / "skills")


def test_what_is_read_is_what_was_written(skills):
    assert skills.write(ALL) == 3
    assert tuple(skills) == ALL
    assert [skill.kind for skill in skills] == [Kind.FROM_SCRATCH, Kind.REPAIR, Kind.OPTIMISE]
    assert list(skills.of(Kind.REPAIR)) == [ALL[1]]


def test_lines_of_json_hold_the_same_as_plain_columns(skills):
    skills.write(ALL)
    rows = [json.loads(line) for line in (skills.folder / "skills.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [skill.digest for skill in ALL]
    assert rows[0]["ops"] == ["relu"]
    assert json.loads(rows[0]["contract"])["operands"][0]["shape"] == [64, 32]
    assert rows[0]["feedback"] is None
    assert json.loads(rows[1]["answer"])["model_new.py"].startswith("# after")
    assert (rows[1]["speedup"], rows[1]["timed"]) == (None, None)
    assert (rows[2]["speedup"], rows[2]["timed"]) == (2.5, "measured")
    assert rows[1]["reference"] == rows[2]["reference"] != rows[0]["reference"]


def test_writing_makes_the_folder_anew_and_each_skill_once(skills):
    skills.write(ALL)
    assert skills.write([ALL[1], ALL[1]]) == 1
    assert tuple(skills) == (ALL[1],)


def test_the_card_counts_what_is_there(skills):
    skills.write(ALL)
    card = (skills.folder / "README.md").read_text()
    assert "3 skills over 2 references" in card
    assert "| repair | 1 |" in card
    assert "| measured | 1 | 2.50 | 2.50 | 2.50 |" in card
    assert "`launch" not in card
    skills.write([])
    assert "0 skills" in (skills.folder / "README.md").read_text()


def test_a_readme_of_somebody_else_is_not_overwritten(skills):
    skills.folder.mkdir()
    (skills.folder / "README.md").write_text("# Mine\n")
    with pytest.raises(UsageError, match="not a card of skills"):
        skills.write(ALL)
    assert [path.name for path in skills.folder.iterdir()] == ["README.md"]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        Skills(tmp_path / "file" / "skills").write(ALL)


def test_what_is_missing_damaged_or_another_s_is_one_line(skills, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    from warpsmith.tasks.store import Store

    with pytest.raises(UsageError, match="no such file"):
        list(skills)
    skills.write(ALL)
    path = skills.folder / "skills.parquet"
    whole = path.read_bytes()
    for body in (b"", b"PAR1", whole[:-30], whole[30:]):
        path.write_bytes(body)
        with pytest.raises(UsageError, match="damaged"):
            list(skills)
    path.write_bytes(whole)
    rows = parquet.read_table(path)
    parquet.write_table(rows.slice(1), path)
    with pytest.raises(UsageError, match="it is not what was written"):
        list(skills)
    parquet.write_table(rows.set_column(9, "answer", pa.array([None] * 3)), path)
    with pytest.raises(UsageError, match="damaged"):
        list(skills)
    Store(tmp_path / "other" / "tasks.parquet").write([])
    path.write_bytes((tmp_path / "other" / "tasks.parquet").read_bytes())
    with pytest.raises(UsageError, match="no skills that this warpsmith reads"):
        list(skills)


def test_a_flipped_byte_is_noticed_wherever_it_changes_what_is_read(skills):
    skills.write(ALL)
    path = skills.folder / "skills.parquet"
    whole = path.read_bytes()
    num_noticed = 0
    for at in range(4, len(whole), 199):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        try:
            assert tuple(skills) == ALL
        except UsageError:
            num_noticed += 1
    assert num_noticed > len(whole) / 199 / 3


def test_a_row_that_was_changed_is_refused():
    from warpsmith.tasks.synth.skills.table import record, skill_of

    row = record(ALL[1])
    assert skill_of(row, "row 1") == ALL[1]
    for name, value in (("feedback", "other"), ("answer", '{"model_new.py": ""}'), ("code", "x = 1")):
        with pytest.raises(UsageError, match="is not the digest of what it holds"):
            skill_of({**row, name: value}, "row 1")
    for name, value in (("files", "[1]"), ("task", "{"), ("turns", [1]), ("kind", "dance"), ("answer", None)):
        with pytest.raises(UsageError, match="row 1: no skill"):
            skill_of({**row, name: value}, "row 1")


def test_a_skill_whose_task_cannot_be_compared_is_no_row(skills):
    with pytest.raises(UsageError, match="cannot be read"):
        skills.write([replace(ALL[1], task=replace(ALL[1].task, source="x = ("))])
    assert not (skills.folder / "skills.parquet").exists()


@pytest.mark.parametrize(
    ("before", "after", "times"),
    [
        (passed(100.0), passed(50.0), 2.0),
        (passed(100.0), passed(), None),
        (Wrong(what="values", message=""), passed(50.0), None),
        (passed(100.0, Provenance.MODELLED), passed(50.0), None),
        (passed(100.0, gpu="l4"), passed(50.0), None),
    ],
    ids=["timed alike", "not timed", "not right", "modelled and measured", "two GPUs"],
)
def test_times_are_compared_only_where_they_are_alike(before, after, times):
    assert speedup(before, after) == times


# --- what is kept ---


def test_a_sub_task_that_is_known_is_dropped_and_several_lessons_of_a_task_are_kept():
    renamed = sub_task("torch.relu(x)")
    renamed = replace(
        renamed,
        task=replace(renamed.task, source=renamed.task.source.replace("x", "tokens").replace("64", "8")),
    )
    found = keeping([*ALL, renamed, ALL[1]], [])
    assert found.kept == ALL
    assert found.repeated == 2


def test_no_skill_is_of_a_task_that_is_held_back_whatever_it_is_called():
    held = task("torch.nn.functional.tanh(x)")
    found = keeping(ALL, [held])
    assert found.kept == ALL[:1]
    assert [one.other_digest for one in found.leaked] == [held.digest]


def test_a_task_that_cannot_be_compared_gives_no_skill():
    found = keeping([replace(ALL[1], task=replace(ALL[1].task, source="x = ("))], [])
    assert found.kept == ()
    assert len(found.unread) == 1


def test_a_store_s_sides_say_what_is_practised():
    rows = [
        Made(task=task(f"torch.{word}(x)"), operators=(), depth=1, structure="", split=split)
        for word, split in (("relu", "train"), ("exp", "validation"), ("sin", "test"), ("cos", ""))
    ]
    words = [[one.task_id for one in of(rows)] for of in (practised, held_back, for_testing)]
    assert words == [["torch.relu", "torch.cos"], ["torch.exp", "torch.sin"], ["torch.exp", "torch.sin"]]
    assert [one.task_id for one in for_testing(rows[3:])] == ["torch.cos"]
    assert for_testing(rows[:1]) == ()


# --- what is asked ---


def test_a_prompt_holds_all_that_is_needed_and_nothing_of_the_answer():
    scratch, repair, optimise = map(prompt, ALL)
    for text, skill in ((scratch, ALL[0]), (repair, ALL[1]), (optimise, ALL[2])):
        assert skill.task.source in text
    assert "16 times" in scratch
    assert "# template" in scratch
    assert "is wrong" in repair
    assert "Wrong (values): all of them" in repair
    assert "make it faster" in optimise
    assert "candidate 100.0 us" in optimise
    for text in (repair, optimise):
        assert "# before" in text
        assert "# after" not in text


def test_a_fence_is_longer_than_any_in_the_file():
    assert "````cuda\n// ``` ü\n````" in prompt(ALL[1])
