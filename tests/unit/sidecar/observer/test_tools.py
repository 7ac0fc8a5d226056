"""What a tool call is taken to mean."""

import json

import pytest

from seamark_sidecar.observer.paths import LONGEST_PATH, project_path
from seamark_sidecar.observer.tools import (
    ACTIONS,
    COMMAND_KEYS,
    LONGEST_COMMAND,
    PATH_KEYS,
    understand,
)
from seamark_sidecar.observer.use import Action

ROOT = "/home/dev/shop"


def use(tool, root=ROOT, **arguments):
    return understand("c1", tool, json.dumps(arguments), root)


@pytest.mark.parametrize(("tool", "action"), sorted(ACTIONS.items()))
def test_every_known_tool_has_its_action(tool, action):
    assert use(tool).action is action


@pytest.mark.parametrize("tool", ["Read_File", " read-file ", "READ.FILE", "read file"])
def test_the_spelling_of_a_tool_does_not_matter(tool):
    assert use(tool, path="a.py").action is Action.READ


@pytest.mark.parametrize("tool", ["", "frobnicate", "reader", "\0", "read_file_now"])
def test_a_tool_nobody_knows_is_other(tool):
    assert use(tool).action is Action.OTHER


@pytest.mark.parametrize("key", PATH_KEYS)
def test_every_path_key_names_the_file(key):
    assert use("read_file", **{key: "src/cart.py"}).files == ("src/cart.py",)


@pytest.mark.parametrize("key", COMMAND_KEYS)
def test_every_command_key_gives_the_command(key):
    called = use("bash", **{key: "make test"})
    assert (called.command, called.files) == ("make test", ())


def test_a_tool_that_does_not_run_has_no_command():
    assert use("read_file", path="a.py", command="rm -rf /").command == ""


def test_a_command_is_kept_only_so_far():
    assert len(use("bash", command="x" * 100_000).command) == LONGEST_COMMAND


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("src/cart.py", "src/cart.py"),
        ("./src//cart.py", "src/cart.py"),
        ("src/../src/cart.py", "src/cart.py"),
        ("src\\cart.py", "src/cart.py"),
        ("/home/dev/shop/src/cart.py", "src/cart.py"),
        ("/home/dev/shop/../shop/a.py", "a.py"),
        ("..cart.py", "..cart.py"),
        ("größe.py", "größe.py"),
    ],
)
def test_a_path_inside_becomes_relative(path, inside):
    assert project_path(path, ROOT) == inside


@pytest.mark.parametrize(
    "path",
    [
        "",
        "  ",
        ".",
        "..",
        "/",
        ROOT,
        "../secrets",
        "src/../../other",
        "/etc/passwd",
        "/home/dev/shopping/a.py",
        "/home/dev/shop/../other/a.py",
        "~/.ssh/id_rsa",
        "a\0b",
        "a\nb",
        "a\x1b[31mb",
        "a‮b",
        "x" * (LONGEST_PATH + 1),
    ],
)
def test_a_path_outside_or_unprintable_is_left_out(path):
    assert project_path(path, ROOT) is None


@pytest.mark.parametrize("root", ["", "shop", "../shop"])
def test_without_a_root_an_absolute_path_is_outside(root):
    assert project_path("/home/dev/shop/a.py", root) is None
    assert project_path("a.py", root) == "a.py"


@pytest.mark.parametrize(
    "arguments",
    ["", "null", "[]", '"path"', "{", "[" * 50_000, "9" * 5_000, '{"path": 7}', '{"path": ""}'],
)
def test_arguments_that_make_no_sense_name_no_file(arguments):
    assert understand("c1", "read_file", arguments, ROOT).files == ()


@pytest.mark.parametrize("order", [("path", "content"), ("content", "path")])
def test_the_file_is_known_when_its_content_was_too_long_to_arrive_whole(order):
    values = {"path": "src/cart.py", "content": 'say "path": "no"\n' * 9_000}
    whole = json.dumps({key: values[key] for key in order})
    cut = whole[:30_000] + "\n[... 99 characters cut by seamark ...]\n" + whole[-30_000:]
    assert understand("c1", "write_file", cut, ROOT).files == ("src/cart.py",)
