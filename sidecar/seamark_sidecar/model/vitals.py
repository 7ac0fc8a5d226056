"""What the sidecar takes of the machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessVitals:
    """One process of the family."""

    name: str
    pid: int
    # Bytes of memory it really occupies.
    resident: int
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class FileSize:
    """One file or directory of the data directory, with what belongs to it."""

    name: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """All of them, at one moment."""

    # The sidecar itself first.
    processes: tuple[ProcessVitals, ...]
    files: tuple[FileSize, ...]
