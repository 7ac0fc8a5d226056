"""What an installed model consists of, written beside its files as the last of them."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from seamark_sidecar.models.catalog import TOKENIZER_NAME, ModelSpec, PinnedFile
from seamark_sidecar.models.errors import ModelBroken
from seamark_sidecar.models.regular_file import open_regular

MANIFEST_NAME = "manifest.json"
MODEL_NAME = "model.onnx"
FILES = (MODEL_NAME, TOKENIZER_NAME)

# Raised when the conversion changes, so that older ones are made again.
FORMAT = 1

_LARGEST_MANIFEST = 64 * 1024

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A model on disk: its facts, and each of its files to the byte."""

    id: str
    dimensions: int
    pooling: str
    max_tokens: int
    # Of what it was converted from.
    weights_sha256: str
    files: Mapping[str, PinnedFile]
    format: int = FORMAT

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.size for file in self.files.values())

    def to_json(self) -> bytes:
        """Its form on disk."""
        files = {
            name: {"size": file.size, "sha256": file.sha256} for name, file in self.files.items()
        }
        facts = {
            "format": self.format,
            "id": self.id,
            "dimensions": self.dimensions,
            "pooling": self.pooling,
            "max_tokens": self.max_tokens,
            "weights_sha256": self.weights_sha256,
            "files": files,
        }
        return json.dumps(facts, indent=2).encode() + b"\n"


def describe(spec: ModelSpec, directory: Path) -> Manifest:
    """The manifest of the files that a conversion left in a directory."""
    return Manifest(
        id=spec.id,
        dimensions=spec.dimensions,
        pooling=spec.pooling,
        max_tokens=spec.max_tokens,
        weights_sha256=spec.weights.sha256,
        files={name: _pinned((directory / name).read_bytes()) for name in FILES},
    )


def read_manifest(directory: Path) -> Manifest:
    """The manifest of an installed model; raises ModelBroken when there is none to trust."""
    try:
        facts = json.loads(_contents(directory / MANIFEST_NAME, _LARGEST_MANIFEST))
    except FileNotFoundError:
        raise _broken(directory, "it has no manifest, so it was never finished") from None
    except (OSError, ValueError, RecursionError) as error:
        raise _broken(directory, f"its manifest cannot be read ({error})") from error
    try:
        return _manifest(facts)
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(directory, f"its manifest makes no sense ({error!r})") from error


def check_facts(directory: Path, manifest: Manifest, spec: ModelSpec) -> None:
    """Raises ModelBroken when the manifest is not of this model as we would make it."""
    expected: dict[str, object] = {
        "format": FORMAT,
        "id": spec.id,
        "dimensions": spec.dimensions,
        "pooling": spec.pooling,
        "max_tokens": spec.max_tokens,
        "weights_sha256": spec.weights.sha256,
    }
    for name, value in expected.items():
        found = getattr(manifest, name)
        if found != value:
            raise _broken(directory, f"its {name} is {found!r} instead of {value!r}")
    if manifest.files[TOKENIZER_NAME] != spec.tokenizer:
        raise _broken(directory, f"{TOKENIZER_NAME} is of another model")


def check_sizes(directory: Path, manifest: Manifest) -> None:
    """Raises ModelBroken when a file is missing or cut; does not read them."""
    for name, pinned in manifest.files.items():
        try:
            found = (directory / name).lstat()
        except OSError as error:
            raise _broken(directory, f"{name} cannot be read ({error.strerror})") from error
        if not stat.S_ISREG(found.st_mode):
            raise _broken(directory, f"{name} is not a regular file")
        if found.st_size != pinned.size:
            raise _broken(directory, f"{name} has {found.st_size} bytes instead of {pinned.size}")


def read_pinned(directory: Path, manifest: Manifest, name: str) -> bytes:
    """A file of the model, read once and checked; raises ModelBroken."""
    pinned = manifest.files[name]
    try:
        content = _contents(directory / name, pinned.size)
    except (OSError, ValueError) as error:
        raise _broken(directory, f"{name} cannot be read ({error})") from error
    found = _pinned(content)
    if found != pinned:
        raise _broken(directory, f"{name} has sha256 {found.sha256} instead of {pinned.sha256}")
    return content


def _pinned(content: bytes) -> PinnedFile:
    return PinnedFile(len(content), hashlib.sha256(content).hexdigest())


def _contents(path: Path, most: int) -> bytes:
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it has more than {most} bytes")
    return content


def _manifest(facts: Any) -> Manifest:
    files = {
        name: PinnedFile(
            _typed(facts["files"][name]["size"], int), _typed(facts["files"][name]["sha256"], str)
        )
        for name in FILES
    }
    return Manifest(
        id=_typed(facts["id"], str),
        dimensions=_typed(facts["dimensions"], int),
        pooling=_typed(facts["pooling"], str),
        max_tokens=_typed(facts["max_tokens"], int),
        weights_sha256=_typed(facts["weights_sha256"], str),
        files=files,
        format=_typed(facts["format"], int),
    )


def _typed(value: Any, kind: type[Value]) -> Value:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def _broken(directory: Path, why: str) -> ModelBroken:
    return ModelBroken(
        f"the model in {directory} is broken: {why}; install it again: "
        f"seamark models install {directory.name}"
    )
