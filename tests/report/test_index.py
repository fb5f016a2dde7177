"""The index of runs: what has not changed is not parsed again, and nothing about it makes a list fail."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time

import pytest

from warpsmith.agent.runs.record import LOCK, VERDICT
from warpsmith.report import index
from warpsmith.report.index import list_entries
from warpsmith.report.listing import entry_of
from warpsmith.report.runs import RunState, read_run


@pytest.fixture
def place(tmp_path, write_run):
    """A folder of three runs, one of them cut short."""
    for name in ("a", "b"):
        write_run(tmp_path / "runs" / name)
    write_run(tmp_path / "runs" / "c", finished=False)
    return tmp_path / "runs"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "runs.sqlite"


@pytest.fixture
def parsed(monkeypatch):
    """The names of the runs that were parsed."""
    names = []

    def read(folder):
        names.append(folder.name)
        return read_run(folder)

    monkeypatch.setattr(index, "read_run", read)
    return names


def truth(place):
    return tuple(entry_of(read_run(folder)) for folder in sorted(place.iterdir()))


def test_a_list_says_what_the_folders_say_the_second_time_too(place, path):
    assert list_entries(place, path) == truth(place)
    assert list_entries(place, path) == truth(place)


def test_an_unchanged_run_is_not_parsed_again(place, path, parsed):
    list_entries(place, path)
    assert parsed == ["a", "b", "c"]
    parsed.clear()
    list_entries(place, path)
    assert parsed == []


def test_only_what_has_changed_is_parsed_again(place, path, parsed, write_run):
    list_entries(place, path)
    parsed.clear()
    shutil.rmtree(place / "b")
    write_run(place / "b", verdict=None)
    write_run(place / "d")
    assert [entry.words for entry in list_entries(place, path)][1] == ""
    assert parsed == ["b", "d"]


@pytest.mark.parametrize("name", [VERDICT, "trajectory.jsonl"])
def test_a_file_replaced_by_one_as_long_and_as_old_is_seen(place, path, parsed, name):
    list_entries(place, path)
    parsed.clear()
    file = place / "a" / name
    before = file.stat()
    fresh = file.with_name("fresh")
    fresh.write_bytes(file.read_bytes())
    os.utime(fresh, ns=(before.st_atime_ns, before.st_mtime_ns))
    fresh.replace(file)
    list_entries(place, path)
    assert parsed == ["a"]


def test_a_run_that_is_gone_is_forgotten(place, path):
    list_entries(place, path)
    shutil.rmtree(place / "b")
    assert [entry.folder.name for entry in list_entries(place, path)] == ["a", "c"]
    with sqlite3.connect(path) as base:
        assert base.execute("SELECT count(*) FROM runs").fetchone() == (2,)


def test_two_folders_of_runs_share_the_index_and_do_not_disturb_each_other(place, path, tmp_path, parsed):
    shutil.copytree(place, tmp_path / "others")
    list_entries(place, path)
    list_entries(tmp_path / "others", path)
    parsed.clear()
    assert list_entries(place, path) == truth(place)
    assert list_entries(tmp_path / "others", path) == truth(tmp_path / "others")
    assert parsed == []


def test_a_run_alone_is_listed_as_itself(place, path):
    assert list_entries(place / "a", path) == (entry_of(read_run(place / "a")),)


def test_whether_it_runs_is_looked_at_each_time(place, path):
    list_entries(place, path)
    (place / "a" / LOCK).write_text(str(os.getpid()))
    (place / "c" / LOCK).write_text(str(os.getpid()))
    states = [entry.state for entry in list_entries(place, path)]
    assert states == [RunState.RUNNING, RunState.FINISHED, RunState.RUNNING]
    for name in ("a", "c"):
        (place / name / LOCK).unlink()
    states = [entry.state for entry in list_entries(place, path)]
    assert states == [RunState.FINISHED, RunState.FINISHED, RunState.CUT_SHORT]


def test_a_run_that_ends_while_it_is_listed_is_finished_the_next_time(place, path):
    (place / "a" / LOCK).write_text(str(os.getpid()))  # verdict.json is final, the lock is not gone yet
    list_entries(place, path)
    (place / "a" / LOCK).unlink()
    assert list_entries(place, path)[0].state is RunState.FINISHED


def test_a_broken_run_is_looked_at_each_time(place, path, parsed):
    (place / "a" / VERDICT).write_text("{")
    list_entries(place, path)
    parsed.clear()
    assert list_entries(place, path)[0].is_broken
    assert parsed == ["a"]


def test_a_name_that_is_no_text_is_fine(place, path, write_run, parsed):
    write_run(place / os.fsdecode(b"\xff\xfe name"))
    first = list_entries(place, path)
    parsed.clear()
    assert list_entries(place, path) == first
    assert parsed == []


def another_version(path):
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA user_version = 4711")


def another_table(path):
    path.unlink()
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE runs (x)")


def no_table(path):
    with sqlite3.connect(path) as base:
        base.execute("DROP TABLE runs")


def nonsense_within(path):
    with sqlite3.connect(path) as base:
        base.execute("""UPDATE runs SET entry = '{"type": "Entry", "folder": 3}'""")


def half_of_it(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garbled(path):
    content = bytearray(path.read_bytes())
    content[100:] = b"\xa5" * (len(content) - 100)
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"no database" * 1000),
        half_of_it,
        garbled,
        another_version,
        another_table,
        no_table,
        nonsense_within,
    ],
    ids=["empty", "no database", "half", "garbled", "version", "table", "no table", "nonsense"],
)
def test_what_is_damaged_or_of_another_version_is_made_anew(place, path, damage, parsed):
    list_entries(place, path)
    damage(path)
    assert list_entries(place, path) == truth(place)
    parsed.clear()
    assert list_entries(place, path) == truth(place)
    assert parsed == []


def test_a_folder_in_the_index_s_place_is_no_reason_to_fail(place, path):
    path.mkdir(parents=True)
    assert list_entries(place, path) == truth(place)


def test_a_file_in_place_of_the_cache_is_no_reason_to_fail(place, path):
    path.parent.touch()
    assert list_entries(place, path) == truth(place)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(place, path):
    path.parent.mkdir(mode=0o500)
    assert list_entries(place, path) == truth(place)


def test_an_index_that_another_process_holds_is_not_waited_for_long(place, path, monkeypatch):
    monkeypatch.setattr(index, "WAIT_S", 0.05)
    list_entries(place, path)
    (place / "a" / VERDICT).touch()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert list_entries(place, path) == truth(place)
    holder.close()


LISTER = (
    "import sys\n"
    "from pathlib import Path\n"
    "from warpsmith.report.index import list_entries\n"
    "for _ in range(40):\n"
    "    (Path(sys.argv[1]) / 'a' / 'verdict.json').touch()\n"
    "    assert len(list_entries(Path(sys.argv[1]), Path(sys.argv[2]))) == 3\n"
)


def test_two_processes_at_once_are_fine(place, path):
    listers = [
        subprocess.Popen([sys.executable, "-c", LISTER, place, path], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for lister in listers:
        _, err = lister.communicate(timeout=60)
        assert (lister.returncode, err) == (0, "")
    assert list_entries(place, path) == truth(place)


def test_a_thousand_runs_are_listed_at_once(tmp_path, path, write_run, parsed):
    write_run(tmp_path / "one")
    for number in range(1000):
        folder = tmp_path / "runs" / f"{number:04}"
        folder.mkdir(parents=True)
        for mark in index.MARKS:
            os.link(tmp_path / "one" / mark, folder / mark)
    first_s = _seconds_of(lambda: list_entries(tmp_path / "runs", path))
    parsed.clear()
    again_s = _seconds_of(lambda: list_entries(tmp_path / "runs", path))
    assert parsed == []
    assert again_s < first_s, "what is kept is read faster than it was made"


def _seconds_of(listing):
    """The processor's seconds: what else the machine does takes no part."""
    begun_s = time.process_time()
    assert len(listing()) == 1000
    return time.process_time() - begun_s
