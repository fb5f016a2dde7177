"""Tables on a terminal."""

import pytest
from rich.console import Console

from warpsmith.core import Cost, Wrong
from warpsmith.report.listing import Entry, entry_of
from warpsmith.report.runs import RunState, read_lines, read_run
from warpsmith.report.terminal import VerdictTable, attempts_table, kernels_table, runs_table, turns_table
from warpsmith.report.turns import TurnSummary, summarize


@pytest.fixture
def shown():
    def show(renderable, width=160):
        console = Console(width=width, markup=False, highlight=False)
        with console.capture() as captured:
            console.print(renderable)
        return captured.get()

    return show


def test_a_verdict_s_line_holds_all_that_was_asked(shown, make_passed):
    text = shown(VerdictTable("rmsnorm", make_passed()))
    for fact in ("rmsnorm", "correct, faster", "143 µs", "120 µs", "100 µs", "1.20× [1.18, 1.22]", "1.25×"):
        assert fact in text


def test_a_modelled_one_says_so_in_every_time(shown, make_passed):
    text = shown(VerdictTable("rmsnorm", make_passed(measured=False)))
    assert "[" not in text
    assert text.count("modelled") == 6  # verdict, three times, ratio, over floor


def test_a_narrow_terminal_gets_a_line_for_each(shown, make_passed):
    wide, narrow = (shown(VerdictTable("rmsnorm", make_passed(measured=False)), width) for width in (160, 80))
    assert len(wide.splitlines()) == 2
    assert len(narrow.splitlines()) == 7
    assert "torch.compile  120 µs (modelled)" in narrow


@pytest.mark.parametrize("verdict", [None, Wrong(what="values", message="")])
def test_what_was_not_timed_has_no_times(shown, verdict):
    text = shown(VerdictTable("x", verdict))
    assert "µs" not in text


def test_text_in_brackets_is_no_markup(shown):
    assert "[red]task[/]" in shown(VerdictTable("[red]task[/]", None))


def test_what_a_turn_has_spent_is_a_column_where_there_is_anything(shown):
    free, paid = (
        TurnSummary(said=said, did=(), verdict=None, cost=cost)
        for said, cost in (
            ("free", Cost(wall_s=1)),
            ("paid", Cost(prompt_tokens=12_345, completion_tokens=812, usd=0.0042, gpu_s=2)),
        )
    )
    heading, first, second = shown(turns_table([free, paid])).splitlines()
    assert heading.split() == ["turn", "said", "did", "outcome", "tokens", "USD", "GPU", "took"]
    assert first.split() == ["1", "free", "–", "–", "–", "–", "–", "1.0", "s"]
    assert "12.3 k + 812" in second
    assert "0.0042" in second
    assert "tokens" not in shown(turns_table([free]))


def test_attempts_have_a_line_each_the_broken_one_too(shown, tmp_path):
    one = Entry(folder=tmp_path / "1", state=RunState.FINISHED, policy="openai:small", num_turns=3)
    two = Entry(folder=tmp_path / "2", state=None, reason="damaged")
    three = Entry(folder=tmp_path / "3", state=RunState.CUT_SHORT, policy="builtin")
    lines = shown(attempts_table([one, two, three], None)).splitlines()
    assert "openai:small" in lines[1]
    assert "broken: damaged" in lines[2]
    assert "nothing correct found (cut short)" in lines[3]


def test_runs_turns_and_kernels_have_a_line_each(shown, tmp_path, write_run, make_passed):
    folder = write_run(tmp_path / "one")
    (tmp_path / "two").mkdir()
    text = shown(runs_table(map(entry_of, (read_run(folder), read_run(tmp_path / "two")))))
    assert "rmsnorm" in text
    assert "broken:" in text
    assert "write kernels/rmsnorm.cu" in shown(turns_table(summarize(read_lines(folder)).turns))
    assert "scale_rows" in shown(kernels_table(make_passed().resources))
