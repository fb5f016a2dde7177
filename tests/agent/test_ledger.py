"""What a run has spent: a row a turn, from its events, also when it ends badly."""

import json

import pytest

from warpsmith.agent.events import Forked, Improved, Judged, Resumed, Said, TurnEnded, in_effect
from warpsmith.agent.runs.ledger import LEDGER, Item, LedgerFile, cost_text, ledger_of, summary_lines
from warpsmith.core import Candidate, Cost, InfraError, Message, Role, Solution

A_TURN = Cost(prompt_tokens=100, completion_tokens=10, usd=0.5, wall_s=1.0)


def said(cost=A_TURN):
    return Said(message=Message(role=Role.ASSISTANT, text="hm"), cost=cost)


def answered(cost):
    return Said(message=Message(role=Role.TOOL, text="ok", call_id="c"), cost=cost)


def ended(number):
    return TurnEnded(number=number, cost=Cost())  # the ledger adds up for itself


def read(folder):
    return [json.loads(line) for line in (folder / LEDGER).read_text().splitlines()]


def test_an_episode_leaves_a_row_a_turn_and_one_for_the_final_verdict(stage, say):
    stage.run(
        (say.program("100"), say.call("profile")), (say.program("50"), say.call("profile")), cost=A_TURN
    )
    rows = ledger_of(stage.heard.events)
    assert [(row.item, row.turn) for row in rows] == [
        (Item.TURN, 1),
        (Item.TURN, 2),
        (Item.TURN, 3),
        (Item.FINAL, 3),
    ]
    assert [row.cost.usd for row in rows] == [0.5, 0.5, 0.5, 0.0]
    assert [row.total.prompt_tokens for row in rows] == [100, 200, 300, 300]
    assert [row.best.us for row in rows] == [100.0, 50.0, 50.0, 50.0]
    assert rows[1].best.ratio == 4.0


def test_the_last_total_is_what_the_run_says_it_cost(stage, say):
    trajectory = stage.run((say.program("100"), say.call("profile")), cost=A_TURN)
    total = ledger_of(stage.heard.events)[-1].total
    assert total.wall_s == pytest.approx(trajectory.cost.wall_s)
    assert (total.usd, total.prompt_tokens) == (trajectory.cost.usd, trajectory.cost.prompt_tokens)


def test_a_run_that_breaks_off_has_a_row_for_the_turn_it_broke_off_in(stage, say, tmp_path):
    file = LedgerFile(tmp_path)
    stage.heard.on_event = file.on_event
    stage.judge.script = [None, say.infra_error, say.infra_error]
    with pytest.raises(InfraError):
        stage.run((say.program("100"), say.call("verify")), (say.call("verify"),), cost=A_TURN)
    rows = read(tmp_path)
    assert [(row["item"], row["turn"]) for row in rows] == [("turn", 1), ("unfinished", 2)]
    assert rows[-1]["total_usd"] == 1.0


def test_rows_are_on_disk_as_soon_as_their_turn_has_ended(tmp_path):
    file = LedgerFile(tmp_path)
    file.on_event(said())
    assert not (tmp_path / LEDGER).exists()
    file.on_event(ended(1))
    assert read(tmp_path)[0] == {
        "item": "turn",
        "turn": 1,
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "usd": 0.5,
        "gpu_s": 0.0,
        "wall_s": 1.0,
        "total_prompt_tokens": 100,
        "total_completion_tokens": 10,
        "total_usd": 0.5,
        "total_gpu_s": 0.0,
        "total_wall_s": 1.0,
        "best_digest": None,
        "best_us": None,
        "best_ratio": None,
    }


def test_gpu_seconds_are_those_that_the_loop_gives():
    rows = ledger_of([said(), answered(Cost(gpu_s=2.5, wall_s=9.0)), ended(1)])
    assert rows[0].cost.gpu_s == 2.5
    assert rows[0].cost.wall_s == 10.0


def test_a_turn_that_cost_nothing_has_a_row_too():
    assert [row.turn for row in ledger_of([said(Cost()), ended(1), said(Cost()), ended(2)])] == [1, 2]


def test_what_a_kill_lost_is_counted_once():
    events = [said(), ended(1), said(), answered(Cost(wall_s=4.0))]
    events += [Resumed(turn=1, lost=Cost(wall_s=4.0)), said(), ended(2)]
    rows = ledger_of(in_effect(events))
    assert [(row.item, row.turn) for row in rows] == [(Item.TURN, 1), (Item.LOST, 1), (Item.TURN, 2)]
    assert rows[-1].total == Cost(prompt_tokens=200, completion_tokens=20, usd=1.0, wall_s=6.0)


