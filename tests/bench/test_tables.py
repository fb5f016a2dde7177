"""What is printed and written: no modelled speed-up, nothing hidden, nothing of others interpreted."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console

from warpsmith.bench.comparison import compare
from warpsmith.bench.folder import Kept
from warpsmith.bench.page import page
from warpsmith.bench.published import PUBLISHED, beside
from warpsmith.bench.record import Fate, Technique, Told
from warpsmith.bench.results import Results, comparison_data, side_of, write_eval_results
from warpsmith.bench.tables import TotalsTable, comparison_tables, notes
from warpsmith.core import UsageError


@pytest.fixture
def bench(made, tmp_path):
    """`bench(record, …)`: these are all of it."""

    def make(*records, kind="cuda", suite="kernelbench"):
        device = "NVIDIA H200" if kind == "cuda" else "CPU standing in for NVIDIA H200"
        plan = replace(
            made.plan(*(record.name for record in records)), suite=suite, device=device, device_kind=kind
        )
        own = tuple(replace(record, device=device) for record in records)
        return Results.of(Kept(folder=tmp_path, plan=plan, records=own))

    return make


def printed(*parts):
    console = Console(width=250, record=True, markup=False, highlight=False, emoji=False, file=None)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return capture.get()


def text_of(results):
    shown = results.with_published
    return printed(
        TotalsTable(results.lines, with_published=shown),
        *notes(results.kept.plan, results.lines, with_published=shown),
    )


def html_of(results):
    kept = results.kept
    return page(kept.plan, results.lines, kept.records, with_published=results.with_published)


def test_the_table_has_every_figure_and_says_how_it_is_counted(made, bench):
    records = [made.record(1, n, made.passed(eager=2.0, compiled=1.2)) for n in (1, 2, 3)]
    records.append(made.record(1, 4, fate=Fate.OURS))
    text = text_of(bench(*records))
    for fact in (
        "3/4 75%",
        "2.00× [2.00, 2.00]",
        "1.20× [1.20, 1.20]",
        "(t0 - t) / t0 > 5 %",
        "0/3 · 0/3",
        "without degenerate",
    ):
        assert fact in text


def test_published_lines_stand_beside_ours_and_say_what_differs(made, bench):
    text = text_of(bench(made.record(1, 1, made.passed()), made.record(3, 1, made.passed())))
    for fact in ("2.48×", "1.87×", "arXiv 2602.24286", "StitchCUDA, H200", "arXiv 2603.02637", "atol = rtol"):
        assert fact in text
    assert "2.60×" not in text  # its total is of three levels, and these are two
    assert "2.80×" not in text  # nor is level 2 here


def test_published_totals_stand_beside_all_three_levels_alone():
    assert beside(("level 1", "level 2", "level 3"), "overall")
    assert not beside(("level 1", "level 2"), "overall")
    assert not beside(("gemm epilogues",), "gemm epilogues")
    assert all(0 <= line.passed <= 1 for line in PUBLISHED)


@pytest.mark.parametrize("suite", ["store", "ops6k"])
def test_other_suites_have_nothing_published(made, bench, suite):
    assert "CUDA Agent, " not in text_of(bench(made.record(1, 1, made.passed()), suite=suite))


def test_a_modelled_time_is_never_a_speed_up(made, bench):
    record = made.record(1, 1, made.passed(eager=7.77, compiled=5.55, spread=0.0, measured=False))
    results = bench(record, kind="cpu")
    for text in (text_of(results), html_of(results), json.dumps(str(results.data()))):
        assert "7.77" not in text.replace("777", "")
        assert "5.55" not in text.replace("555", "")
        assert "StitchCUDA" not in text
        assert "modelled" in text
    assert "against_eager" not in results.data()["tasks"][0]
    assert results.data()["tasks"][0]["modelled_us"]["eager"] == pytest.approx(777)


def test_an_unfinished_bench_says_so(made, bench):
    results = bench(made.record(1, 1, made.wrong), made.record(1, 2, made.wrong))
    half = Results.of(replace(results.kept, records=results.kept.records[:1]))
    assert "not finished: 1 of 2" in text_of(half)


def test_programs_by_a_shortcut_are_counted_if_they_passed(made, bench):
    told = Told(shortcuts=("two factors are one",))
    records = [made.record(1, n, verdict, told=told) for n, verdict in ((1, made.passed()), (2, made.wrong))]
    assert "1 of the passed do less arithmetic" in text_of(bench(*records))
    assert "two factors are one" in html_of(bench(*records))


def test_operators_that_were_declined_are_named(made, bench):
    record = made.record(1, 1, told=Told(declined="aten.convolution"))
    assert "declined most: aten.convolution (1)" in text_of(bench(record))


class Checker(HTMLParser):
    """Collects tags, and what is not inert."""

    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]


def test_the_page_needs_nothing_else_and_runs_nothing_of_others(made, bench):
    evil = "<script>alert(1)</script>\x1b[31m"
    record = made.record(
        1,
        1,
        made.passed(),
        told=Told(techniques=(Technique(name=evil, recipe=evil, variant=evil),), shortcuts=(evil,)),
        reason=evil,
    )
    record = replace(record, name=replace(record.name, task_id=evil))
    html = html_of(bench(record))
    checker = Checker()
    checker.feed(html)
    assert checker.tags.count("script") == 1
    assert checker.links == []
    assert "\x1b" not in html
    assert html.count("<tr>") >= 1


def test_the_page_s_keys_sort_numbers_as_numbers(made, bench):
    html = html_of(bench(made.record(1, 1, made.passed(eager=2.0)), made.record(1, 2, made.wrong)))
    assert 'data-key="2.0"' in html
    assert 'data-key="level 1 000000002 2_task"' in html
    assert 'data-key=""' in html


def test_results_are_written_for_people_and_programs(made, bench, tmp_path):
    html, document = bench(made.record(1, 1, made.passed())).write()
    data = json.loads(document.read_text())
    assert data["tasks"][0]["against_eager"]["centre"] == 2.0
    assert data["totals"][0]["passed"]["count"] == 1
    assert html.read_text().startswith("<!doctype html>")


def test_eval_results_are_a_file_a_level(made, tmp_path):
    records = [made.record(1, 7, made.passed()), made.record(2, 7, made.wrong), made.record(2, 8)]
    files = write_eval_results(tmp_path, records, "NVIDIA H200")
    assert [file.relative_to(tmp_path).as_posix() for file in files] == [
        "level1/eval_results.json",
        "level2/eval_results.json",
    ]
    assert json.loads(files[0].read_text())["7"][0]["correctness"] is True
    assert list(json.loads(files[1].read_text())) == ["7"]


def test_eval_results_of_other_tasks_are_refused(made, tmp_path):
    record = made.record(1, 1, made.passed())
    other = replace(record, name=replace(record.name, level=None, problem=None))
    with pytest.raises(UsageError, match="no task here is a problem of KernelBench's"):
        write_eval_results(tmp_path, [other], "NVIDIA H200")


def test_a_comparison_names_what_changed(made, bench):
    old = bench(made.record(1, 1, made.wrong), made.record(1, 2, made.passed(eager=2.0)))
    new = bench(made.record(1, 1, made.passed()), made.record(1, 2, made.passed(eager=3.0)))
    found = compare(side_of(old.kept), side_of(new.kept))
    text = printed(*comparison_tables(found))
    assert "1 gained, 0 lost, 1 faster, 0 slower" in text
    assert "wrong: values" in text
    assert "3.00× [2.98, 3.02] eager" in text
    data = comparison_data(found)
    assert [entry["key"] for entry in data["gained"]] == ["level1-001"]
    json.dumps(str(data))


def test_a_comparison_of_modelled_times_makes_no_ratio(made, bench):
    sides = [
        side_of(bench(made.record(1, 1, made.passed(spread=0.0, measured=False)), kind="cpu").kept)
        for _ in range(2)
    ]
    assert "×" not in printed(*comparison_tables(compare(*sides)))
