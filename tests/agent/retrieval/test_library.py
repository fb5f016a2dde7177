"""Adding, replacing, removing and finding documents; two at once; an index that is broken."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from warpsmith.agent.retrieval import page_names
from warpsmith.agent.retrieval.index import Index
from warpsmith.agent.retrieval.library import INDEX, LOCK
from warpsmith.agent.retrieval.readers import Content
from warpsmith.core import InfraError, UsageError
from warpsmith.core.lock import take


def own(library, query, n=10):
    return [excerpt for excerpt in library.search(query, n) if not excerpt.source.startswith("warpsmith:")]


def test_what_is_added_is_found_with_its_path_and_heading(library, write):
    path = write("guide/gizmo.md", "# Gizmos\n## Quxification\nTurn the frobnicator until it clicks.\n")
    added = library.add([path.parent])
    assert (added.new, added.replaced, added.unchanged, added.broken) == ((str(path),), (), (), ())
    (found,) = own(library, "frobnicators clicked")
    assert (found.source, found.heading) == (str(path), "Gizmos > Quxification")
    assert found.snippet == "Turn the frobnicator until it clicks."
    assert own(library, "gizmo")[0].source == str(path)  # by the file's name too


def test_a_file_that_is_added_again_replaces_what_it_was(library, write):
    path, other = write("a.md", "zebra"), write("b.md", "giraffe")
    library.add([path, other])
    assert library.add([path]).unchanged == (str(path),)
    path.write_text("ocelot\n\n" + "x\n" * 9000)
    assert library.add([path]).replaced == (str(path),)
    assert not own(library, "zebra")
    assert [found.source for found in own(library, "ocelot")] == [str(path)]
    assert [found.source for found in own(library, "giraffe")] == [str(other)]
    assert [listed.source for listed in library.documents()] == [str(path), str(other)]


def test_the_same_file_by_two_ways_is_one_document(library, write, tmp_path, monkeypatch):
    path = write("a.md", "zebra")
    (tmp_path / "way").symlink_to(path.parent)
    monkeypatch.chdir(path.parent)
    library.add([path, path.parent, tmp_path / "way" / "a.md"])
    library.add([path.relative_to(path.parent)])
    assert [listed.source for listed in library.documents()] == [str(path)]


def test_files_and_folders_are_dropped_also_if_they_are_gone(library, write):
    one, two, three = write("x/a.md", "zebra"), write("x/b.md", "zebra"), write("xy.md", "zebra")
    library.add([one.parent, three])
    one.unlink()
    assert library.remove([one]) == (str(one),)
    assert {found.source for found in own(library, "zebra")} == {str(two), str(three)}
    assert library.remove([two.parent]) == (str(two),)
    assert [listed.source for listed in library.documents()] == [str(three)]
    with pytest.raises(UsageError, match=r"nothing of .*a\.md is in the index"):
        library.remove([one])


def test_what_is_dropped_is_on_the_disk_no_longer(library, write):
    path, other = write("a.md", "zebra " * 50_000), write("b.md", "ocelot")
    library.add([path, other])
    size = library.index_path.stat().st_size
    library.remove([path])
    assert library.index_path.stat().st_size < size / 4
    assert b"zebra" not in library.index_path.read_bytes()
    assert own(library, "ocelot")


def test_a_folder_gives_what_can_be_read_and_tells_the_rest(library, write):
    good = write("good.md", "zebra")
    write("bad.md", b"\0\1\2")
    write("broken.pdf", b"%PDF-nonsense")
    write("program.py", "zebra")
    write(".hidden/a.md", "zebra")
    write("empty.txt", "")
    added = library.add([good.parent])
    assert added.new == (str(good),)
    assert sorted(Path(broken.source).name for broken in added.broken) == [
        "bad.md",
        "broken.pdf",
        "empty.txt",
    ]


def test_what_does_not_exist_and_what_holds_nothing_is_refused(library, tmp_path, write):
    (tmp_path / "empty").mkdir()
    (tmp_path / "dangling.md").symlink_to(tmp_path / "nowhere")
    for name, told in (
        ("missing", "no such file or folder"),
        ("dangling.md", "no such file or folder"),
        ("empty", r"holds no file that is read; accepted are \.md"),
    ):
        with pytest.raises(UsageError, match=told):
            library.add([write("good.md", "x"), tmp_path / name])
    assert library.documents() == ()


def test_odd_files_are_told(library, write, tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / os.fsdecode(b"\xff.md")).write_text("zebra")
    added = library.add([tmp_path])
    reasons = [broken.reason for broken in added.broken]
    assert sorted(reasons) == ["it is no file", "its name is no text in UTF-8; give it another"]


def test_our_pages_and_the_user_s_documents_answer_by_turns(library, write):
    library.add([write(f"{n}.md", "bank conflicts in shared memory").parent for n in range(4)])
    found = [
        excerpt.source.startswith("warpsmith:")
        for excerpt in library.search("bank conflicts in shared memory", 5)
    ]
    assert found == [True, False, True, False, True]


def test_without_an_index_there_are_our_pages_and_no_file_is_made(library):
    assert library.search("bank conflicts", 3)[0].source == "warpsmith:bank-conflicts"
    assert library.documents() == ()
    assert not library.folder.exists()
    assert len(page_names()) >= 30


def test_two_adds_at_once_are_one_and_a_message(library, write):
    path = write("a.md", "zebra")
    library.folder.mkdir()
    held = take(library.folder / LOCK, "4711\n")
    with pytest.raises(UsageError, match="is being changed by process 4711; wait"):
        library.add([path])
    os.close(held)
    assert library.add([path]).new == (str(path),)


def test_an_interruption_keeps_what_was_read(library, write, monkeypatch):
    first, second = write("a.md", "zebra"), write("b.md", "ocelot")

    def interrupted(content):
        if content.data == b"ocelot":
            raise KeyboardInterrupt
        return Content.sections(content)

    class Interrupted(Content):
        sections = interrupted

    monkeypatch.setattr(
        "warpsmith.agent.retrieval.library.content_of",
        lambda path: Interrupted(data=path.read_bytes(), suffix=".md"),
    )
    with pytest.raises(KeyboardInterrupt):
        library.add([first, second])
    monkeypatch.undo()
    added = library.add([first, second])
    assert (added.unchanged, added.new) == ((str(first),), (str(second),))


ADD = """
import sys, pathlib
from warpsmith.agent.retrieval import Library
Library(folder=pathlib.Path(sys.argv[1])).add([pathlib.Path(sys.argv[2])])
"""


def test_an_index_that_several_make_at_once_is_made_once(tmp_path):
    barrier, broken = threading.Barrier(8), []

    def make(number):
        barrier.wait()
        try:
            with Index(tmp_path / f"{number}.sqlite") as index:
                index.documents()
        except InfraError as error:
            broken.append(error)

    for number in range(20):
        makers = [threading.Thread(target=make, args=(number,)) for _ in range(8)]
        for maker in makers:
            maker.start()
        for maker in makers:
            maker.join()
    assert broken == []


@pytest.mark.slow
def test_an_add_that_is_killed_leaves_an_index_that_works(library, write):
    for number in range(60):
        folder = write(f"{number}.md", f"zebra{number} " * 20_000).parent
    process = subprocess.Popen([sys.executable, "-c", ADD, library.folder, folder])
    while process.poll() is None and not (library.index_path.exists() and len(library.documents()) > 3):
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -9
    before = len(library.documents())
    added = library.add([folder])
    assert 0 < len(added.unchanged) == before < 60
    assert len(library.documents()) == 60
    assert own(library, "zebra59")


@pytest.mark.parametrize(
    "content", [b"no database at all, for sure" * 100, b"SQLite format 3\0" + b"\x00" * 4096]
)
def test_a_broken_index_is_named_with_what_to_do(library, write, content):
    library.folder.mkdir()
    library.index_path.write_bytes(content)
    for act in (
        lambda: library.search("bank", 3),
        library.documents,
        lambda: library.add([write("a.md", "x")]),
    ):
        with pytest.raises(InfraError, match=rf"{library.folder}/{INDEX} .*delete it, and add"):
            act()


def test_an_index_with_a_torn_page_is_named(library, write):
    library.add([write("a.md", "zebra " * 50_000)])
    data = bytearray(library.index_path.read_bytes())
    data[5000:] = b"\xaa" * (len(data) - 5000)
    library.index_path.write_bytes(data)
    with pytest.raises(InfraError, match="delete it, and add"):
        library.search("zebra", 3)


def test_an_index_of_another_version_is_named(library, write):
    library.add([write("a.md", "zebra")])
    with sqlite3.connect(library.index_path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InfraError, match="of version 99, not 1"):
        library.search("zebra", 3)


def test_an_index_that_another_program_holds_is_named(library, write, monkeypatch):
    monkeypatch.setattr("warpsmith.agent.retrieval.index.BUSY_LIMIT_S", 0.05)
    library.add([write("a.md", "zebra")])
    connection = sqlite3.connect(library.index_path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    for act in (lambda: library.search("zebra", 3), lambda: library.add([write("b.md", "x")])):
        with pytest.raises(InfraError, match="another program is using it; wait"):
            act()
    connection.close()
    assert own(library, "zebra")


def test_an_index_that_is_a_folder_is_named(library):
    library.index_path.mkdir(parents=True)
    with pytest.raises(InfraError, match="change its permissions"):
        library.search("zebra", 3)