def test_a_resumed_runs_file_is_made_anew_from_what_counts(tmp_path):
    killed = LedgerFile(tmp_path)
    events = [said(), ended(1), said(), ended(2)]
    for event in events:
        killed.on_event(event)
    resumed = Resumed(turn=1, lost=Cost())
    file = LedgerFile(tmp_path, in_effect([*events, resumed]))
    for event in (said(), ended(2)):
        file.on_event(event)
    assert [row["turn"] for row in read(tmp_path)] == [1, 2]
    assert read(tmp_path)[-1]["total_usd"] == 1.0


def solution(say, microseconds):
    verdict = say.passed(microseconds)
    return Solution(candidate=Candidate.of({"model_new.py": f"# {microseconds}\nx = 1\n"}), verdict=verdict)


@pytest.fixture
def say_passed(say):
    from warpsmith.core import Passed

    say.passed = staticmethod(lambda us: Passed(accuracy=say.accuracy, timing=say.timing(us)))
    return say


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_fork_pays_for_its_own_turns_alone(say_passed, is_elsewhere):
    earlier, best = Forked(parent="grandparent", turn=1), solution(say_passed, 80.0)
    events = [Forked(parent="a", turn=2, is_elsewhere=is_elsewhere), earlier, said(), ended(1)]
    events += [said(), Improved(solution=best), ended(2), said(), ended(3)]
    rows = ledger_of(events)
    assert [(row.item, row.turn) for row in rows] == [(Item.TURN, 3)]
    assert rows[0].total == A_TURN
    assert (rows[0].best is None) == is_elsewhere


def test_measuring_the_parents_best_on_another_device_is_its_own_row(say_passed):
    best = solution(say_passed, 80.0)
    judged = Judged(
        tool="fork", digest=best.candidate.digest, verdict=best.verdict, cost=Cost(gpu_s=3.0, wall_s=5.0)
    )
    rows = ledger_of([Forked(parent="a", turn=1, is_elsewhere=True), said(), ended(1), judged])
    assert [(row.item, row.cost.gpu_s) for row in rows] == [(Item.FORK, 3.0)]


def test_a_program_that_has_failed_since_it_passed_is_not_the_best_any_more(say_passed):
    from warpsmith.core import Wrong

    best = solution(say_passed, 80.0)
    wrong = Wrong(what="values", message="now it differs")
    judged = Judged(tool="profile", digest=best.candidate.digest, verdict=wrong)
    rows = ledger_of([said(), Improved(solution=best), ended(1), said(), judged, ended(2)])
    assert [row.best is None for row in rows] == [False, True]


def test_the_summary_says_what_was_spent_and_for_what(say_passed):
    dear = Cost(prompt_tokens=9000, completion_tokens=900, usd=2.0, gpu_s=1.5, wall_s=3.0)
    events = [said(), ended(1), said(dear), Improved(solution=solution(say_passed, 80.0)), ended(2)]
    events += [said(), ended(3)]
    lines = summary_lines(ledger_of(events))
    assert lines[0] == "spent: 3 turns, 9,200 + 920 tokens, 3.00 USD, 1.5 s of GPU, 5.0 s"
    assert lines[1] == "dearest turn: 2, 9,000 + 900 tokens, 2.00 USD, 1.5 s of GPU, 3.0 s"
    assert summary_lines(ledger_of([*events, said(Cost()), ended(4)]))[1] == lines[1]
    assert lines[2].endswith(", 80.0 us, of turn 2; 1 turn since then")


def test_a_run_in_which_nothing_happened_has_nothing_to_say():
    assert summary_lines(ledger_of([])) == ()
    assert summary_lines(ledger_of([said(Cost(wall_s=1.0)), ended(1)])) == (
        "spent: 1 turn, 1.0 s",
        "no correct program",
    )


def test_small_sums_of_money_are_not_rounded_to_nothing():
    assert cost_text(Cost(usd=0.00042)) == "0.00042 USD, 0.0 s"


def test_a_full_disk_is_an_error_of_ours(tmp_path):
    file = LedgerFile(tmp_path)
    (tmp_path / LEDGER).symlink_to("/dev/full")
    file.on_event(said())
    with pytest.raises(InfraError, match=r"ledger\.jsonl cannot be written .*space"):
        file.on_event(ended(1))
