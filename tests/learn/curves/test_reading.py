"""What a run told of its steps is read back, whatever state its folder is in."""

import math

import pytest

from warpsmith.core import UsageError
from warpsmith.learn.curves import calibrated, read_run, read_runs, write_calibration
from warpsmith.learn.curves.panels import PANELS, all_series, panels_for
from warpsmith.learn.metrics import Metric


def test_each_metric_is_a_series(folder_of):
    run = read_run(folder_of({"reward": 1.0, "loss": 0.5}, {"reward": 2.0}))
    assert run.series == {"reward": ((1, 1.0), (2, 2.0)), "loss": ((1, 0.5),)}
    assert (run.name, run.stage, run.num_steps, run.is_modelled) == ("run", "ppo", 2, False)


def test_a_run_that_is_being_written_is_read_up_to_its_last_whole_line(folder_of):
    run = read_run(folder_of({"reward": 1.0}, end='{"step": 2.0, "rew'))
    assert run.series == {"reward": ((1, 1.0),)}
    assert run.is_cut


def test_a_step_that_was_taken_again_counts_once(folder_of):
    run = read_run(folder_of({"reward": 1.0}, end='{"step": 1.0, "reward": 3.0}\n'))
    assert run.series == {"reward": ((1, 3.0),)}


def test_what_is_no_number_of_jsons_is_read_as_training_writes_it(folder_of):
    (points,) = read_run(folder_of({"loss": "nan"}, {"loss": "inf"})).series.values()
    assert math.isnan(points[0][1])
    assert points[1][1] == math.inf


def test_a_run_before_its_first_step_has_no_series(folder_of):
    assert read_run(folder_of()).num_steps == 0


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "3",
        "{",
        '{"reward": 1.0}',
        '{"step": "x"}',
        '{"step": 1.0, "loss": []}',
        '{"step": "inf"}',
        "[" * 99_999,
    ],
    ids=range(8),
)
def test_a_line_that_is_none_is_named(folder_of, line):
    with pytest.raises(UsageError, match="line 2"):
        read_run(folder_of({"reward": 1.0}, end=f"{line}\n"))


def test_bytes_that_are_no_text_are_refused(folder_of):
    folder = folder_of()
    (folder / "metrics.jsonl").write_bytes(b"\xff\xfe\n")
    with pytest.raises(UsageError, match="cannot be read"):
        read_run(folder)


def test_a_folder_without_configuration_is_a_run_all_the_same(folder_of):
    folder = folder_of({"reward": 1.0})
    (folder / "config.json").unlink()
    assert read_run(folder).stage == ""


def test_a_folder_of_runs_is_all_of_them_under_names_that_differ(folder_of, tmp_path):
    folder_of({"reward": 1.0}, name="a/ppo")
    folder_of({"reward": 1.0}, name="b/ppo")
    found = read_runs([tmp_path / "a", tmp_path / "b" / "ppo", tmp_path / "a" / "ppo"])
    assert [run.name for run in found] == ["a/ppo", "b/ppo"]


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no training run"):
        read_runs([tmp_path])


def test_a_critics_calibration_comes_with_its_run(folder_of):
    folder = folder_of({"value_loss": 1.0})
    (folder / "final").mkdir()
    write_calibration(folder / "final" / "calibration.json", calibrated([0.0, 1.0], [0.0, 1.0]))
    assert read_run(folder).calibration.error == 0.0


def test_no_metric_is_drawn_twice():
    drawn = [metric for panel in PANELS for metric in panel.metrics]
    assert len(drawn) == len(set(drawn))
    assert {Metric.REWARD, Metric.ENTROPY, Metric.CLIPPED, Metric.WALL_S} <= set(drawn)


def test_a_metric_that_nobody_knows_gets_a_panel_of_its_own(folder_of):
    run = read_run(folder_of({"reward": 1.0, "novelty": 2.0}))
    assert [panel.title for panel in panels_for([run])] == ["Reward", "novelty"]


def test_lengths_are_computed(folder_of):
    step = {"tokens": 300.0, "samples": 4.0}
    series = all_series(read_run(folder_of(step, {"tokens": 9.0, "samples": 0.0})))
    assert series["tokens_per_sample"] == ((1, 75.0),)
