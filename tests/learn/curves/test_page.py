"""Curves as pictures and as one page."""

import re
import sys

import pytest

from warpsmith.core import EnvironmentMissing, UsageError
from warpsmith.learn.curves import calibrated, read_run, read_runs, write_calibration, write_page
from warpsmith.learn.curves.page import page
from warpsmith.learn.curves.panels import Panel

SIGNATURE = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def plots():
    return pytest.importorskip("matplotlib", reason="needs warpsmith[plots]")


def test_the_page_needs_nothing_but_itself(plots, folder_of, tmp_path):
    folder = folder_of({"reward": 1.0, "value_loss": 2.0}, {"reward": 1.5, "value_loss": "nan"})
    (folder / "final").mkdir()
    write_calibration(folder / "final" / "calibration.json", calibrated([0.1, 0.9], [0.0, 1.0]))
    written = write_page([read_run(folder)], tmp_path / "new" / "page.html", tmp_path / "pictures")
    text = written[0].read_text()
    assert re.findall(r'(?:src|href)="(?!data:image/png;base64,)', text) == []
    assert "<script" not in text
    assert text.count("<img") == 3
    assert [path.name for path in written[1:]] == ["reward.png", "losses.png", "value-calibration.png"]
    assert all(path.read_bytes().startswith(SIGNATURE) for path in written[1:])


def test_several_runs_are_drawn_over_each_other(plots, folder_of, tmp_path):
    folders = [folder_of({"entropy": value}, name=name) for name, value in (("one", 1.0), ("two", 2.0))]
    (path,) = write_page(read_runs(folders), tmp_path / "page.html")
    assert path.read_text().count("<img") == 1
    assert "one, two" in path.read_text()


@pytest.mark.parametrize(
    "steps",
    [
        [{"mismatch": 0.0}],  # nothing to show on a logarithmic axis
        [{"loss": "nan"}],
        [{"loss": "inf"}, {"loss": "-inf"}],
        [{"loss": 1e308}, {"loss": -1e308}],
        [{"$\\frac{": 1.0}, {"<script>alert(1)</script>": 2.0}],
        [{"_hidden": 1.0}],
    ],
    ids=range(6),
)
def test_no_number_and_no_name_is_too_odd_to_be_drawn(plots, folder_of, tmp_path, steps):
    folders = [folder_of(*steps, name=name) for name in ("$x^{", "__a<b>")]
    (path,) = write_page(read_runs(folders), tmp_path / "page.html")
    assert "<script" not in path.read_text()
    assert "<b>" not in path.read_text()


def test_a_run_on_modelled_times_says_so(folder_of):
    text = page([read_run(folder_of({"modelled": 1.0, "reward": 2.0}))], [])
    assert "modelled times" in text


def test_what_cannot_be_written_is_refused(plots, folder_of, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_page([read_run(folder_of({"loss": 1.0}))], tmp_path / "file" / "page.html")


def test_a_run_without_steps_has_nothing_to_draw(folder_of, tmp_path):
    with pytest.raises(UsageError, match="no step"):
        write_page([read_run(folder_of())], tmp_path / "page.html")


def test_without_matplotlib_one_is_told_what_to_install(folder_of, tmp_path, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(EnvironmentMissing, match=r"warpsmith\[plots\]"):
        write_page([read_run(folder_of({"loss": 1.0}))], tmp_path / "page.html")


def test_a_title_becomes_a_file_name(plots, folder_of, tmp_path):
    written = write_page([read_run(folder_of({"../../x": 1.0}))], tmp_path / "p.html", tmp_path / "pictures")
    assert written[1] == tmp_path / "pictures" / "x.png"
    assert Panel(title="x", metrics=()).limits is None
