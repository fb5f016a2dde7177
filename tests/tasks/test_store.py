"""A store: what is written is read back, whoever writes, and whatever kills the writer."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core import Dtype, EnvironmentMissing, Precision, Task, TaskError, Tolerance, UsageError
from warpsmith.tasks import load_task
from warpsmith.tasks.store import About, Store, Written
from warpsmith.tasks.synth.base import Curriculum, Made

SOURCE = """
import torch
SCALE = 1.0
class Model(torch.nn.Module):
    def forward(self, x): return x + {number}
def get_init_inputs(): return []
def get_inputs(): return [torch.ones(int(64 * SCALE))]
"""


def made(number, **changes):
    task = Task(
        task_id=f"task-{number}", source=SOURCE.format(number=number), provenance="torch 2.13.0, BSD-3"
    )
    row = Made(
        task=task,
        operators=("torch.add",),
        depth=1,
        structure=f"s{number}",
        curriculum=Curriculum.ELEMENTWISE,
        split="train",
        source="torch#1",
        facts={"eager_ms": "1.5"},
    )
    return replace(row, **changes)


ABOUT = About(
    title="Elementwise tasks",
    licence="Apache-2.0",
    device="NVIDIA H200",
    filters={"deterministic": "3", "parses": "1"},
    versions={"torch": "2.13.0"},
)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "set" / "tasks.parquet")


def test_what_is_written_is_read_back(store):
    rows = [made(1), made(2, curriculum=None, split="test", facts={})]
    assert store.write(rows, ABOUT) == Written(num_added=2, num_known=0, num_rows=2)
    assert list(store.rows()) == rows
    assert list(store) == [row.task for row in rows]
    assert (len(store), store.about()) == (2, ABOUT)


def test_an_id_is_the_digest_of_what_a_verdict_depends_on(store):
    task = replace(
        made(1).task,
        scale=0.5,
        precision=Precision.TF32,
        tolerance=Tolerance(times_reference=4.0),
        dtype=Dtype.BF16,
        is_training=True,
        has_backward=True,
    )
    store.write([made(1), made(1, task=task)])
    assert store.ids() == [made(1).task.digest, task.digest]
    assert list(store)[1] == task


def test_the_columns_that_others_know_are_there(store):
    from pyarrow import parquet

    store.write([made(1)])
    record = parquet.read_table(store.path, columns=["code", "ops", "data_source"]).to_pylist()
    assert record == [{"code": made(1).task.source, "ops": ["torch.add"], "data_source": "torch#1"}]


def test_appending_adds_what_is_new_and_keeps_what_is_there(store):
    assert store.append([made(1)], ABOUT).num_added == 1
    known = made(1, facts={"eager_ms": "9"})
    assert store.append([made(2), known, made(2)]) == Written(num_added=1, num_known=2, num_rows=2)
    assert list(store.rows()) == [made(1), made(2)]
    assert store.about() == ABOUT
    store.append([], replace(ABOUT, device="NVIDIA H20"))
    assert store.about().device == "NVIDIA H20"


def test_writing_makes_it_anew(store):
    store.write([made(1), made(2)])
    store.write([made(3)])
    assert list(store.rows()) == [made(3)]


def test_an_empty_store_is_a_store(store):
    store.write([])
    assert list(store) == []
    assert "0 tasks" in store.path.with_name("README.md").read_text()


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
ROWS = st.lists(
    st.builds(
        Made,
        task=st.builds(Task, task_id=TEXT, source=TEXT, provenance=TEXT, scale=st.floats(0.001, 1000)),
        operators=st.lists(TEXT, max_size=4).map(tuple),
        depth=st.integers(0, 5),
        structure=TEXT,
        curriculum=st.none() | st.sampled_from(Curriculum),
        split=st.sampled_from(["", "train", "test"]),
        source=TEXT,
        facts=st.dictionaries(TEXT, TEXT, max_size=3),
    ),
    max_size=6,
    unique_by=lambda row: row.task.digest,
)


@settings(max_examples=40, deadline=None)
@given(ROWS, ROWS)
def test_any_rows_survive_the_round_trip(tmp_path_factory, first, second):
    store = Store(tmp_path_factory.mktemp("store") / "any.parquet")
    store.write(first)
    store.append(second)
    known = {row.task.digest for row in first}
    assert list(store.rows()) == [*first, *(row for row in second if row.task.digest not in known)]


def test_the_card_tells_what_is_in_it(store):
    store.write([made(1), made(2), made(3, split="test", source="transformers")], ABOUT)
    card = store.path.with_name("README.md").read_text()
    for line in (
        "# Elementwise tasks",
        "3 tasks in `tasks.parquet`. Licence: Apache-2.0. Measured on: NVIDIA H200.",
        "| torch#1 | 2 | 66.7 % |",
        "| test | 1 | 33.3 % |",
        "| `torch.add` | 3 |",
        "| deterministic | 3 |",
        "| torch | 2.13.0 |",
        "| eager_ms | 3 |",
    ):
        assert line in card


def test_the_card_does_not_call_measured_what_was_modelled(store):
    store.write([made(1, facts={"eager_us_modelled": "12.5"})], replace(ABOUT, device="CPU"))
    assert "Modelled on: CPU." in store.path.with_name("README.md").read_text()


def test_a_card_holds_whatever_names_say(store):
    store.write([made(1, source="a|b\n# c", operators=("x|y",))])
    card = store.path.with_name("README.md").read_text()
    assert "| a\\|b # c | 1 | 100.0 % |" in card


def test_somebody_elses_readme_is_left_alone(store):
    store.path.parent.mkdir()
    readme = store.path.with_name("README.md")
    readme.write_text("# My project\n")
    with pytest.raises(UsageError, match=r"README\.md is not this store's card; give the store a folder"):
        store.write([made(1)])
    assert readme.read_text() == "# My project\n"
    assert not store.path.exists()


@pytest.mark.parametrize("name", ["tasks", "tasks.parquet.zst", "tasks.csv"])
def test_a_store_has_a_parquets_name(tmp_path, name):
    with pytest.raises(UsageError, match=r"ends with \.parquet"):
        Store(tmp_path / name).write([])


def test_a_task_is_named_by_store_and_its_id_or_name(store):
    rows = [made(number) for number in range(600)]
    store.write(rows)
    wanted = rows[555].task
    task = load_task(f"{store.path}:{wanted.digest[:16]}")
    assert (task.task_id, task.source, task.digest) == ("task-555", wanted.source, wanted.digest)
    assert task.provenance == f"{store.path}:{wanted.digest} (torch 2.13.0, BSD-3)"
    assert load_task(f"{store.path}:{wanted.digest.upper()}").digest == wanted.digest
    assert load_task(f"{store.path}:task-555").digest == wanted.digest


def test_a_task_of_a_store_is_scaled_as_a_file_is(store):
    store.write([made(1)])
    spec = f"{store.path}:{store.ids()[0]}"
    assert "SCALE = 0.5" in load_task(spec, scale=0.5).source
    assert load_task(spec, device_kind="cpu").scale == 1 / 64
    with pytest.raises(UsageError, match="has its own get_inputs"):
        load_task(spec, inputs=("f32[3]",))


@pytest.mark.parametrize(
    ("suffix", "message"),
    [
        ("", r"holds 3 tasks \(such as 'task-1', which is \w{12}\); write a task of a store"),
        (":", "holds 3 tasks .*STORE.parquet:TASK, its name or its id"),
        (":0000000000000000000", "has no task '0000000000000000000' among its 3 .such as 'task-1'"),
        (":tusk-2", "has no task 'tusk-2' among its 3; near it is 'task-2'"),
        (":two\nlines", "has no task 'two.nlines'"),
    ],
)
def test_what_names_no_task_of_a_store_is_answered_in_one_line(store, suffix, message):
    store.write([made(1), made(2), made(3)])
    with pytest.raises(UsageError, match=message) as caught:
        load_task(f"{store.path}{suffix}")
    assert "\n" not in str(caught.value)


def test_the_beginning_of_two_ids_names_neither(store):
    store.write([made(number) for number in range(40)])
    ids = store.ids()
    prefix = next(one[0] for one in ids if sum(other[0] == one[0] for other in ids) > 1)
    with pytest.raises(UsageError, match=r"begins the ids of \d+ tasks of .*; write more of an id"):
        load_task(f"{store.path}:{prefix}")


def test_a_name_that_two_tasks_have_names_neither(store):
    same = [made(number, task=replace(made(number).task, task_id="twin")) for number in (1, 2)]
    store.write(same)
    with pytest.raises(UsageError, match=r"'twin' is the name of 2 tasks of .*; write more of an id"):
        load_task(f"{store.path}:twin")
    assert load_task(f"{store.path}:{same[1].task.digest[:20]}").source == same[1].task.source


def test_a_name_is_taken_before_the_beginning_of_an_id(store):
    other = made(1)
    named = made(2, task=replace(made(2).task, task_id=other.task.digest[:4]))
    store.write([other, named])
    assert load_task(f"{store.path}:{other.task.digest[:4]}").source == named.task.source


def test_a_store_that_is_not_there(tmp_path):
    for spec in ("none.parquet:abcd", "none.parquet", f"{tmp_path}/none.parquet:12"):
        with pytest.raises(UsageError, match="no such file"):
            load_task(spec)


def test_a_module_whose_name_ends_likewise_is_still_a_module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="needs a line for each input"):
        load_task("torch.parquet:Reader")
    Store(tmp_path / "torch.parquet").write([made(1)])
    with pytest.raises(UsageError, match=r"torch\.parquet has no task 'Reader'"):
        load_task("torch.parquet:Reader")


def hold(path, is_held, may_end):
    store = Store(path)

    def rows():
        is_held.set()
        may_end.wait(30)
        yield made(2)

    store.append(rows())


def test_two_writers_at_once_are_an_error_that_says_who(store):
    store.write([made(1)])
    context = multiprocessing.get_context("fork")
    is_held, may_end = context.Event(), context.Event()
    other = context.Process(target=hold, args=(store.path, is_held, may_end))
    other.start()
    try:
        assert is_held.wait(30)
        with pytest.raises(UsageError, match=rf"is being written by process {other.pid} on .*; wait for it"):
            store.append([made(3)])
        assert list(store.rows()) == [made(1)]
    finally:
        may_end.set()
        other.join(30)
    store.append([made(3)])
    assert list(store.rows()) == [made(1), made(2), made(3)]


def test_a_writer_that_fails_leaves_what_was(store):
    store.write([made(1)])

    def rows():
        yield made(2)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        store.append(rows())
    assert list(store.rows()) == [made(1)]
    store.append([made(2)])
    assert len(store) == 2


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_store import made
from warpsmith.tasks.store import Store
store = Store(Path(sys.argv[1]))
rows = [made(number) for number in range(600)]
store.write(rows[:300])
print("ready", flush=True)
while True:
    store.write(rows)
    store.write(rows[:300])
"""


