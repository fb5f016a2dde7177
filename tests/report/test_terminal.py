"""Tables on a terminal."""

import pytest
from rich.console import Console

from warpsmith.core import Wrong
from warpsmith.report.runs import read_lines, read_run
from warpsmith.report.terminal import VerdictTable, kernels_table, runs_table, turns_table
from warpsmith.report.turns import summarize


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


def test_runs_turns_and_kernels_have_a_line_each(shown, tmp_path, write_run, make_passed):
    folder = write_run(tmp_path / "one")
    (tmp_path / "two").mkdir()
    text = shown(runs_table([read_run(folder), read_run(tmp_path / "two")]))
    assert "rmsnorm" in text
    assert "broken:" in text
    assert "write kernels/rmsnorm.cu" in shown(turns_table(summarize(read_lines(folder)).turns))
    assert "scale_rows" in shown(kernels_table(make_passed().resources))
