"""Other people's formats: what they write is read, what we write they read, a broken row is told apart."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from warpsmith.core import UsageError
from warpsmith.tasks import load_task
from warpsmith.tasks.suites import SUITES, Broken, imported, suite
from warpsmith.tasks.synth.base import Curriculum

LIST = pa.list_(pa.string())

SOURCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x): return x + {}
def get_init_inputs(): return []
def get_inputs(): return [torch.ones(3)]
"""


def listed(folder):
    return [path.name for path in folder.iterdir()]


def source(text="1"):
    return SOURCE.format(text)


def ops6k(path, *rows, ops=LIST):
    schema = pa.schema([("code", pa.string()), ("ops", ops), ("data_source", pa.string())])
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    table = pa.table([list(column) for column in columns], schema=schema)
    parquet.write_table(table, path)
    return path


def kernelbench(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def jsonl(path, *lines):
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return path


def test_ops6k_gives_tasks_with_operators_depth_and_provenance(tmp_path):
    path = ops6k(
        tmp_path / "data.parquet",
        (source("1"), ["nn.Linear", "nn.ReLU"], "torch#2"),
        (source("2"), ["LlamaMLP"], "transformers"),
    )
    first, second = imported(SUITES["ops6k"], path, "44a734c7").made
    assert (first.task.task_id, first.task.source) == ("ops6k-0000", source("1"))
    assert first.task.provenance == "Ops-6K@44a734c7: row 0"
    assert (first.operators, first.depth, first.source) == (("nn.Linear", "nn.ReLU"), 2, "torch#2")
    assert (second.operators, second.depth, second.source) == (("LlamaMLP",), 1, "transformers")


@pytest.mark.parametrize(
    "text", ['["nn.Linear", "nn.ReLU"]', "['nn.Linear', 'nn.ReLU']", "nn.Linear, nn.ReLU"]
)
def test_a_list_of_operators_may_be_written_as_text(tmp_path, text):
    path = ops6k(tmp_path / "data.parquet", (source(), text, "torch#2"), ops=pa.string())
    assert imported(SUITES["ops6k"], path).made[0].operators == ("nn.Linear", "nn.ReLU")


def test_an_export_to_ops6k_has_its_three_columns_and_no_other(tmp_path):
    path = ops6k(
        tmp_path / "data.parquet", (source("1"), ["a"], "torch#1"), (source("2"), [], "transformers")
    )
    made = imported(SUITES["ops6k"], path).made
    assert SUITES["ops6k"].write(tmp_path / "out.parquet", made) == 2
    assert parquet.read_table(tmp_path / "out.parquet").equals(parquet.read_table(path))


FILES = {
    "KernelBench/level1/1_Add_one_.py": source("1"),
    "KernelBench/level1/10_Add_ten_.py": source("10"),
    "KernelBench/level1/2_Add_two_.py": source("2"),
    "KernelBench/level3/1_Other.py": source("3"),
}


def test_kernelbench_gives_levels_and_problems_in_order(tmp_path):
    found = imported(SUITES["kernelbench"], kernelbench(tmp_path, FILES), "423217d").made
    assert [(row.task.task_id, row.facts, row.source) for row in found] == [
        ("1_Add_one_", {"level": "1", "problem": "1"}, "kernelbench#1"),
        ("2_Add_two_", {"level": "1", "problem": "2"}, "kernelbench#1"),
        ("10_Add_ten_", {"level": "1", "problem": "10"}, "kernelbench#1"),
        ("1_Other", {"level": "3", "problem": "1"}, "kernelbench#3"),
    ]
    assert found[0].task.provenance == "KernelBench@423217d: level1/1_Add_one_.py"


@pytest.mark.parametrize(("inner", "num"), [("", 4), ("KernelBench", 4), ("KernelBench/level1", 3)])
def test_the_repository_its_folder_and_a_level_are_all_taken(tmp_path, inner, num):
    assert len(imported(SUITES["kernelbench"], kernelbench(tmp_path, FILES) / inner).made) == num


def test_a_task_is_the_same_from_its_file_and_from_its_suite(tmp_path):
    [first, *_] = imported(SUITES["kernelbench"], kernelbench(tmp_path, FILES)).made
    assert load_task(str(tmp_path / "KernelBench/level1/1_Add_one_.py")).digest == first.task.digest


def test_files_that_are_no_problems_are_not_read(tmp_path):
    files = {**FILES, "KernelBench/level1/__init__.py": "", "KernelBench/changelog/v1": "x", "level9.txt": ""}
    found = imported(SUITES["kernelbench"], kernelbench(tmp_path, files))
    assert (len(found.made), found.broken) == (4, ())


def test_an_exported_folder_is_the_one_that_was_read(tmp_path):
    made = imported(SUITES["kernelbench"], kernelbench(tmp_path / "kb", FILES), "v1").made
    assert SUITES["kernelbench"].write(tmp_path / "out", made) == 4
    for name in FILES:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "kb" / name).read_bytes()
    assert imported(SUITES["kernelbench"], tmp_path / "out", "v1").made == made


