"""`warpsmith docs propose|proposals|accept|reject`: from a run's record to what an agent is told."""

import json

import pytest

from warpsmith.agent.tools.docs import Docs
from warpsmith.cli import notes
from warpsmith.core import UsageError


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    """No notes, for each test."""
    monkeypatch.setenv("WARPSMITH_DOCS", str(tmp_path / "docs"))


@pytest.fixture
def run_folder(cli, task, tmp_path):
    """A real run by the builtin policy on the cpu device."""
    cli("optimize", task, "--device", "cpu", "--sandbox", "process", "--out", tmp_path / "runs" / "one")
    return tmp_path / "runs"


@pytest.fixture
def printed(capsys):
    """What a verb wrote: its document."""

    def call(verb, *arguments, **options):
        capsys.readouterr()
        assert verb(*arguments, json=True, **options) == 0
        return json.loads(capsys.readouterr().out)

    return call


def looked_up(query):
    return Docs().call({"query": query, "n": 5}, None).text


@pytest.mark.slow
def test_from_a_run_to_what_an_agent_is_told(run_folder, printed, capsys):
    document = printed(notes.propose, [run_folder], margin=0.0)
    (note,) = document["proposed"]
    assert note["evidence"]["provenance"] == "modelled"
    (listed,) = printed(notes.proposals)["notes"]
    assert (listed["state"], listed["note"]) == ("proposed", note)
    assert f"note:{listed['id']}" not in looked_up(note["task"])
    assert printed(notes.accept, [listed["id"][:6]])["notes"] == [listed["id"]]
    told = looked_up(f"{note['task']} times of the program, run")
    assert f"[note:{listed['id']}]" in told
    assert "modelled, never measured" in told
    again = printed(notes.propose, [run_folder], margin=0.0)
    assert (again["proposed"], again["left"][0]["why"]) == ([], f"it is known as {listed['id']}")
    notes.proposals(listed["id"])
    assert "## Evidence" in capsys.readouterr().out
    assert printed(notes.reject, [listed["id"]])["state"] == "rejected"
    assert f"note:{listed['id']}" not in looked_up(f"{note['task']} times of the program, run")


def test_without_any_note_that_is_said(printed, capsys, tmp_path):
    assert printed(notes.proposals)["notes"] == []
    notes.proposals()
    assert capsys.readouterr().out == "0 proposed, 0 accepted, 0 rejected\n"
    (tmp_path / "empty").mkdir()
    document = printed(notes.propose, [tmp_path / "empty"])
    assert (document["proposed"], document["num_runs"]) == ([], 0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda folder: notes.propose([folder / "none"]), "no such folder"),
        (lambda folder: notes.propose([folder], against=["genius=x"]), "unknown suite 'genius'"),
        (lambda folder: notes.propose([folder], against=["kernelbench=none"]), "none"),
        (lambda folder: notes.propose([folder], against=["kernelbench"]), "kernelbench"),
        (lambda folder: notes.propose([folder], model="genius:x"), "unknown model"),
        (lambda folder: notes.accept([str(folder)]), "there is no note"),
        (lambda _: notes.reject(["x", "y"]), "there is no note 'x'"),
        (lambda _: notes.proposals("x"), "docs proposals"),
    ],
)
def test_bad_input_names_what_is_accepted(tmp_path, call, said):
    with pytest.raises(UsageError, match=said):
        call(tmp_path)


def test_notes_that_are_no_folder_keep_nobody_from_our_pages(tmp_path):
    (tmp_path / "docs").write_text("a file")
    told = looked_up("bank conflicts")
    assert "[warpsmith:bank-conflicts]" in told
