"""A run folder made ready to use."""

import pytest

from warpsmith.core import BuildFailed, UsageError, Wrong
from warpsmith.report.package import finish, install
from warpsmith.toolchain import Build


@pytest.fixture
def build(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / "cuda_extension.py").write_text("# generated")
    (folder / "libcandidate.so").write_bytes(b"ELF")
    return Build(folder=folder, launchers=(), resources=(), log="", is_cached=True, wall_s=0.0)


class FakeToolchain:
    def __init__(self, outcome):
        self.outcome = outcome
        self.built = []

    def build(self, candidate):
        self.built.append(candidate)
        return self.outcome


def test_a_program_becomes_importable_beside_its_sources(tmp_path, write_run, build):
    folder = write_run(tmp_path / "run")
    finish(folder, FakeToolchain(build))
    assert (folder / "cuda_extension.py").read_text() == "# generated"
    assert (folder / "libcandidate.so").read_bytes() == b"ELF"
    assert "rmsnorm" in (folder / "README.md").read_text()


def test_who_has_the_old_library_loaded_keeps_it(tmp_path, build):
    (tmp_path / "libcandidate.so").write_bytes(b"old")
    with (tmp_path / "libcandidate.so").open("rb") as loaded:
        install(build, tmp_path)
        assert loaded.read() == b"old"
    assert not list(tmp_path.glob(".*fresh"))


@pytest.mark.parametrize("verdict", [None, Wrong(what="values", message="")])
def test_what_is_not_right_is_not_built(tmp_path, write_run, build, verdict):
    toolchain = FakeToolchain(build)
    finish(write_run(tmp_path / "run", verdict=verdict), toolchain)
    assert toolchain.built == []
    assert (tmp_path / "run" / "README.md").is_file()


def test_a_build_that_fails_now_still_leaves_a_readme(tmp_path, write_run):
    finish(write_run(tmp_path / "run"), FakeToolchain(BuildFailed(log="")))
    assert (tmp_path / "run" / "README.md").is_file()
    assert not (tmp_path / "run" / "cuda_extension.py").exists()


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no readable run"):
        finish(tmp_path, FakeToolchain(None))