def test_tasks_without_a_level_are_numbered_after_those_with_one(tmp_path):
    made = imported(SUITES["kernelbench"], kernelbench(tmp_path / "kb", FILES)).made
    path = ops6k(tmp_path / "d.parquet", (source("7"), [], ""), (source("8"), [], ""))
    SUITES["kernelbench"].write(tmp_path / "out", [*made, *imported(SUITES["ops6k"], path).made, made[0]])
    names = sorted(listed(tmp_path / "out/KernelBench/level1"), key=lambda name: int(name.split("_")[0]))
    assert names == [
        "1_Add_one_.py",
        "2_Add_two_.py",
        "10_Add_ten_.py",
        "11_ops6k-0000.py",
        "12_ops6k-0001.py",
        "13_Add_one_.py",
    ]


@pytest.mark.parametrize("name", ["../../evil", "a/b", "", "x" * 400, "ünï\0", "con:\\"])
def test_a_tasks_name_cannot_leave_the_folder(tmp_path, name):
    path = jsonl(tmp_path / "in.jsonl", json.dumps({"code": source(), "name": name}))
    made = imported(SUITES["jsonl"], path).made
    SUITES["kernelbench"].write(tmp_path / "out", made)
    [file] = (path for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert file.parent == tmp_path / "out/KernelBench/level1"
    assert sorted(listed(tmp_path)) == ["in.jsonl", "out"]
    assert imported(SUITES["kernelbench"], tmp_path / "out").made[0].task.source == source()


def test_json_lines_name_what_they_have(tmp_path):
    path = jsonl(
        tmp_path / "set.jsonl",
        "\ufeff" + json.dumps({"id": 17, "code": source("1"), "ops": ["a", "b"], "data_source": "torch#2"}),
        "",
        json.dumps({"code": source("2"), "name": "two", "facts": {"eager_ms": 1.5}, "unknown": [1]}),
        json.dumps({"code": source("3")}),
    )
    one, two, three = imported(SUITES["jsonl"], path, "v2").made
    assert (one.task.task_id, one.operators, one.depth, one.source) == ("17", ("a", "b"), 2, "torch#2")
    assert (two.task.task_id, two.facts) == ("two", {"eager_ms": "1.5"})
    assert (three.task.task_id, three.task.provenance) == ("set-4", "set.jsonl@v2: line 4")


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
MADE = st.builds(
    lambda number, name, **rest: (source(str(number)), name, rest),
    st.integers(0, 10**6),
    WORDS,
    ops=st.lists(WORDS, max_size=3),
    data_source=WORDS,
    facts=st.dictionaries(WORDS, WORDS, max_size=2),
    structure=WORDS,
    curriculum=st.none() | st.sampled_from([str(one) for one in Curriculum]),
    split=st.sampled_from(["", "train", "test"]),
    depth=st.integers(1, 5),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(MADE, max_size=5))
def test_any_rows_survive_json_lines(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("jsonl")
    lines = [json.dumps({"code": code, "name": name, "provenance": "p", **rest}) for code, name, rest in rows]
    made = imported(SUITES["jsonl"], jsonl(folder / "in.jsonl", *lines)).made
    assert [(row.structure, row.curriculum, row.split, row.depth) for row in made] == [
        (rest["structure"], rest["curriculum"], rest["split"], rest["depth"]) for _, _, rest in rows
    ]
    SUITES["jsonl"].write(folder / "out.jsonl", made)
    assert imported(SUITES["jsonl"], folder / "out.jsonl").made == made


BROKEN = {
    "nothing": (None, "its code is missing"),
    "blank": (" \n", "its code is blank"),
    "not Python": ("class Model(:", "not valid Python"),
    "no Model": ("x = 1", "does not define Model"),
    "arguments": (source() + "def get_inputs(n): pass\n", "must be callable without arguments"),
    "null bytes": (source() + "\0", "not valid Python"),
    "huge": ("#" * (5 << 20), "bytes; that is no task"),
    "deep": ("(" * 3000 + ")" * 3000, "not valid Python"),
}


@pytest.mark.parametrize(("code", "reason"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_row_is_named_and_the_others_are_read(tmp_path, code, reason):
    files = {
        "ops6k": ops6k(
            tmp_path / "d.parquet", (source("1"), [], "x"), (code, [], "x"), (source("2"), [], "x")
        ),
        "jsonl": jsonl(
            tmp_path / "d.jsonl", *(json.dumps({"code": text}) for text in (source("1"), code, source("2")))
        ),
        "kernelbench": kernelbench(
            tmp_path / "kb",
            {f"level1/{at}_a.py": text or "" for at, text in enumerate((source("1"), code, source("2")))},
        ),
    }
    for name, path in files.items():
        first, broken, last = SUITES[name].read(path)
        assert (first.task.source, last.task.source) == (source("1"), source("2"))
        assert isinstance(broken, Broken)
        assert name == "kernelbench" or reason in broken.reason
        assert "1" in broken.where or "line 2" in broken.where


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "null",
        '"text"',
        '{"code": 7}',
        '{"code": null}',
        b"\xff\xfe",
        "[" * 100_000,
        "NaN",
        b'{"code": "\\ud800"}',
    ],
)
def test_a_broken_line_is_one_broken_row(tmp_path, line):
    found = imported(SUITES["jsonl"], jsonl(tmp_path / "d.jsonl", line, json.dumps({"code": source()})))
    assert [len(found.made), len(found.broken)] == [1, 1]
    assert found.broken[0].where.endswith("d.jsonl, line 1")
    assert len(found.broken[0].reason) < 300


def test_a_line_longer_than_any_task_does_not_end_the_reading(tmp_path):
    found = imported(
        SUITES["jsonl"], jsonl(tmp_path / "d.jsonl", b"x" * (20 << 20), json.dumps({"code": source()}))
    )
    assert [len(found.made), len(found.broken)] == [1, 1]
    assert "longer than 8 MiB" in found.broken[0].reason


def test_odd_values_beside_good_code_do_no_harm(tmp_path):
    record = {
        "code": source(),
        "name": [1],
        "id": None,
        "ops": 7,
        "depth": -1,
        "facts": [],
        "data_source": {},
    }
    [made] = imported(SUITES["jsonl"], jsonl(tmp_path / "d.jsonl", json.dumps(record))).made
    assert (made.task.task_id, made.operators, made.depth, made.facts) == ("d-1", (), 0, {})


def test_odd_files_of_kernelbench_are_broken_rows(tmp_path):
    root = kernelbench(
        tmp_path, {"level1/1_a.py": source(), "level1/2_b.py": b"\xff\xfe", "level1/1_same.py": source("2")}
    )
    (root / "level1/3_folder.py").mkdir()
    (root / "level1/4_gone.py").symlink_to(root / "nowhere.py")
    found = imported(SUITES["kernelbench"], root)
    assert [row.task.task_id for row in found.made] == ["1_a"]
    assert [broken.reason.partition(" ")[2][:20] for broken in found.broken] != []
    assert len(found.broken) == 4
    assert "problem 1 is 1_a.py already" in found.broken[0].reason


@pytest.mark.parametrize("name", SUITES)
def test_a_path_that_is_not_of_the_format_is_an_error_in_one_line(tmp_path, name):
    text = tmp_path / "text.parquet"
    text.write_text("hello")
    other = tmp_path / "other.parquet"
    parquet.write_table(pa.table({"prompt": ["x"]}), other)
    wrong = {
        "ops6k": [tmp_path, tmp_path / "none", tmp_path / ("a" * 300), tmp_path / "nul\0", text, other],
        "kernelbench": [tmp_path, tmp_path / "none", tmp_path / ("a" * 300), tmp_path / "nul\0", text],
        "jsonl": [tmp_path, tmp_path / "none", tmp_path / ("a" * 300), tmp_path / "nul\0"],
    }
    for path in wrong[name]:
        with pytest.raises(UsageError) as caught:
            imported(SUITES[name], path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", SUITES)
def test_an_export_replaces_nothing(tmp_path, name):
    (tmp_path / "there").write_text("mine")
    with pytest.raises(UsageError, match="an export replaces nothing"):
        SUITES[name].write(tmp_path / "there", [])
    assert (tmp_path / "there").read_text() == "mine"
    with pytest.raises(UsageError, match="cannot be written"):
        SUITES[name].write(tmp_path / "there/in a file", [])
    assert SUITES[name].write(tmp_path / "a/new/folder", []) == 0


def test_an_unknown_suite_is_answered_with_those_there_are():
    assert suite("jsonl") is SUITES["jsonl"]
    with pytest.raises(UsageError, match="choose one of ops6k, kernelbench, jsonl"):
        suite("robust-kbench")
