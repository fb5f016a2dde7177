"""What a report knows: each figure against the step that it comes from, whatever else is missing."""

import json
import shutil
from dataclasses import replace

import pytest

from warpsmith.core import UsageError
from warpsmith.core.codec import to_json
from warpsmith.report.synth.composition import depth_name, paper_shares
from warpsmith.report.synth.folder import Step
from warpsmith.report.synth.gather import facts_of
from warpsmith.report.synth.words import not_run, recheck_text, summary, times_text, times_title
from warpsmith.tasks.synth.base import Curriculum
from warpsmith.tasks.synth.filters import Kept, Reason, Stage
from warpsmith.tasks.synth.filters.state import Header


@pytest.fixture
def whole(steps):
    """Ten tasks composed: two are rejected, one is undecided, one is a benchmark's, two are twins."""
    rows = [steps.made(number) for number in range(10)]
    slow = steps.rejected(rows[0], reason=Reason.TOO_SLOW, evidence="900 ms")
    raises = steps.rejected(rows[1], Stage.RUN, Reason.FORWARD_RAISES, "RuntimeError: no")
    kept = [steps.timed(row, 1000.0 * (number + 1)) for number, row in enumerate(rows[3:])]
    steps.crawl("torch.add", "torch.op0", "torch.op1", "torch.op2")
    steps.compose(*rows)
    steps.filter(kept, [slow, raises, steps.undecided(rows[2]), *map(steps.kept, kept)])
    steps.recheck(*map(steps.kept, kept[:3]), steps.rejected(kept[3]))
    against = steps.comparison(6, steps.neighbour(kept[0]), histogram=(0,) * 10 + (6,) + (0,) * 7 + (1, 0))
    within = steps.comparison(5, steps.neighbour(kept[1], 0.99, other="torch2_5"))
    steps.decontaminate(kept[2:], against, within)
    return steps


def test_the_funnel_says_how_many_went_where_and_why(whole):
    facts = facts_of(whole.path)
    losses = {
        (narrowing.name, loss.reason): (loss.num, loss.example)
        for narrowing in facts.narrowings
        for loss in narrowing.losses
    }
    assert losses == {
        ("can be looked at here", "not decided"): (1, "torch2_2: no memory left"),
        ("runs", "forward raises"): (1, "torch2_1: RuntimeError: no"),
        ("takes a time in the band", "too slow"): (1, "torch2_0: 900 ms"),
        ("is far from the benchmark", "too close by structure"): (1, "torch2_3: 0.95 to level1/12_Softmax"),
        ("is far from the others", "too close by structure"): (1, "torch2_4: 0.99 to torch2_5"),
    }
    assert facts.narrowings[0].num_in == 10
    for before, after in zip(facts.narrowings, facts.narrowings[1:], strict=False):
        assert before.num_out == after.num_in
    assert facts.narrowings[-1].num_out == 5
    assert summary(facts) == "10 composed → 7 filtered → 5 decontaminated (50.0 %)"
    assert (facts.notes, facts.not_run) == ((), ())


def test_the_last_set_there_is_is_described_beside_the_paper_s(whole):
    composition = facts_of(whole.path).composition
    shares = {one.name: (one.num, one.share, round(one.paper_share, 4)) for one in composition.by_depth}
    assert (composition.step, composition.num_tasks) == (Step.DECONTAMINATE, 5)
    assert shares["torch ×2"] == (5, 1.0, 0.8377)
    assert shares["transformers"] == (0, 0.0, 0.0118)
    assert [(one.name, one.by_split) for one in composition.by_curriculum] == [("fused", {"train": 5})]
    first = composition.operators[0]
    assert (first.name, first.num, first.num_composed) == ("torch.add", 5, 10)


