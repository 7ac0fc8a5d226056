"""The tree of commands: help, README, and what happens before a sidecar is asked."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from seamark.spawn import SIDECAR_PACKAGES
from seamark_sidecar.cli.root import run, seamark

ROOT = Path(__file__).parents[3]
COMMANDS = sorted(seamark.commands)


@pytest.fixture(autouse=True)
def _own_data_directory(tmp_path, monkeypatch):
    for name in os.environ:
        if name.startswith("SEAMARK_") or name == "XDG_RUNTIME_DIR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("SEAMARK_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")


def test_these_are_the_commands():
    assert COMMANDS == [
        "demo",
        "doctor",
        "down",
        "explain",
        "memories",
        "methodologies",
        "models",
        "observe",
        "remember",
        "replay",
        "search",
        "status",
        "up",
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_and_takes_json(name, capsys):
    assert run([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"\n  Example:\n    seamark {name}" in text
    assert "--json" in text
    assert max(map(len, text.splitlines())) <= 80
    summary = seamark.commands[name].get_short_help_str(limit=80)
    assert summary.endswith(".")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_stands_in_the_readme(name):
    assert f"`seamark {name}" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_works_with_wrong_settings(name, monkeypatch, capsys):
    monkeypatch.setenv("SEAMARK_LOG_LEVEL", "loud")
    assert run([name, "--help"]) == 0
    assert capsys.readouterr().err == ""


def test_without_a_command_the_commands_are_listed(capsys):
    assert run([]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name} " in text for name in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["climb"], "climb"),
        (["search"], "QUERY"),
        (["search", "  "], "QUERY"),
        (["search", "x", "--limit", "0"], "--limit"),
        (["search", "x", "--project", "/nowhere/at/all"], "/nowhere/at/all"),
        (["search", "\udcff"], "UTF-8"),
        (["remember"], "TEXT"),
        (["remember", ""], "TEXT"),
        (["remember", "x", "--type", "rumour"], "rumour"),
        (["remember", "x", "--file", "\udcff"], "UTF-8"),
        (["memories", "--all", "--project", "."], "--all"),
        (["explain", "a", "b"], "b"),
        (["status", "--loud"], "--loud"),
    ],
)
def test_a_misused_command_ends_with_2_and_says_how_it_is_used(arguments, named, capsys):
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("seamark: ")
    assert said.err.count("\n") == 1
    assert named in said.err
    assert "--help" in said.err


def test_misuse_is_json_too_when_programs_read(capsys):
    assert run(["search", "--json"]) == 2
    said = capsys.readouterr()
    error = json.loads(said.out)["error"]
    assert error["reason"] == "USAGE"
    assert error["message"] in said.err


def test_json_after_two_dashes_is_text(capsys):
    assert run(["search", "--", "--json"]) == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["up", "down", "status", "memories", "explain"])
def test_a_wrong_setting_is_named(name, monkeypatch, capsys):
    monkeypatch.setenv("SEAMARK_ADDRESS", "tcp:1.2.3.4")
    assert run([name, "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["error"]["reason"] == "SETTINGS_ERROR"
    assert "SEAMARK_ADDRESS" in said.err


@pytest.mark.parametrize(
    "arguments", [["status"], ["search", "x"], ["memories"], ["remember", "x"], ["explain"]]
)
def test_without_a_sidecar_a_command_says_how_to_start_one(arguments, capsys):
    assert run([*arguments, "--json"]) == 1
    said = capsys.readouterr()
    error = json.loads(said.out)["error"]
    assert error["reason"] == "SIDECAR_UNAVAILABLE"
    assert "seamark up" in error["message"]
    assert said.err.count("\n") == 1


def test_nothing_to_stop_is_not_a_failure(tmp_path, capsys):
    assert run(["down"]) == 0
    assert capsys.readouterr().out == f"No sidecar runs for {tmp_path}.\n"
    assert run(["down", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"stopped": False, "pid": None, "forced": False}


def test_the_way_an_error_is_shown_cannot_steer_the_terminal(capsys):
    assert run(["search", "x", "--project", "/no\x1b[2J\u202ewhere"]) == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\\x1b[2J\\u202ewhere" in said


def test_a_fault_of_ours_is_one_sentence_without_a_trace(monkeypatch, capsys):
    def fault():
        raise KeyError("surprise")

    monkeypatch.setitem(seamark.commands, "fault", click.Command("fault", callback=fault))
    assert run(["fault"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "KeyError" in said


def test_a_vanished_current_directory_is_said(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run(["memories", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["reason"] == "NO_PROJECT"


@pytest.fixture
def bare_python(tmp_path):
    """An interpreter that sees only what installing the SDK brings, and what is linked later."""
    site = tmp_path / "site"
    site.mkdir()

    def link(name):
        spec = find_spec(name)
        assert spec
        source = spec.submodule_search_locations[0] if spec.submodule_search_locations else None
        path = Path(source or str(spec.origin))
        (site / path.name).symlink_to(path)

    for name in ("seamark", "seamark_sidecar", "grpc", "google", "typing_extensions"):
        link(name)

    def ask(*arguments):
        return subprocess.run(
            [sys.executable, "-S", "-m", "seamark_sidecar", *arguments],
            env={"PYTHONPATH": str(site), "HOME": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return SimpleNamespace(ask=ask, link=link)


def test_with_the_sdk_alone_the_command_names_the_extra(bare_python):
    asked = bare_python.ask("status")
    assert asked.returncode == 2
    assert asked.stdout == ""
    assert asked.stderr.count("\n") == 1
    assert "pip install 'seamark[sidecar]'" in asked.stderr
    assert "click" in asked.stderr


@pytest.fixture
def with_command(bare_python):
    """The same, with what the extra `[sidecar]` brings."""
    for name in (*SIDECAR_PACKAGES, "pygments", "markdown_it", "mdurl"):
        bare_python.link(name)
    return bare_python


def test_the_demo_names_the_extra_of_its_framework(with_command):
    asked = with_command.ask("demo", "--json")
    assert asked.returncode == 1
    assert "pip install 'seamark[langgraph]'" in asked.stderr
    assert json.loads(asked.stdout)["error"]["reason"] == "FRAMEWORK_MISSING"


def test_the_demo_gets_the_flags_and_gives_its_exit_code(with_command, tmp_path):
    for name in ("langchain", "langgraph"):
        with_command.link(name)
    program = "import sys; print(sys.argv[1:]); raise SystemExit(3)"
    (tmp_path / "site" / "seamark_demo.py").write_text(program)
    # What stands in the current directory is somebody else's.
    (tmp_path / "seamark_demo.py").write_text("print('not mine')")
    asked = with_command.ask("demo", "--json", "--keep")
    assert asked.returncode == 3
    assert asked.stdout == "['--json', '--keep']\n"


def test_only_what_is_missing_of_the_extra_is_named(with_command, tmp_path):
    asked = with_command.ask("status")
    assert asked.returncode == 1
    assert "no sidecar listens" in asked.stderr
    (tmp_path / "site" / "grpc_health").unlink()
    asked = with_command.ask("status")
    assert asked.returncode == 2
    assert "grpc_health cannot be imported" in asked.stderr