@pytest.mark.parametrize("after_s", [0.01, 0.06, 0.17])
def test_a_kill_leaves_the_old_file_or_the_new(tmp_path, after_s):
    store = Store(tmp_path / "tasks.parquet")
    code = WRITER.format(tests=os.path.dirname(__file__))  # noqa: PTH120 (as text, for another process)
    process = subprocess.Popen([sys.executable, "-c", code, str(store.path)], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(after_s)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert len(list(store.rows())) in (300, 600)
    assert store.append([made(5000)]).num_added == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "README.md",
        "tasks.parquet",
        "tasks.parquet.lock",
    ]


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 0x40]) + content[at + 1 :]


DAMAGE = {
    "empty": lambda content: b"",
    "text": lambda content: b"hello, world\n" * 100,
    "cut in half": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-1],
    "a bit flipped in the middle": lambda content: flipped(content, len(content) // 4),
    "a column's name that is no text": lambda content: content.replace(b"data_source", b"data\xe1source"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_file_is_said_so_in_one_line_and_left_as_it_is(store, damage):
    store.write([made(number) for number in range(50)], ABOUT)
    content = damage(store.path.read_bytes())
    store.path.write_bytes(content)
    for use in (lambda: list(store.rows()), lambda: store.append([made(99)])):
        with pytest.raises(UsageError, match=r"tasks\.parquet") as caught:
            use()
        assert "\n" not in str(caught.value)
    assert store.path.read_bytes() == content


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 7))
def test_no_flipped_bit_is_read_as_a_task(tmp_path_factory, place, bit):
    store = Store(tmp_path_factory.mktemp("store") / "any.parquet")
    rows = [made(number) for number in range(8)]
    store.write(rows)
    content = bytearray(store.path.read_bytes())
    content[place % len(content)] ^= 1 << bit
    store.path.write_bytes(content)
    try:
        read = list(store.rows())
    except UsageError:
        return
    assert read == rows


