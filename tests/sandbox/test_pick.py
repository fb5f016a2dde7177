import pytest

from warpsmith import sandbox
from warpsmith.core import EnvironmentMissing, UsageError
from warpsmith.sandbox import bubblewrap


@pytest.fixture
def without_bubblewrap(monkeypatch):
    """A machine that has no bubblewrap."""
    monkeypatch.setattr(bubblewrap, "_binaries", lambda: iter(()))
    bubblewrap._find.cache_clear()
    yield
    bubblewrap._find.cache_clear()


def test_an_unknown_kind_is_refused_with_the_choices():
    with pytest.raises(UsageError, match="auto, bubblewrap, docker, process"):
        sandbox.pick("jail")


def test_the_strongest_kind_that_works_is_picked():
    assert sandbox.pick().name == next(
        name for name, kind in sandbox.SANDBOXES.items() if kind.is_available()
    )


def test_a_kind_can_be_asked_for():
    assert sandbox.pick("process").name == "process"


def test_a_process_comes_with_a_warning():
    picked = sandbox.pick("process")
    assert "network" in picked.warning


@pytest.mark.usefixtures("without_bubblewrap")
def test_a_missing_bubblewrap_names_the_fix():
    with pytest.raises(EnvironmentMissing, match="apt-get install bubblewrap, or pip install"):
        sandbox.pick("bubblewrap")


def test_a_bubblewrap_that_does_not_work_names_the_reason(monkeypatch, tmp_path):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "_binaries", lambda: iter([broken]))
    bubblewrap._find.cache_clear()
    with pytest.raises(EnvironmentMissing, match="uid map"):
        sandbox.pick("bubblewrap")
    bubblewrap._find.cache_clear()
