"""Checks of what piled up in the data directory."""

from __future__ import annotations

from pathlib import Path

from seamark_sidecar.doctor.finding import Verdict, ok, warn
from seamark_sidecar.doctor.place import Place

LARGEST_LOG = 16 * 1024 * 1024  # twice of where it is cut
MOST_NAMED = 3
_COMPANIONS = ("-wal", "-shm", "-journal")


def put_aside(place: Place) -> Verdict:
    """No damaged database waits for somebody to look at it."""
    found = [
        path
        for path in sorted(place.data_dir.glob("*.corrupt-*"))
        if not path.name.endswith(_COMPANIONS)
    ]
    backups = len(list(place.data_dir.glob("*.before-v*.bak")))
    kept = f"{backups} backup{'' if backups == 1 else 's'}"
    if not found:
        return ok(f"no damaged database, {kept}")
    named = ", ".join(path.name for path in found[:MOST_NAMED])
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return warn(
        f"damaged and kept: {named}{more}; {kept}",
        f"save what can be read (sqlite3 {found[0]} .recover), then delete it",
    )


def log(place: Place) -> Verdict:
    """The log stays small."""
    path = place.data_dir / "sidecar.log"
    size = _size(path)
    if size > LARGEST_LOG:
        return warn(
            f"{path} has {size / 1e6:,.0f} MB",
            "stop the sidecar (seamark down), then delete it; one that runs in the background "
            "keeps it small by itself",
        )
    return ok(f"{path}, {size / 1e6:.1f} MB" if size else "none yet")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
