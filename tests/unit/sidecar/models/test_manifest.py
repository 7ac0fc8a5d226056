"""A model directory is believed only as far as its manifest holds."""

import json
import os

import pytest

from seamark_sidecar.models.errors import ModelBroken
from seamark_sidecar.models.installed import State, installed_model, look_at, survey
from seamark_sidecar.models.manifest import (
    FILES,
    MANIFEST_NAME,
    check_facts,
    check_sizes,
    describe,
    read_manifest,
    read_pinned,
)
from tests.unit.sidecar.models.tiny import KNOWN, SPEC, TOKENIZER


@pytest.fixture
def directory(data_dir):
    """A model whose graph is no graph; nothing here looks into it."""
    directory = data_dir / "models" / SPEC.id
    directory.mkdir(parents=True)
    (directory / "model.onnx").write_bytes(b"a graph" * 1000)
    (directory / "tokenizer.json").write_bytes(TOKENIZER)
    (directory / MANIFEST_NAME).write_bytes(describe(SPEC, directory).to_json())
    return directory


def whole(directory):
    """Everything that can be checked, as a caller would."""
    manifest = read_manifest(directory)
    check_facts(directory, manifest, SPEC)
    check_sizes(directory, manifest)
    return [read_pinned(directory, manifest, name) for name in FILES]


def test_what_was_written_is_what_is_read(directory):
    manifest = read_manifest(directory)
    assert manifest == describe(SPEC, directory)
    assert whole(directory) == [b"a graph" * 1000, TOKENIZER]
    assert manifest.size == 7000 + len(TOKENIZER)


def edited(directory, **changes):
    path = directory / MANIFEST_NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def altered(directory):
    content = bytearray((directory / "model.onnx").read_bytes())
    content[4000] ^= 1
    (directory / "model.onnx").write_bytes(content)


def linked(directory):
    (directory / "model.onnx").rename(directory / "elsewhere")
    (directory / "model.onnx").symlink_to(directory / "elsewhere")


def piped(directory, name):
    (directory / name).unlink()
    os.mkfifo(directory / name)


DAMAGE = {
    "no manifest": (lambda d: (d / MANIFEST_NAME).unlink(), "never finished"),
    "an empty manifest": (lambda d: (d / MANIFEST_NAME).write_bytes(b""), "cannot be read"),
    "half a manifest": (lambda d: os.truncate(d / MANIFEST_NAME, 90), "cannot be read"),
    "a huge manifest": (lambda d: (d / MANIFEST_NAME).write_bytes(b" " * 10**6), "more than"),
    "a deep manifest": (lambda d: (d / MANIFEST_NAME).write_bytes(b"[" * 60_000), "manifest"),
    "a list": (lambda d: (d / MANIFEST_NAME).write_bytes(b"[1]"), "makes no sense"),
    "a pipe": (lambda d: piped(d, MANIFEST_NAME), "not a regular file"),
    "another id": (lambda d: edited(d, id="other"), "'other' instead of 'tiny-int8'"),
    "other dimensions": (lambda d: edited(d, dimensions=31), "31 instead of 32"),
    "dimensions as text": (lambda d: edited(d, dimensions="32"), "makes no sense"),
    "a truth value": (lambda d: edited(d, format=True), "makes no sense"),
    "another pooling": (lambda d: edited(d, pooling="cls"), "'cls' instead of 'mean'"),
    "another format": (lambda d: edited(d, format=99), "99 instead of 1"),
    "other weights": (lambda d: edited(d, weights_sha256="00"), "weights_sha256"),
    "no files": (lambda d: edited(d, files={}), "makes no sense"),
    "a missing graph": (lambda d: (d / "model.onnx").unlink(), "model.onnx"),
    "a cut graph": (lambda d: os.truncate(d / "model.onnx", 6999), "6999 bytes instead of 7000"),
    "an altered graph": (altered, "sha256"),
    "a linked graph": (linked, "not a regular file"),
    "a pipe for a graph": (lambda d: piped(d, "model.onnx"), "not a regular file"),
}


@pytest.mark.parametrize(("damage", "said"), DAMAGE.values(), ids=list(DAMAGE))
def test_damage_is_named_with_what_to_do(directory, damage, said):
    damage(directory)
    with pytest.raises(ModelBroken) as caught:
        whole(directory)
    assert said in str(caught.value)
    assert str(directory) in str(caught.value)
    assert "seamark models install tiny-int8" in str(caught.value)
    found = look_at(directory, SPEC, thoroughly=True)
    assert (found.state, found.reason) == (State.BROKEN, str(caught.value))


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_became_a_pipe_after_it_was_looked_at_is_not_waited_for(directory, name):
    manifest = read_manifest(directory)
    piped(directory, name)
    with pytest.raises(ModelBroken, match="not a regular file"):
        read_pinned(directory, manifest, name)


def test_a_survey_names_what_is_there_what_could_be_and_what_nobody_knows(data_dir, directory):
    (found,) = survey(data_dir, KNOWN)
    assert (found.id, found.state, found.reason) == ("tiny-int8", State.INSTALLED, "")
    assert found.size > 7000
    assert installed_model(data_dir, KNOWN) == directory

    (data_dir / "models" / ".staging-x").mkdir()
    (data_dir / "models" / "from-tomorrow").mkdir()
    known, unknown = survey(data_dir, KNOWN)
    assert known.state is State.INSTALLED
    assert (unknown.id, unknown.state, unknown.spec) == ("from-tomorrow", State.BROKEN, None)
    assert "seamark models remove from-tomorrow" in unknown.reason

    os.truncate(directory / "model.onnx", 10)
    assert installed_model(data_dir, KNOWN) is None


@pytest.mark.parametrize("present", [False, True])
def test_without_a_model_there_is_none_and_nothing_is_created(data_dir, present):
    if present:
        (data_dir / "models").write_text("not even a directory")
    (found,) = survey(data_dir, KNOWN)
    assert (found.state, found.size) == (State.AVAILABLE, 0)
    assert installed_model(data_dir, KNOWN) is None
    assert (data_dir / "models").exists() is present