def test_the_paper_s_shares_add_up_and_are_table_3_s():
    shares = paper_shares()
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["torch ×1"] == pytest.approx(0.034)
    assert [depth_name(source) for source in ("torch#5", "transformers", "kernelbench level1", "")] == [
        "torch ×5",
        "transformers",
        "kernelbench level1",
        "not stated",
    ]


def test_what_the_paper_has_not_and_what_has_no_curriculum_is_counted_too(steps):
    steps.compose(
        steps.made(0),
        steps.made(1, source="jsonl"),
        steps.made(2, curriculum=None, split="", source="", depth=0),
    )
    composition = facts_of(steps.path).composition
    rest = [(one.name, one.num, one.paper_share) for one in composition.by_depth][6:]
    assert rest == [("jsonl", 1, None), ("not stated", 1, None)]
    assert [one.name for one in composition.by_curriculum] == [Curriculum.FUSED, "none"]
    assert composition.splits == ("train", "test", "not stated")
    assert {one.num_composed for one in composition.operators} == {None}


def test_times_are_in_ms_with_quartiles_and_the_filter_s_band(whole):
    times = facts_of(whole.path).times
    assert (times.is_measured, times.num_tasks, times.num_without) == (True, 5, 0)
    assert (times.quartiles_ms.least, times.quartiles_ms.median, times.quartiles_ms.most) == (3.0, 5.0, 7.0)
    assert times.band_ms == (1.0, 100.0)
    assert sum(times.histogram_ms.counts) == 5


def test_modelled_times_are_called_so_and_never_mixed_with_measured_ones(steps):
    rows = [steps.made(number) for number in range(3)]
    steps.filter([steps.timed(rows[0], 50.0, measured=False)], [])
    assert "modelled, not measured" in times_title(facts_of(steps.path).times)
    steps.filter([steps.timed(rows[0], 50.0, measured=False), steps.timed(rows[1], 2e3)], [])
    times = facts_of(steps.path).times
    assert (times.is_measured, times.num_tasks, times.num_without) == (True, 1, 1)
    assert "of 1 no such time is known" in times_text(times)


@pytest.mark.parametrize("said", ["nan", "inf", "-3", "0", "1e300", "soon", ""])
def test_a_time_that_is_none_counts_as_not_known(steps, said):
    rows = [steps.made(0, facts={"eager_us_measured": said}), steps.timed(steps.made(1), 2e3)]
    steps.filter(rows, [])
    assert facts_of(steps.path).times.num_without == 1


def test_similarity_is_against_the_benchmark_with_its_threshold(whole):
    likeness = facts_of(whole.path).likeness
    assert (likeness.threshold, likeness.num_compared) == (0.9, 7)
    assert likeness.histogram.bins[18] == (0.9, 0.95, 1)
    assert [(one.suite, one.num_tasks) for one in likeness.benchmarks] == [("kernelbench", 270)]
    assert likeness.top[0].other_id == "level1/12_Softmax"


def test_a_benchmark_without_tasks_leaves_nothing_to_draw(steps):
    steps.decontaminate([steps.made(1)], steps.comparison(1, histogram=(0,) * 20), steps.comparison(1))
    likeness = facts_of(steps.path).likeness
    assert (likeness.histogram, likeness.num_compared) == (None, 0)


def test_licences_are_those_of_the_operators_that_tasks_use(whole):
    assert [
        (one.name, one.licence, one.num_operators, one.num_tasks) for one in facts_of(whole.path).libraries
    ] == [("torch", "BSD-3-Clause", 4, 5)]
    whole.crawl("torch.add", "torch.op0")
    assert (
        "operators that are not in seeds.json, whose licence is not known here: 3 tasks"
        in facts_of(whole.path).notes[0]
    )


def test_how_many_pass_again_is_told_with_what_must_be_known_of_it(whole):
    recheck = facts_of(whole.path).recheck
    assert recheck_text(recheck).startswith("3 of 4 kept tasks, drawn with seed 7, passed the filter again")
    assert "not under the checks" in recheck_text(replace(recheck, is_as_before=False))


