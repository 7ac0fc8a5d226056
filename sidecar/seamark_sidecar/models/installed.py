"""The models that are on this machine, and how they are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from seamark_sidecar.models.catalog import CATALOG, ModelSpec
from seamark_sidecar.models.errors import ModelBroken
from seamark_sidecar.models.manifest import (
    FILES,
    check_facts,
    check_sizes,
    read_manifest,
    read_pinned,
)


class State(Enum):
    """How a model is."""

    INSTALLED = "installed"
    AVAILABLE = "available"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A model of the catalog or of the disk."""

    id: str
    state: State
    # None when this version does not know it.
    spec: ModelSpec | None
    # Bytes on disk.
    size: int = 0
    # Why it is broken.
    reason: str = ""


def models_dir(data_dir: Path) -> Path:
    """Where the models of a data directory are."""
    return data_dir / "models"


def installed_model(data_dir: Path, known: Mapping[str, ModelSpec] = CATALOG) -> Path | None:
    """The directory of the model to embed with; None when none is installed, or only broken ones.

    Its files are there in full; whether they are unaltered is checked when it is loaded.
    """
    for found in survey(data_dir, known):
        if found.state is State.INSTALLED:
            return models_dir(data_dir) / found.id
    return None


def survey(data_dir: Path, known: Mapping[str, ModelSpec] = CATALOG) -> list[Found]:
    """Every model of the catalog, then every other one found on disk."""
    directory = models_dir(data_dir)
    names = {path.name for path in models_in(directory)}
    return [
        *(look_at(directory / spec.id, spec) for spec in known.values()),
        *(_unknown(directory / name) for name in sorted(names - known.keys())),
    ]


def models_in(directory: Path) -> list[Path]:
    """What looks like a model there; hidden names are the installation's own."""
    try:
        return [path for path in directory.iterdir() if not path.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []


def look_at(directory: Path, spec: ModelSpec, *, thoroughly: bool = False) -> Found:
    """How a model is; `thoroughly` reads its files and compares every byte."""
    # A link that leads nowhere is there too, and in the way.
    if not (directory.is_symlink() or directory.exists()):
        return Found(id=spec.id, state=State.AVAILABLE, spec=spec)
    try:
        manifest = read_manifest(directory)
        check_facts(directory, manifest, spec)
        check_sizes(directory, manifest)
        if thoroughly:
            for name in FILES:
                read_pinned(directory, manifest, name)
    except ModelBroken as error:
        return Found(
            id=spec.id,
            state=State.BROKEN,
            spec=spec,
            size=disk_size(directory),
            reason=str(error),
        )
    return Found(id=spec.id, state=State.INSTALLED, spec=spec, size=disk_size(directory))


def disk_size(directory: Path) -> int:
    """Bytes of a directory's files, as far as they can be seen; links are not followed."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(folder, name).lstat().st_size
    return total


def _unknown(directory: Path) -> Found:
    return Found(
        id=directory.name,
        state=State.BROKEN,
        spec=None,
        size=disk_size(directory),
        reason=f"this version does not know the model in {directory}; "
        f"remove it: seamark models remove {directory.name}",
    )
