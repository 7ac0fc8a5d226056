"""Checks of the embedding model and of the index that is made with it."""

from __future__ import annotations

from pathlib import Path

from seamark.wire.v1 import sidecar_pb2 as wire
from seamark_sidecar.doctor.databases import last_seq
from seamark_sidecar.doctor.finding import Verdict, fail, ok, warn
from seamark_sidecar.doctor.place import Place
from seamark_sidecar.models.catalog import CATALOG
from seamark_sidecar.models.installed import (
    Found,
    State,
    installed_model,
    look_at,
    models_dir,
    survey,
)
from seamark_sidecar.store.index_directory import IndexDirectory

STAGING = ".staging-*"
REBUILDS = 3


def model(place: Place) -> Verdict:
    """Memories are found by meaning, not by words alone."""
    directory = models_dir(place.data_dir)
    found = [_thoroughly(each, directory) for each in survey(place.data_dir)]
    broken = [each for each in found if each.state is State.BROKEN]
    installed = [each for each in found if each.state is State.INSTALLED]
    if broken and not installed:
        return fail(f"dense search is off: {broken[0].reason}", "run: seamark models install")
    if not installed:
        return warn(
            "none is installed; dense search is off, memories are found by words only",
            "run: seamark models install",
        )
    if broken:
        return warn(broken[0].reason, f"run: seamark models remove {broken[0].id}")
    return ok(", ".join(f"{each.id} ({each.size / 1e6:.1f} MB)" for each in installed))


def unfinished(place: Place) -> Verdict:
    """No installation of a model was left half done."""
    left = sorted(models_dir(place.data_dir).glob(STAGING))
    if not left:
        return ok("none")
    return warn(
        f"{len(left)} left in {models_dir(place.data_dir)}: {left[0].name}",
        "nothing, if a model is being installed now; else the next `seamark models install` "
        "removes them",
    )


def index(place: Place) -> Verdict:
    """The index follows the record, with the model that is installed."""
    path = installed_model(place.data_dir)
    installed = path.name if path else ""
    if place.status is not None:
        return judge_index(place.status.index, installed)
    if place.holder() is not None:
        return ok("known only while a sidecar answers")
    return _at_rest(place.data_dir, installed)


def judge_index(status: wire.IndexStatus, installed: str) -> Verdict:
    """How the index of a running sidecar is."""
    if status.fault:
        return warn(
            f"{status.fault}; memories are found by words only",
            "nothing, if it has just been started; else see sidecar.log",
        )
    if not status.ready or status.applied_seq < status.last_seq:
        return warn(
            f"{status.applied_seq:,} of {status.last_seq:,} changes are in it",
            "nothing; it catches up by itself, and searching goes on by words meanwhile",
        )
    if status.model != installed:
        return warn(
            f"it is made with {status.model or 'no model'}, and {installed or 'none'} is installed",
            "nothing; it is made anew within a minute",
        )
    if status.rebuild_count >= REBUILDS:
        return warn(
            f"up to date, but built anew {status.rebuild_count} times since the start",
            "see sidecar.log for what it differed in",
        )
    return ok(f"up to date ({status.last_seq:,} changes, {status.model or 'no model'})")


def _at_rest(data_dir: Path, installed: str) -> Verdict:
    directory = IndexDirectory(data_dir / "index")
    if not directory.path.exists():
        return ok("built when the sidecar starts")
    meta = directory.meta()
    if meta is None or not directory.is_sound:
        return ok("damaged or unfinished; it is built anew when the sidecar starts")
    if meta.model != installed:
        return ok(
            f"made with {meta.model or 'no model'}; memories are embedded with "
            f"{installed or 'none'} when the sidecar starts"
        )
    last = last_seq(data_dir / "memory.db")
    if last is None or last == meta.applied:
        return ok(f"at rest, {meta.applied:,} changes are in it")
    return ok(f"{meta.applied:,} of {last:,} changes are in it; the next start adds the others")


def _thoroughly(found: Found, directory: Path) -> Found:
    """Reads the files of an installed model, as its worker does."""
    if found.state is State.INSTALLED and found.id in CATALOG:
        return look_at(directory / found.id, CATALOG[found.id], thoroughly=True)
    return found
