"""What was looked up, by whom, and whether they named it afterwards."""

import pytest

from warpsmith.agent.events import Said
from warpsmith.agent.team.citing import citation_text, citations
from warpsmith.core import Cost, Message, Role, ToolCall

PAGE, DOCUMENT = "warpsmith:bank-conflicts", "/home/me/cutlass/gemm.md"
ANSWER = f"[{PAGE}] Banks\nPad.\n\n[note:3f2a] relu (modelled, never measured)\n\n[{DOCUMENT}] GEMM\nTile."


def asks(query, by="", call_id="c1"):
    call = ToolCall(call_id=call_id, tool="docs", arguments={"query": query})
    return Said(message=Message(role=Role.ASSISTANT, text="", tool_calls=(call,)), cost=Cost(), by=by)


def answer(text, call_id="c1"):
    return Said(message=Message(role=Role.TOOL, text=text, call_id=call_id), cost=Cost())


def says(text, by="", *calls):
    return Said(message=Message(role=Role.ASSISTANT, text=text, tool_calls=calls), cost=Cost(), by=by)


def test_each_source_that_was_shown_is_told_once_with_who_asked():
    events = (asks("smem", "planner"), answer(ANSWER), asks("smem again", "planner"), answer(ANSWER))
    found = citations(events)
    assert [one.source for one in found] == [PAGE, "note:3f2a", DOCUMENT]
    assert {(one.by, one.query, one.turn, one.cited_in) for one in found} == {("planner", "smem", 1, None)}


def test_a_source_is_cited_by_who_was_shown_it_and_names_it_later():
    events = (
        says(f"I know {PAGE}.", "coder"),
        asks("smem", "coder"),
        answer(ANSWER),
        says(f"As {PAGE} says.", "verifier"),
        says(f"Padded, see [{PAGE}].", "coder"),
        says(PAGE, "coder"),
    )
    first, *others = citations(events)
    assert (first.source, first.turn, first.cited_in) == (PAGE, 2, 4)
    assert all(one.cited_in is None for one in others)
    assert citation_text(first) == f"coder, turn 2: {PAGE}, cited in turn 4"


def test_a_comment_in_a_program_is_a_citation_too():
    write = ToolCall(call_id="c2", tool="write", arguments={"path": "kernels/a.cu", "text": f"// {DOCUMENT}"})
    found = citations((asks("gemm"), answer(ANSWER), says("", "", write)))
    assert {one.source: one.cited_in for one in found}[DOCUMENT] == 2


@pytest.mark.parametrize(
    "text",
    [
        "error: n must be from 1 to 5",
        "nothing found",
        "",
        "[not a source] x",
        "[warpsmith:\nx] y",
        "[" * 9_999,
    ],
)
def test_an_answer_without_sources_gives_none(text):
    assert citations((asks("x"), answer(text))) == ()


def test_what_another_tool_answers_is_no_source():
    read = ToolCall(call_id="c1", tool="read", arguments={"path": "notes.md"})
    assert citations((says("", "", read), answer(ANSWER))) == ()


def test_a_team_s_run_tells_what_its_members_cite(team, write, say):
    look = say.reply(say.call("docs", query="bank conflicts", n=1))
    plan = '{"summary": "by [warpsmith:bank-conflicts]", "sub_tasks": [{"name": "whole", "what": "all"}]}'
    team.of(
        planner=[look, plan],
        coder=[look, write("300"), "Done.", write("90"), "Done."],
        verifier=[look, "Pad."],
    )
    team.start()
    told = {(one.by, one.source, one.cited_in is not None) for one in citations(team.events)}
    assert told == {
        ("planner", "warpsmith:bank-conflicts", True),
        ("coder", "warpsmith:bank-conflicts", False),
        ("verifier", "warpsmith:bank-conflicts", False),
    }
