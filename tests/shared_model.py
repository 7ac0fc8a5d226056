"""The real embedding model for tests, fetched once per machine and kept outside the repository."""

import os
import tempfile
from pathlib import Path

import pytest

from seamark_sidecar.models.catalog import (
    DEFAULT_MODEL,
    TOKENIZER_NAME,
    WEIGHTS_NAME,
    find_model,
)
from seamark_sidecar.models.errors import ModelUnavailable
from seamark_sidecar.models.fetch import fetch
from seamark_sidecar.models.install import install

SPEC = find_model(DEFAULT_MODEL)


def shared_data_dir():
    """A data directory in which the model is installed; skips the test where it cannot be had."""
    directory = _cache()
    try:
        install(SPEC, directory, on_progress=_unheard)
    except ModelUnavailable as error:
        _give_up(error)
    return directory


def shared_model():
    """The directory of the installed model; skips the test where it cannot be had."""
    return shared_data_dir() / "models" / SPEC.id


def shared_original():
    """The directory of the model's own files, unconverted; skips the test likewise."""
    directory = _cache() / "original"
    if not directory.is_dir():
        with tempfile.TemporaryDirectory(dir=_cache()) as room:
            try:
                fetched = fetch(SPEC, Path(room), on_progress=_unheard, watch=lambda: None)
            except ModelUnavailable as error:
                _give_up(error)
            finished = Path(room, "finished")
            finished.mkdir()
            fetched.weights.rename(finished / WEIGHTS_NAME)
            fetched.tokenizer.rename(finished / TOKENIZER_NAME)
            try:
                finished.rename(directory)
            except OSError:
                # Another test run was faster.
                assert directory.is_dir()
    return directory


def _cache():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(base, "seamark-tests")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def _unheard(stage, about):
    pass


def _give_up(error):
    if os.environ.get("CI") == "true":
        pytest.fail(f"the model must be had here: {error}")
    pytest.skip(f"the embedding model cannot be had: {error}")