@pytest.mark.parametrize(
    ("step", "left"),
    [
        (Step.CRAWL, "seeds.json"),
        (Step.COMPOSE, "composed"),
        (Step.FILTER, "funnel.json filtered"),
        (Step.DECONTAMINATE, "similarity.json clean"),
    ],
)
def test_a_step_that_has_not_been_run_is_named_and_the_rest_is_told(whole, step, left):
    for name in left.split():
        path = whole.path / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    facts = facts_of(whole.path)
    assert facts.not_run == (step,)
    assert [line.startswith(f"`warpsmith synth {step}` has not been run") for line in not_run(facts)] == [
        True
    ]
    assert len(facts.sets) == (3 if step is Step.CRAWL else 2)


def test_an_empty_folder_has_no_step_run(steps):
    steps.path.mkdir()
    facts = facts_of(steps.path)
    assert facts.not_run == tuple(Step)
    assert summary(facts) == "There are no tasks yet."


def test_a_filter_that_was_stopped_is_read_from_its_state(steps):
    rows = [steps.made(number) for number in range(4)]
    steps.compose(*rows)
    folder = steps.folder.filter_state
    folder.mkdir()
    lines = [Header(config="c", device="NVIDIA H200"), steps.rejected(rows[0]), steps.kept(rows[1])]
    text = "".join(f"{to_json(line)}\n" for line in lines) + '{"type": "Kept", "task'
    (folder / "outcomes.jsonl").write_text(text)
    facts = facts_of(steps.path)
    assert Step.FILTER not in facts.not_run
    assert facts.narrowings[-1].num_out == 1
    assert "has not come to its end" in facts.notes[0]
    assert facts.notes[1] == "Not filtered yet: 2 composed tasks."
    (folder / "outcomes.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match=r"outcomes\.jsonl, line 1 is damaged"):
        facts_of(steps.path)


def test_a_comparison_of_an_earlier_set_is_told(whole):
    whole.filter([whole.made(1)], [])
    assert any("7 tasks, but 1 are filtered" in note for note in facts_of(whole.path).notes)


def test_tasks_that_came_twice_are_not_waited_for(steps):
    rows = [steps.made(number) for number in range(3)]
    steps.compose(*rows)
    steps.filter(
        rows[:2], [Kept(task_id="a", digest="d", facts=steps.kept(rows[0]).facts)] * 2, num_repeated=1
    )
    assert facts_of(steps.path).notes == ()


@pytest.mark.parametrize("name", ["funnel.json", "similarity.json", "recheck.json", "seeds.json"])
@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", '{"num_kept": 1e999}', '{"num_kept": null}', "[" * 100_000, "\xff"]
)
def test_a_damaged_file_is_one_line_that_names_the_step(steps, name, text):
    steps.path.mkdir()
    (steps.path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=name) as caught:
        facts_of(steps.path)
    assert "\n" not in str(caught.value)


def test_what_an_earlier_version_left_is_read(whole):
    """It did not say on which device, in which band, and against what."""
    data = json.loads(whole.folder.funnel.read_text())
    del data["device"], data["band"], data["is_finished"]
    whole.folder.funnel.write_text(json.dumps(data))
    data = json.loads(whole.folder.similarity.read_text())
    del data["benchmarks"]
    whole.folder.similarity.write_text(json.dumps(data))
    facts = facts_of(whole.path)
    assert (facts.times.band_ms, facts.likeness.benchmarks) == (None, ())


def test_a_damaged_store_and_a_missing_folder_are_one_line(steps):
    with pytest.raises(UsageError, match="is no folder"):
        facts_of(steps.path)
    steps.folder.clean.parent.mkdir(parents=True)
    steps.folder.clean.write_bytes(b"PAR1")
    with pytest.raises(UsageError, match=r"clean/tasks\.parquet is no Parquet file"):
        facts_of(steps.path)