def rewritten(store, **columns):
    """The store's file with columns replaced, or left out where None."""
    from pyarrow import parquet

    table = parquet.read_table(store.path)
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        table = table.remove_column(at)
        if values is not None:
            table = table.add_column(at, name, [values])
    parquet.write_table(table, store.path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"code": ["print('something else')"]}, "row 0: its id .* is not the digest of what it holds"),
        ({"code": None}, "is no store of tasks: it has no column code"),
        ({"id": ["x"]}, "row 0: its id 'x' is not the digest"),
        ({"ops": [["torch.sub"]]}, "it is not what was written"),
        ({"facts": ["[1, 2]"]}, "row 0: not a task"),
        ({"facts": ["{"]}, "row 0: not a task"),
        ({"regime": ['{"dtype": "fp8"}']}, "row 0: not a task"),
        ({"regime": ["null"]}, "row 0: not a task"),
        ({"curriculum": ["hard"]}, "row 0: not a task .*hard"),
        ({"ops": [None]}, "row 0: not a task"),
        ({"code": [b"\xff"]}, "row 0: "),
        ({"code": [7]}, "row 0: "),
    ],
)
def test_a_row_that_is_no_task_is_named(store, columns, message):
    store.write([made(1)])
    rewritten(store, **columns)
    with pytest.raises(UsageError, match=message):
        list(store.rows())


