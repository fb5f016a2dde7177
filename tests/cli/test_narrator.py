"""What of an episode becomes a line."""

import pytest

from warpsmith.agent.events import Aborted, Compacted, Finished, Forked, Resumed, Said, TurnEnded
from warpsmith.cli.narrator import Narrator
from warpsmith.core import Cost, Message, Role, StopReason


def said(text):
    return Said(message=Message(role=Role.ASSISTANT, text=text), cost=Cost())


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Forked(parent="/runs/one", turn=3), "forked from /runs/one after turn 3"),
        (Resumed(turn=3, lost=Cost()), "goes on after turn 3"),
        (Resumed(turn=0, lost=Cost()), "begins again"),
        (
            Compacted(context=(), num_tokens=120_000, kept_in="history/1.md"),
            "  compacted at 120 k tokens; what was left out is in history/1.md",
        ),
        (
            Finished(
                stop=StopReason.POLICY,
                cost=Cost(wall_s=5),
                num_turns=4,
                best=None,
                reason="no\x1b[31m credit",
            ),
            "ended (policy: no credit) after 4 turns, 5.0 s",
        ),
        (Aborted(reason="disk full"), "broke off: disk full"),
        (TurnEnded(number=1, cost=Cost()), None),
    ],
)
def test_what_happens_beside_replies_and_verdicts_is_told(event, line):
    assert Narrator().tell(event) == line


def test_turns_are_counted_on_from_where_a_run_goes_on():
    narrator = Narrator()
    narrator.tell(Resumed(turn=7, lost=Cost()))
    assert narrator.tell(said("on")) == "turn 8: on"
