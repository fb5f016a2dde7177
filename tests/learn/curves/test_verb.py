"""`warpsmith train curves`, by its function."""

import json

import pytest

from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.train.curves import curves
from warpsmith.core import UsageError


def test_a_page_and_its_pictures_are_written_and_told_of(folder_of, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="needs warpsmith[plots]")
    folder = folder_of({"reward": 1.0}, {"reward": 2.0})
    page, pictures = tmp_path / "page.html", tmp_path / "pictures"
    assert curves(runs=[folder], out=page, png=pictures, json=True) is ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert document["runs"] == [{"name": "run", "stage": "ppo", "num_steps": 2}]
    assert document["files"] == [str(page), str(pictures / "reward.png")]


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no training run"):
        curves(runs=[tmp_path], out=tmp_path / "page.html")
