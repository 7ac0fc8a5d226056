"""The embedding model, fetched once per machine and kept outside the repository."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from seamark_sidecar.models.catalog import DEFAULT_MODEL, find_model
from seamark_sidecar.models.install import install
from seamark_sidecar.models.installed import models_dir


def model_dir() -> Path:
    """Where the model is; raises ModelUnavailable when it cannot be had."""
    directory = _cache()
    spec = find_model(DEFAULT_MODEL)
    return install(
        spec, directory, on_progress=lambda stage, about: print(stage.value, about, file=sys.stderr)
    ).directory


def give_model(data_dir: Path) -> None:
    """Puts the model into a data directory, as `seamark models install` would."""
    source = model_dir()
    data_dir.mkdir(mode=0o700, exist_ok=True)
    models_dir(data_dir).mkdir(mode=0o700)
    shutil.copytree(source, models_dir(data_dir) / source.name)


def _cache() -> Path:
    # The tests keep it there too.
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(base, "seamark-tests")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory
