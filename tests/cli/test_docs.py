"""`warpsmith docs`: what each verb prints, and what it says of bad input."""

import sqlite3

import pytest


@pytest.fixture(autouse=True)
def own_index(monkeypatch, tmp_path):
    """An empty index for each test."""
    monkeypatch.setenv("WARPSMITH_DOCS", str(tmp_path / "index"))


@pytest.fixture
def folder(tmp_path):
    """Two documents, and one that is none."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "gizmo.md").write_text("# Gizmos\nThe frobnicator [bold]clicks[/].\n")
    (folder / "other.html").write_text("<h1>Other</h1><p>An ocelot.</p>")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nonsense")
    return folder


def test_the_way_from_adding_to_removing(cli, folder):
    added = cli("docs", "add", folder)
    assert (added.code, added.out.split(":")[0]) == (0, "2 new, 0 replaced, 0 unchanged, 1 left out")
    assert "broken.pdf is left out: it is a broken PDF" in added.err
    found = cli("docs", "search", "frobnicators", "clicking")
    assert f"{folder}/gizmo.md" in found.out
    assert "The frobnicator [bold]clicks[/]." in found.out
    (folder / "gizmo.md").unlink()
    listed = cli("docs", "list").out
    assert f"{folder}/gizmo.md  (gone: warpsmith docs remove drops it)" in listed
    assert "2 documents in " in listed
    assert cli("docs", "remove", folder / "gizmo.md").out.startswith("1 documents dropped")
    assert "frobnicator" not in cli("docs", "search", "frobnicator").out


def test_with_json_each_verb_prints_one_document(cli, folder):
    document = cli("docs", "add", folder, "--json").document
    assert document["new"] == [f"{folder}/gizmo.md", f"{folder}/other.html"]
    assert [broken["source"] for broken in document["broken"]] == [f"{folder}/broken.pdf"]
    document = cli("docs", "search", "ocelot", "--n", "1", "--json").document
    assert document["query"] == "ocelot"
    assert document["excerpts"] == [
        {
            "type": "Excerpt",
            "source": f"{folder}/other.html",
            "heading": "Other",
            "text": "An ocelot.",
            "snippet": "An ocelot.",
        }
    ]
    document = cli("docs", "list", "--json").document
    assert [(one["source"], one["is_there"]) for one in document["documents"]] == [
        (f"{folder}/gizmo.md", True),
        (f"{folder}/other.html", True),
    ]
    assert "bank-conflicts" in document["pages"]
    assert cli("docs", "remove", folder, "--json").document["removed"] == [
        f"{folder}/gizmo.md",
        f"{folder}/other.html",
    ]


def test_our_pages_are_found_without_any_document(cli):
    found = cli("docs", "search", "tensor memory accelerator swizzle", "--n", "3")
    assert found.code == 0
    assert found.out.splitlines()[1].strip() == "warpsmith:tma-and-mbarrier"


def test_what_is_nowhere_is_said(cli):
    found = cli("docs", "search", "xyzzyplugh")
    assert (found.code, found.out) == (0, "nothing found; try other words\n")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("add missing.md", "missing.md: no such file or folder; name files (.md, "),
        ("add https://example.com/a.html", "no such file or folder"),
        ("add empty", "empty holds no file that is read; accepted are .md, "),
        ("add program.py", "nothing could be read: "),
        ("add binary.md", "it is no text in utf-8"),
        ("add broken.pdf binary.md", "it is a broken PDF"),
        ("add broken.pdf binary.md", "it is no text in utf-8"),
        ("add", "Missing argument"),
        ("search", "Missing argument"),
        ("search ''", "there is no word to look for in ''"),
        ("search ?!", "name a symptom, technique or function"),
        ("search bank --n 0", "--n"),
        ("search bank --n many", "--n"),
        ("remove gizmo.md", "nothing of gizmo.md is in the index; `warpsmith docs list` shows what is"),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_accepted(cli, tmp_path, line, told):
    (tmp_path / "empty").mkdir()
    (tmp_path / "program.py").write_text("x = 1")
    (tmp_path / "binary.md").write_bytes(bytes(range(256)))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 nonsense")
    printed = cli("docs", *("" if word == "''" else word for word in line.split()))
    assert printed.code == 2
    assert told in printed.err.splitlines()[-1]
    assert "Traceback" not in printed.err


def test_a_damaged_and_a_busy_index_are_named(cli, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("warpsmith.agent.retrieval.index.BUSY_LIMIT_S", 0.05)
    index = tmp_path / "index" / "index.sqlite"
    cli("docs", "add", folder)
    connection = sqlite3.connect(index, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    busy = cli("docs", "search", "gizmo")
    connection.close()
    assert (busy.code, str(index) in busy.err, "another program is using it" in busy.err) == (6, True, True)
    index.write_bytes(b"nonsense " * 1000)
    damaged = cli("docs", "search", "gizmo", "--json")
    assert damaged.code == 6
    assert f"the index {index} cannot be used" in damaged.document["error"]
    assert "delete it, and add your documents again" in damaged.document["error"]
