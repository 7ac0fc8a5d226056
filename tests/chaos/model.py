"""The embedding model for a data directory of a test."""

from __future__ import annotations

from pathlib import Path

from tests.shared_model import shared_data_dir


def lend_model(data_dir: Path) -> None:
    """Makes the machine's copy usable there; it is linked, not copied."""
    (data_dir / "models").symlink_to(shared_data_dir() / "models")


def take_model_back(data_dir: Path) -> None:
    """From now on there is none."""
    (data_dir / "models").unlink(missing_ok=True)
