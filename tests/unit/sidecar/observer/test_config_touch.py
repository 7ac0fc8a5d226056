"""Configuration changed together with code."""

import pytest

from seamark_sidecar.observer.calls.use import Action, Touch
from seamark_sidecar.observer.signals.config_touch import ConfigTouch

from .doing import asked, changed, edit, read, run, shown, write


def found(*moments):
    return shown(ConfigTouch(), *moments)


def test_a_config_file_changed_with_code_is_one():
    (signal,) = found(asked("fix the crash"), edit("src/cart.py", 1), edit("pyproject.toml", 2))
    assert signal.details["config_file"] == "pyproject.toml"
    assert signal.details["config_type"] == "python"
    assert signal.details["files_modified"] == ("src/cart.py",)
    assert signal.details["task_type"] == "bug_fix"
    assert signal.files == ("pyproject.toml", "src/cart.py")
    assert signal.type == "causal_dependency"
    assert not signal.early


def test_a_config_file_alone_is_none():
    assert found(edit("package.json", 1), edit("README.md", 2)) == []


def test_a_config_file_that_is_only_read_is_none():
    assert found(read("package.json", step=1), edit("src/cart.ts", 2)) == []


def test_two_edited_files_put_it_at_the_head_of_the_queue():
    (signal,) = found(edit("a.go", 1), edit("b.go", 1), edit("go.mod", 2))
    assert signal.early


def test_an_agents_own_script_is_no_code():
    assert found(write("reproduce.py", 1), edit("setup.cfg", 2)) == []


def test_code_near_the_change_comes_first():
    (signal,) = found(edit("far.py", 10), edit("near.py", 30), edit("setup.py", 31))
    assert signal.details["files_modified"] == ("near.py", "far.py")


def test_far_apart_they_are_two_pieces_of_work():
    assert found(edit("a.py", 1), edit("setup.py", 90)) == []
    assert len(found(edit("a.py", 1), edit("a.py", 85), edit("setup.py", 90))) == 1


def test_another_request_is_another_piece_of_work():
    request = asked("now update the Go version everywhere please", 2)
    assert found(edit("a.go", 1), request, edit("go.mod", 3)) == []
    assert len(found(edit("a.go", 1), asked("yes", 2), edit("go.mod", 3))) == 1


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("go get example.com/rates@latest", "go.mod"),
        ("npm install --save-dev vitest", "package.json"),
        ("poetry add httpx", "pyproject.toml"),
        ("cargo add serde", "Cargo.toml"),
    ],
)
def test_a_dependency_added_by_command_changes_the_file_that_lists_it(command, path):
    (signal,) = found(run(command, step=1), edit("src/a.ts", 2))
    assert signal.details["config_file"] == path


def test_installing_what_is_listed_changes_nothing():
    assert found(run("npm install", step=1), run("go build ./...", step=1), edit("a.ts", 2)) == []


def test_configuration_that_is_put_back_or_removed_was_not_changed():
    moments = (edit("a.py", 1), write("src/pytest.ini", 2))
    assert len(found(*moments)) == 1
    for undo in (
        {"gone": ("src/pytest.ini",)},
        {"reverted": ("src/pytest.ini",)},
        {"reverted": (".",)},
    ):
        assert found(*moments, run("x", step=3, **undo)) == []
    put_back = (Touch("go.mod", Action.WRITE),)
    assert found(edit("a.go", 1), run("git show HEAD:go.mod > go.mod", touches=put_back)) == []


def test_a_file_changed_beside_the_agents_tools_counts():
    assert len(found(changed("a.py"), changed("Makefile"))) == 1


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("package.json", "package_json"),
        ("web/tsconfig.build.json", "tsconfig"),
        ("electron.vite.config.ts", "vite"),
        (".env.local", "env"),
        ("tailwind.config.js", "tailwind"),
        ("biome.json", "biome"),
        (".github/workflows/ci.yml", "ci"),
        ("requirements-dev.txt", "python"),
        ("Dockerfile", "container"),
        ("sub/Cargo.toml", "cargo"),
        (".eslintrc.cjs", "lint"),
        ("jest.config.mjs", "build"),
    ],
)
def test_config_files_of_many_kinds(path, type_):
    (signal,) = found(edit(path, 1), edit("src/a.ts", 2))
    assert signal.details["config_type"] == type_


@pytest.mark.parametrize(
    "path",
    ["package-lock.json", "src/config.py", "environment.py", "src/settings.ts", "docs/env.md"],
)
def test_what_only_sounds_like_configuration(path):
    assert found(edit(path, 1), edit("src/a.ts", 2)) == []
