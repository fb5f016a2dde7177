"""Run folders as training writes them."""

import json

import pytest


@pytest.fixture
def folder_of(tmp_path):
    """Makes a run's folder of steps, each a dict of metrics."""

    def make(*steps, name="run", stage="ppo", end=""):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        lines = [json.dumps({"step": float(number), **step}) for number, step in enumerate(steps, 1)]
        (folder / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines) + end)
        (folder / "config.json").write_text(json.dumps({"stage": stage, "data": "x", "config": {}}))
        return folder

    return make