@pytest.mark.parametrize("change", [lambda rows: rows.slice(1), lambda rows: rows.take([1, 0, 2])])
def test_rows_that_went_missing_or_were_moved_are_noticed(store, change):
    from pyarrow import parquet

    store.write([made(1), made(2), made(3)])
    parquet.write_table(change(parquet.read_table(store.path)), store.path)
    with pytest.raises(UsageError, match="it is not what was written"):
        list(store.rows())


def test_another_suites_file_is_no_store(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table({"code": ["x"], "ops": [["a"]], "data_source": ["torch#1"]}), path)
    with pytest.raises(UsageError, match=r"it has no column id, .*other suites' files are imported first"):
        list(Store(path))


def test_naming_a_task_loads_no_pyarrow():
    code = "import sys, warpsmith.tasks.suites; print({'pyarrow', 'torch'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


def test_a_missing_pyarrow_is_answered_with_what_brings_it(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "warpsmith.tasks.store.table", raising=False)
    monkeypatch.delattr("warpsmith.tasks.store.table", raising=False)
    with pytest.raises(EnvironmentMissing, match=r"pip install 'warpsmith\[synth\]'"):
        list(store)


def test_a_later_versions_store_is_not_misread(store):
    from pyarrow import parquet

    store.write([made(1)])
    table = parquet.read_table(store.path)
    parquet.write_table(
        table.replace_schema_metadata({b"warpsmith": b'{"version": 2, "about": {}}'}), store.path
    )
    with pytest.raises(UsageError, match="is a store of version 2, this warpsmith reads up to 1"):
        list(store)


def test_a_path_that_cannot_be_written_is_said_so(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.parquet").mkdir()
    for path in (tmp_path / "file/tasks.parquet", tmp_path / f"{'a' * 250}.parquet"):
        with pytest.raises(UsageError, match="cannot be written"):
            Store(path).write([])
    with pytest.raises(UsageError, match="is a folder; a store is a file"):
        Store(tmp_path / "folder.parquet").write([])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.parquet"]


def test_a_path_that_cannot_be_is_answered_in_one_line():
    with pytest.raises(UsageError, match="File name too long"):
        load_task(f"{'a' * 5000}.parquet:ab")


def test_a_source_that_is_no_task_is_stored_and_refused_when_it_is_named(store):
    """A store keeps what it is given; whether it can be judged is said when it is asked for."""
    store.write([made(1, task=Task(task_id="odd", source="x = 1", provenance=""))])
    with pytest.raises(TaskError, match="does not define Model"):
        load_task(f"{store.path}:{store.ids()[0]}")
