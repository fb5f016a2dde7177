"""A library of its own for each test."""

import pytest

from warpsmith.agent.retrieval import Library
from warpsmith.agent.retrieval.shipped import own_index


@pytest.fixture
def library(tmp_path, monkeypatch):
    """An empty one, which is also the user's."""
    monkeypatch.setenv("WARPSMITH_DOCS", str(tmp_path / "index"))
    return Library(folder=tmp_path / "index")


@pytest.fixture
def write(tmp_path):
    """Writes a file below `docs`, text or bytes, and gives its path."""

    def make(name, content):
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


@pytest.fixture(scope="session")
def index():
    """Our own pages."""
    with own_index() as index:
        yield index
