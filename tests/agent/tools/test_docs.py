"""The tool `docs`: whole excerpts with their sources, our pages whatever becomes of the user's index."""

import pytest

from warpsmith.agent.retrieval import Library


@pytest.fixture(autouse=True)
def own_index(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPSMITH_DOCS", str(tmp_path / "index"))
    return tmp_path / "index"


def test_an_answer_is_whole_pages_with_their_sources(bench):
    text = bench.say("docs", query="bank conflicts when reading a column of a shared tile", n=2)
    assert text.startswith("[warpsmith:bank-conflicts] Bank conflicts in shared memory\n")
    assert 'extern "C" int turned_tiles(' in text
    assert text.count("[warpsmith:") == 2


def test_three_excerpts_are_given_unless_told(bench):
    assert bench.say("docs", query="reduction").count("[warpsmith:") == 3


def test_the_user_s_documents_are_cited_beside_our_pages(bench, tmp_path, own_index):
    (tmp_path / "house.md").write_text("# House rules\nReductions are done by the frobnicator.\n")
    Library(folder=own_index).add([tmp_path / "house.md"])
    assert f"[{tmp_path}/house.md] House rules\nReductions are" in bench.say("docs", query="frobnicator")


def test_a_damaged_index_of_the_user_s_is_told_and_our_pages_answer(bench, own_index):
    own_index.mkdir()
    (own_index / "index.sqlite").write_bytes(b"nonsense " * 1000)
    text = bench.say("docs", query="bank conflicts")
    assert text.startswith("[warpsmith:bank-conflicts]")
    assert text.splitlines()[-1].startswith("note: the user's documents could not be searched: the index ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"query": ""}, "nothing found for ''; try other words"),
        ({"query": "\ud800 \0"}, "nothing found for"),
        ({"query": "xyzzyplugh"}, "nothing found for 'xyzzyplugh'"),
        ({"query": "bank", "n": 0}, "error: n must be from 1 to 5, not 0"),
        ({"query": "bank", "n": 6}, "error: n must be from 1 to 5, not 6"),
        ({"query": "bank", "n": 1.5}, "error: n must be an integer"),
        ({}, "error: missing argument query; docs takes query (string), n (integer, optional)"),
    ],
)
def test_a_query_of_nothing_and_a_wrong_call_say_what_to_do(bench, arguments, told):
    assert bench.say("docs", **arguments).startswith(told)


def test_the_guide_names_the_tool(bench):
    assert "| `docs` |" in (bench.root / "SKILL.md").read_text()
