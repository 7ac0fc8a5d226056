"""The vectors that a sidecar has made of its memories, read from its record."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def vectors(data_dir: Path, memory_ids: Sequence[str]) -> NDArray[np.float32]:
    """One row for each memory; raises KeyError when one has no vector."""
    # Read-only: what is measured must not be changed by looking at it.
    with closing(sqlite3.connect(f"file:{data_dir}/memory.db?mode=ro", uri=True)) as file:
        rows = dict(file.execute("SELECT memory_id, half_floats FROM vectors"))
    halves = np.frombuffer(b"".join(rows[name] for name in memory_ids), np.dtype("<f2"))
    return halves.reshape(len(memory_ids), -1).astype(np.float32)
